"""Loop detection looks at the recent actions and their results, not at the wording of the messages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.agent.loop_detection import WINDOW, Move, action_move, find_loop, result_key, words_move
from workbench.session.loop_watch import has_failed


def bash(command: str = "make", result: str = "done", is_error: bool = False, **more) -> Move:
    return action_move("execute_bash", {"command": command, **more}, result, is_error)


def test_same_action_with_the_same_result_is_a_loop_the_fourth_time():
    assert find_loop([bash()] * 3) is None
    loop = find_loop([bash("ls"), *[bash()] * 4])
    assert loop is not None
    assert loop.evidence == "execute_bash (make) gave the same result 4 times"


def test_same_error_is_a_loop_the_third_time():
    failed = bash(result="no such file", is_error=True)
    assert find_loop([failed] * 2) is None
    loop = find_loop([failed] * 3)
    assert loop is not None
    assert "failed 3 times" in loop.evidence


def test_changing_result_counts_as_progress():
    assert find_loop([bash(result=f"{count} tests fail") for count in (4, 3, 2, 1)]) is None
    assert find_loop([bash(result=f"no {name}", is_error=True) for name in "abc"]) is None


def test_repeated_text_is_a_loop_the_third_time():
    assert find_loop([words_move("I will fix it.")] * 2) is None
    loop = find_loop([words_move("I will fix it."), words_move("I will  fix it."), words_move("I will fix\nit.")])
    assert loop is not None
    assert "to itself 3 times" in loop.evidence
    assert find_loop([words_move(text) for text in ("first", "second", "third")]) is None


def test_two_alternating_actions_are_a_loop_after_six():
    a, b = bash("cat a", "A"), bash("cat b", "B")
    assert find_loop([a, b, a, b, a]) is None
    loop = find_loop([a, b, a, b, a, b])
    assert loop is not None
    assert "alternated 6 times" in loop.evidence
    assert loop.key == find_loop([b, a, b, a, b, a]).key


def test_three_calls_that_take_turns_are_a_loop_after_nine():
    turns = [bash(f"cat {name}", name) for name in "abc"]
    assert find_loop([*turns * 2, *turns[:2]]) is None
    loop = find_loop(turns * 3)
    assert loop is not None
    assert "execute_bash (cat b) and execute_bash (cat c) alternated 9 times" in loop.evidence
    assert find_loop([*turns * 2, *turns[:2], bash("cat c", "new")]) is None


def test_alternating_edits_and_tests_are_no_loop_while_results_change():
    edits = [action_move("str_replace_editor", {"path": "/a", "new_str": str(n)}, "edited", False) for n in range(3)]
    tests = [bash("pytest", f"{n} failed") for n in (3, 2, 1)]
    assert find_loop([move for pair in zip(edits, tests, strict=True) for move in pair]) is None


def test_repeated_condensation_is_a_loop():
    condensed = Move("condensed", "condensed")
    assert find_loop([condensed, bash(), condensed, condensed]) is None
    assert find_loop([condensed] * 3) is not None
    between = [condensed, words_move("first"), condensed, words_move("then"), condensed]
    assert find_loop(between) is not None
    assert find_loop([*between, words_move("last")]) is None


@pytest.mark.parametrize(
    "results",
    [
        [f"3 failed in {seconds}s" for seconds in ("0.05", "0.11", "1.2", "12")],
        [f"at {time} it broke" for time in ("10:00:01", "10:00:02.5", "9:59:59", "23:00:00")],
        [f"<Thing object at 0x7f00{digit}a00>" for digit in "1234"],
        [f"2026-11-2{day}T10:00:00Z error" for day in (1, 2, 3, 4)],
    ],
)
def test_times_and_addresses_are_ignored_in_comparisons(results):
    assert find_loop([bash(result=result) for result in results]) is not None


def test_different_counts_are_different_results():
    assert result_key("3 failed") != result_key("2 failed")
    assert result_key("line 7") != result_key("line 8")
    assert result_key("version 1.2.3") != result_key("version 1.2.4")


def test_equivalent_arguments_are_the_same_action():
    moves = [bash("make"), bash("make "), bash("make", timeout=None), bash("make", is_input=False)]
    assert find_loop(moves) is not None
    assert find_loop([bash("make"), bash("make"), bash("make"), bash("make", timeout=3)]) is None


moves = st.one_of(
    st.builds(
        bash,
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["x", "y"]),
        st.booleans(),
    ),
    st.builds(words_move, st.sampled_from(["one", "two"])),
    st.just(Move("condensed", "condensed")),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(moves, max_size=2 * WINDOW))
def test_only_the_most_recent_moves_are_examined(history):
    assert find_loop(history) == find_loop(history[-WINDOW:])


@settings(max_examples=300, deadline=None)
@given(st.lists(moves, max_size=8), moves)
def test_new_move_ends_every_loop(history, last):
    new = action_move("grep", {"pattern": "something new"}, "found", False)
    assert find_loop([*history, new]) is None
    assert find_loop([*history, last, last, last, last]) is not None


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=30)), min_size=6, max_size=12, unique=True))
def test_different_actions_that_succeed_are_never_a_loop(pairs):
    seen = [action_move("execute_bash", {"command": f"{n} {name}"}, out, False) for n, (name, out) in enumerate(pairs)]
    assert find_loop(seen) is None


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200), st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers(), max_size=3))
def test_any_text_and_arguments_can_be_compared(text, arguments):
    assert action_move("t", arguments, text, False) == action_move("t", dict(reversed(arguments.items())), text, False)


FAILING = {
    "one call, any text": lambda n: bash(result=f"boom {n} at port {4000 + n * 7}", is_error=True),
    "a path of its own": lambda n: bash(result=f"no such file /tmp/tmp{n}abc/x", is_error=True),
    "an id of its own": lambda n: bash(result=f"550e8400-e29b-41d4-a716-44665544{n:04d} failed", is_error=True),
    "other arguments": lambda n: bash(f"make {n}", f"boom {n}", is_error=True),
    "two in turn": lambda n: bash(("make", "ninja")[n % 2], f"boom {n}", is_error=True),
    "other tools": lambda n: action_move(("edit", "run", "look")[n % 3], {"path": str(n)}, f"boom {n}", is_error=True),
    "exit codes": lambda n: action_move("execute_bash", {"command": f"x{n}"}, f"{n} failed", False, has_failed=True),
}


@pytest.mark.parametrize("name", FAILING, ids=[name.replace(" ", "-").replace(",", "") for name in FAILING])
def test_six_failing_calls_are_a_loop_whatever_their_text(name):
    moves = [FAILING[name](number) for number in range(6)]
    loop = find_loop(moves)
    assert loop is not None
    assert "failed" in loop.evidence
    assert find_loop(moves[:3]) is None
    assert find_loop([*moves[1:], bash("ls", "a file")]) is None


CONDENSED = Move("condensed", "condensed")
BETWEEN = {
    "words": lambda n: [words_move(f"hm {n}")],
    "condensed": lambda n: [CONDENSED] * (n == 2),
    "both": lambda n: [words_move(f"hm {n}"), CONDENSED],
}


@pytest.mark.parametrize("name", FAILING, ids=[name.replace(" ", "-").replace(",", "") for name in FAILING])
@pytest.mark.parametrize("between", BETWEEN)
def test_words_and_condensations_between_failing_calls_make_no_difference(name, between):
    moves = [move for n in range(6) for move in (*BETWEEN[between](n), FAILING[name](n))]
    loop = find_loop(moves)
    assert loop is not None
    assert "failed" in loop.evidence
    assert find_loop([*moves, words_move("I try another way.")]) is None
    assert find_loop(moves[: len(moves) // 2]) is None


def test_words_between_the_same_results_make_no_difference():
    moves = [move for n in range(4) for move in (words_move(f"hm {n}"), bash())]
    assert find_loop(moves) is not None
    assert find_loop(moves[:6]) is None


def edit(number: int) -> Move:
    arguments = {"command": "str_replace", "path": "/a", "old_str": f"v{number}"}
    return action_move("str_replace_editor", arguments, f"`old_str` {number} does not appear", is_error=True)


def view(part: int = 0, result: str = "the file") -> Move:
    return action_move("str_replace_editor", {"command": "view", "path": "/a", "view_range": [part, 9]}, result, False)


LOOKS = {
    "view": lambda n: [view()],
    "two views": lambda n: [view(1), view(2)],
    "views in turn": lambda n: [view(n % 2)],
    "now and then": lambda n: [view()] if n % 3 else [],
    "and words": lambda n: [view(), words_move(f"hm {n}")],
}


@pytest.mark.parametrize("looks", LOOKS, ids=[name.replace(" ", "-") for name in LOOKS])
def test_edits_that_fail_between_the_same_views_are_a_loop(looks):
    moves = [move for n in range(6) for move in (*LOOKS[looks](n), edit(n))]
    loop = find_loop(moves)
    assert loop is not None
    assert "failed" in loop.evidence
    assert find_loop([*moves, view()]) is None, "the agent looks again"
    assert all(find_loop(moves[:count]) is None for count in range(len(moves)))


PROGRESS = {
    "other views": lambda n: (view(n), edit(n)),
    "another result": lambda n: (view(result=f"line {n}"), edit(n)),
    "tests": lambda n: (
        bash("make fix"),
        action_move("execute_bash", {"command": "t"}, f"{9 - n} failed", False, has_failed=True),
    ),
    "an edit succeeds": lambda n: (view(result=f"{n // 3}"), view(result=f"{n}") if n == 3 else edit(n)),
}


@pytest.mark.parametrize("name", PROGRESS, ids=[name.replace(" ", "-") for name in PROGRESS])
def test_failures_between_results_that_change_are_no_loop(name):
    moves = [move for n in range(9) for move in PROGRESS[name](n)]
    assert all(find_loop(moves[:count]) is None for count in range(len(moves) + 1))


def test_one_call_that_fails_is_a_loop_the_fourth_time_and_several_the_sixth():
    same = [bash(result=f"boom {number}", is_error=True) for number in range(4)]
    others = [bash(f"make {number}", f"boom {number}", is_error=True) for number in range(6)]
    assert [bool(find_loop(same[:count])) for count in (3, 4)] == [False, True]
    assert [bool(find_loop(others[:count])) for count in (5, 6)] == [False, True]


def test_failing_tests_between_edits_are_no_loop():
    moves = []
    for number in range(2 * WINDOW):
        moves.append(action_move("execute_bash", {"command": "pytest"}, f"{number} failed", False, has_failed=True))
        moves.append(action_move("str_replace_editor", {"path": "/a", "new_str": str(number)}, "edited", False))
        assert find_loop(moves[-WINDOW:]) is None


@pytest.mark.parametrize(
    ("observation", "expected"),
    [
        ({"is_error": True}, True),
        ({"exit_code": 2, "output": "no"}, True),
        ({"exit_code": 1, "output": "1 failed"}, True),
        ({"exit_code": 1, "output": ""}, False),
        ({"exit_code": 0}, False),
        ({"exit_code": -1, "output": "still running"}, False),
        ({"exit_code": 130, "output": "^C"}, False),
        ({}, False),
    ],
    ids=["error", "two", "tests", "no-match", "zero", "running", "interrupted", "none"],
)
def test_exit_code_tells_a_failure(observation, expected):
    assert has_failed(observation) is expected
