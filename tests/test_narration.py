import io

import pytest

from tests.session.conftest import harness as harness
from tests.session.fake_agent import calls, says
from workbench.plain.narrator import Narrator
from workbench.protocol.events import (
    ActionObserved,
    ActionProposed,
    DelegateStep,
    ModelResponded,
    RunEnded,
    SessionStarted,
)
from workbench.protocol.live import EngineState
from workbench.session.results import not_run


def narrated(*details: str) -> list[str]:
    out = io.StringIO()
    narrator = Narrator(out.write)
    for detail in details:
        narrator.live(EngineState(state="thinking", detail=detail))
    return out.getvalue().splitlines()


def test_each_retry_is_narrated_once_despite_its_countdown():
    waits = [f"provider busy; try {n} of 5 in {s}s" for n in (2, 3) for s in (3, 2, 1)]
    assert narrated(*waits) == [waits[0], waits[3]]


def test_recurring_condition_is_narrated_again():
    assert narrated("not saved: full", "", "not saved: full") == ["not saved: full"] * 2


def test_unreadable_call_is_explained_once():
    out = io.StringIO()
    narrator = Narrator(out.write)
    why = "nosuch was not run: there is no tool 'nosuch'."
    proposed = ActionProposed(
        action_id="a", response_id="r", call_id="a", tool="nosuch", function="nosuch", arguments={}, error=why
    )
    narrator.event(proposed)
    narrator.event(not_run("a", why))
    assert out.getvalue().splitlines() == ["▸ nosuch", f"  ✗ {why}"]


@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("execute_bash", {"command": "ls -l\nwc x"}, "▸ execute_bash: ls -l …"),
        (
            "str_replace_editor",
            {"command": "create", "path": "/w/a.py", "file_text": "x"},
            "▸ str_replace_editor: a.py new",
        ),
        ("str_replace_editor", {"command": "view", "path": "/w/a.py"}, "▸ str_replace_editor: a.py"),
        ("edit_file", {"path": "/w/a.py", "start": 3, "end": 9, "content": "x"}, "▸ edit_file: a.py 3-9"),
        ("glob", {"pattern": "**/*.py"}, "▸ glob: **/*.py"),
        ("grep", {"pattern": "def x"}, "▸ grep: def x"),
        ("think", {"thought": "first this"}, "▸ think: first this"),
        ("finish", {"message": "Done."}, "▸ finish"),
        ("web_read", {"url": "https://example.org/a"}, "▸ web_read: https://example.org/a"),
        ("delegate", {"agent": "scout", "inputs": "look for x"}, "▸ delegate: scout: look for x"),
        ("count_words", {"text": "one two"}, "▸ count_words text=one two"),
        ("no_arguments", {}, "▸ no_arguments"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else "",
)
def test_every_call_is_narrated_with_its_arguments(tool, arguments, line):
    out = io.StringIO()
    narrator = Narrator(out.write)
    started = SessionStarted(id="i", workspace="/w", model="m", mode="medium")
    proposed = ActionProposed(
        action_id="a", response_id="r", call_id="a", tool=tool, function=tool, arguments=arguments, summary="a summary"
    )
    for event in (started, proposed):
        narrator.event(event)
    assert out.getvalue().splitlines()[1] == line


def test_each_question_open_at_the_end_is_named_with_its_risk(harness):
    ask = ("ask_human", {"question": "Which?", "options": ["red", "blue"]})
    one = harness(calls(("note", {"text": "a"}, "HIGH"), ("note", {"text": "b"}, "MEDIUM"), ask), says("ok"))
    one.session.send("go")
    one.run()
    out = io.StringIO()
    Narrator(out.write).close("abc", [(action, "") for action in one.session.questions()], "")
    assert out.getvalue().splitlines() == [
        "1. HIGH may note run?  note text=a",
        "2. MEDIUM may note run?  note text=b",
        "stopped at 2 questions. Answer them with `ohw resume abc`",
    ]


def test_fallback_model_is_narrated_once():
    out = io.StringIO()
    narrator = Narrator(out.write)
    answered = ModelResponded(response_id="r", model="m", fallback="two", fallback_reason="one is overloaded")
    narrator.event(DelegateStep(action_id="d", agent="scout", session="s", event=answered))
    narrator.event(answered)
    assert out.getvalue() == "one is overloaded: two is asked instead\n"


MESSAGES = {"a line": "All done.", "lines": "All done.\n\n- one\n- two", "long": "All done. " + "Really. " * 60}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_the_final_message_is_narrated_once_and_in_full(harness, message):
    one = harness(calls(("finish", {"message": message})))
    one.session.send("go")
    one.run()
    out = io.StringIO()
    narrator = Narrator(out.write)
    for event in one.log():
        narrator.event(event)
    assert out.getvalue().count("All done.") == 1
    assert out.getvalue().splitlines()[-1 - message.count("\n") :] == f"finished: {message.strip()}".splitlines()
    assert "▸ finish\n" in out.getvalue()


def test_the_result_that_ends_a_run_is_narrated_once():
    out = io.StringIO()
    narrator = Narrator(out.write)
    narrator.event(
        ActionProposed(action_id="a", response_id="r", call_id="a", tool="submit", function="submit", arguments={})
    )
    narrator.event(
        ActionObserved(action_id="a", observation={"content": [{"type": "text", "text": "Submitted.\nTwice."}]})
    )
    narrator.event(RunEnded(reason="finished", detail="Submitted."))
    assert out.getvalue().count("Submitted.") == 1


def test_final_message_that_is_refused_is_explained():
    out = io.StringIO()
    narrator = Narrator(out.write)
    narrator.event(
        ActionProposed(action_id="a", response_id="r", call_id="a", tool="finish", function="finish", arguments={})
    )
    narrator.event(not_run("a", "finish was not run: `message` is missing."))
    assert out.getvalue().splitlines() == ["▸ finish", "  ✗ finish was not run: `message` is missing."]
