"""`a` shows what to allow, how broadly and where, before saving it, and only if the whole action was seen."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.tui.approval_app import arm, ask, choices, command, edit, keys_shown
from tests.tui.decision_files import keep_all_kinds
from tests.tui.diff_app import ScreenApp, question
from tests.tui.waiting import until
from workbench.tui.screens.always import AlwaysScreen
from workbench.tui.widgets.rule_dry_run import RuleDryRun
from workbench.view.approval.proposal import Proposal
from workbench.view.approval.questions import Always
from workbench.view.approval.rule_preview import RulePreview, try_rule
from workbench.view.formatting.always import always_lines
from workbench.view.formatting.approval import files_written
from workbench.view.formatting.key_hints import fitting
from workbench.view.formatting.question import Moment, answer_keys
from workbench.view.state import SessionState

NOT_ALWAYS = Moment(is_read=True, armed=True, not_always="no rule covers it")
RULE = "allow $ pytest -q"
BROAD = "allow $ pytest *"
TWO = "allow $ pytest *\nallow edits in **"
TESTS = replace(command("pytest -q", risk="MEDIUM"), always=choices(RULE, BROAD, TWO))
OTHER = replace(command("make all", risk="MEDIUM"), action_id="a2", number=2)


def message(app: ScreenApp) -> str:
    return str(app.screen.query_one("#said").render())


async def opened(pilot, app: ScreenApp, clock) -> None:
    await arm(pilot, app, clock)
    await until(pilot, lambda: "a Always…" in keys_shown(app))
    await pilot.press("a")
    await until(pilot, lambda: isinstance(app.screen, AlwaysScreen) and message(app), "the screen")


@pytest.mark.parametrize(
    ("keys", "rule", "scope"),
    [
        ([], RULE, "session"),
        (["tab"], RULE, "folder"),
        (["right", "right"], RULE, "person"),
        (["left"], RULE, "person"),
        (["down"], BROAD, "session"),
        (["2", "tab"], BROAD, "folder"),
        (["3"], TWO, "session"),
        (["down", "down", "down"], TWO, "session"),
        (["3", "up"], BROAD, "session"),
        (["9"], RULE, "session"),
        (["tab", "tab", "tab"], RULE, "session"),
    ],
    ids=str,
)
async def test_chosen_rules_are_shown_and_saved_in_the_chosen_scope(keys: list[str], rule: str, scope: str) -> None:
    app, clock = ask(TESTS)
    async with app.run_test(size=(100, 40)) as pilot:
        question(app)._above._try_rule = lambda rule: RulePreview((TESTS,), 2)
        await opened(pilot, app, clock)
        assert "Matches 1 of the last 2 actions" in message(app)
        assert "$ pytest -q" in message(app)
        await pilot.press("y", "enter")
        assert app.results == []
        await pilot.press(*keys)
        await until(pilot, lambda: all(line in message(app) for line in rule.splitlines()), "the rule")
        clock.now += 60
        await until(pilot, lambda: "y Save the rule" in str(app.screen.query_one("#keys").render()))
        await pilot.press("y")
        await until(pilot, lambda: app.results == [Always(rule, scope)])  # type: ignore[arg-type]


async def test_y_counts_again_only_after_the_quiet_time_of_the_last_key() -> None:
    app, clock = ask(TESTS)
    async with app.run_test(size=(100, 40)) as pilot:
        await opened(pilot, app, clock)
        clock.now += 60
        await until(pilot, lambda: "y Save the rule" in str(app.screen.query_one("#keys").render()))
        await pilot.press("3", "y")
        await pilot.pause()
        assert app.results == []
        assert isinstance(app.screen, AlwaysScreen)


async def test_decisions_of_all_sessions_are_searched_for_the_current_choice(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    keep_all_kinds()
    app, clock = ask(TESTS)
    async with app.run_test(size=(100, 40)) as pilot:
        await opened(pilot, app, clock)
        dry_run = app.screen.query_one(RuleDryRun)
        await until(pilot, lambda: "it fits no action" in str(dry_run.render()), "the search for the first choice")
        await pilot.press("2")
        await until(pilot, lambda: "would run" in str(dry_run.render()), "the search for the second choice")
        assert "In all sessions (2 sessions" in str(dry_run.render())


async def test_escape_saves_nothing_and_returns_to_the_question() -> None:
    app, clock = ask(TESTS)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app, clock)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.pushed, "back")
        assert app.results == []


async def test_reason_is_shown_if_nothing_can_be_offered_and_nothing_is_saved() -> None:
    app, clock = ask(replace(command("rm -rf build"), no_always="HIGH risk is asked about each time"))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app, clock)
        assert "HIGH risk is asked about each time" in message(app)
        clock.now += 60
        await pilot.press("y", "1", "down", "tab", "y")
        await pilot.pause()
        assert app.results == []
        assert "y Save" not in str(app.screen.query_one("#keys").render())
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.pushed, "back")


async def test_always_is_not_offered_before_the_end_was_seen() -> None:
    long = "\n".join(f"echo {number}" for number in range(100))
    for action in (command("rm -rf build"), replace(command(long), always=choices("allow $ x"))):
        app, clock = ask(action)
        async with app.run_test(size=(80, 24)) as pilot:
            await arm(pilot, app, clock)
            assert not question(app)._keys.may_always
            await pilot.press("a")
            assert app.screen is app.pushed


async def test_always_is_not_offered_for_an_edited_action() -> None:
    app, clock = ask(replace(edit("a\n", "b\n"), always=choices("allow edits in a.py")))
    async with app.run_test(size=(160, 40)) as pilot:
        await arm(pilot, app, clock)
        await until(pilot, lambda: "a Always…" in keys_shown(app))
        await pilot.press("space")
        await until(pilot, lambda: "a Always… (you skipped a hunk)" in keys_shown(app))
        await pilot.press("a")
        assert app.screen is app.pushed


def test_rules_are_tried_on_the_actions_of_the_session() -> None:
    state = SessionState(workspace="/w")
    state.actions = {"a1": TESTS, "a2": OTHER}
    trial = try_rule(RULE, state)
    assert [item.action_id for item in trial.matched] == ["a1"]
    assert trial.looked_at == 2
    assert try_rule("allow", state) == RulePreview()
    together = try_rule("allow $ pytest *\nallow $ make *", state)
    assert [item.action_id for item in together.matched] == ["a1", "a2"]


@pytest.mark.parametrize(("risk", "is_matched"), [("HIGH", False), ("MEDIUM", True), ("UNKNOWN", True), ("LOW", False)])
@pytest.mark.parametrize(
    ("rule", "item"),
    [(RULE, TESTS), ("allow edits in **", edit("a\n", "b\n")), ("allow str_replace_editor in **", edit("a\n", "b\n"))],
    ids=["command", "edits", "tool"],
)
def test_rule_that_allows_matches_only_what_would_be_asked_about(rule, item, risk, is_matched) -> None:
    state = SessionState(workspace=item.working_dir or "/w")
    state.actions = {item.action_id: replace(item, risk=risk)}
    assert bool(try_rule(rule, state).matched) == is_matched


def test_matched_actions_name_paths_relative_to_the_workspace() -> None:
    item = replace(edit("a\n", "b\n"), arguments={"command": "create", "path": "/w/src/a.py"}, working_dir="/w/tests")
    state = SessionState(workspace="/w")
    state.actions = {item.action_id: item}
    preview = try_rule("allow edits in **", state)
    lines = always_lines(choices("allow edits in **"), 0, preview, 0, width=70, height=20)
    shown = ["".join(piece.text for piece in line) for line in lines]
    assert any(line.endswith(" src/a.py new") for line in shown)
    assert not any("/w/" in line for line in shown)


@pytest.mark.parametrize(
    ("width", "keys"),
    [
        (140, ["y", "n", "space", "e", "a", "d", "tab", "Esc", "?"]),
        (108, ["y", "n", "space", "e", "a", "d", "Esc", "?"]),
        (92, ["y", "n", "space", "e", "a", "Esc", "?"]),
    ],
)
def test_reason_against_always_takes_the_place_of_less_important_keys(width: int, keys: list[str]):
    line = fitting(answer_keys(Proposal(files_written(edit())), NOT_ALWAYS), width)
    assert [hint.key for hint in line] == keys
    assert "Always… (no rule covers it)" in [hint.words for hint in line]


def test_reason_that_does_not_fit_leaves_the_keys_alone():
    line = fitting(answer_keys(Proposal(files_written(edit())), NOT_ALWAYS), 78)
    assert [hint.key for hint in line] == ["y", "n", "space", "e", "a", "Esc", "?"]
    assert "Always…" in [hint.words for hint in line]
