"""`a`: the exact rule and its reach are shown before anything is saved, and only if the command was seen whole."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.tui.approval_app import arm, ask, command, edit, keys_shown
from tests.tui.diff_app import ScreenApp, question
from tests.tui.waiting import until
from workbench.tui.screens.confirmations import AlwaysScreen
from workbench.view.approval.questions import Always
from workbench.view.approval.rule_preview import RulePreview, try_rule
from workbench.view.state import SessionState

RULE = "allow $ pytest -q"
TESTS = replace(command("pytest -q", risk="MEDIUM"), always=RULE)
OTHER = replace(command("make all", risk="MEDIUM"), action_id="a2", number=2)


def message(app: ScreenApp) -> str:
    return str(app.screen.query_one("#said").render())


@pytest.mark.parametrize(("key", "scope"), [("", "session"), ("2", "folder"), ("3", "person"), ("down", "folder")])
async def test_rule_is_shown_and_saved_in_the_chosen_scope(key: str, scope: str) -> None:
    app, clock = ask(TESTS)
    async with app.run_test(size=(100, 40)) as pilot:
        question(app)._above._try_rule = lambda rule: RulePreview((TESTS,), 2)
        await arm(pilot, app, clock)
        await until(pilot, lambda: "a always" in keys_shown(app))
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AlwaysScreen) and RULE in message(app), "the rule")
        assert "Matches 1 of the last 2 actions" in message(app)
        assert "$ pytest -q" in message(app)
        await pilot.press("y", "enter")
        assert app.results == []
        if key:
            await pilot.press(key)
        clock.now += 60
        await until(pilot, lambda: "y save the rule" in str(app.screen.query_one("#keys").render()))
        await pilot.press("y")
        await until(pilot, lambda: app.results == [Always(RULE, scope)])  # type: ignore[arg-type]


async def test_escape_saves_nothing_and_returns_to_the_question() -> None:
    app, clock = ask(TESTS)
    async with app.run_test(size=(80, 24)) as pilot:
        await arm(pilot, app, clock)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AlwaysScreen), "the rule")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.pushed, "back")
        assert app.results == []


async def test_always_is_not_offered_without_a_rule_or_before_the_end_was_seen() -> None:
    long = "\n".join(f"echo {number}" for number in range(100))
    for action in (command("rm -rf build"), replace(command(long), always="allow $ x")):
        app, clock = ask(action)
        async with app.run_test(size=(80, 24)) as pilot:
            await arm(pilot, app, clock)
            assert "always" not in keys_shown(app)
            await pilot.press("a")
            assert app.screen is app.pushed


async def test_always_is_not_offered_for_an_edited_action() -> None:
    app, clock = ask(replace(edit("a\n", "b\n"), always="allow str_replace_editor in a.py"))
    async with app.run_test(size=(100, 40)) as pilot:
        await arm(pilot, app, clock)
        await until(pilot, lambda: "a always" in keys_shown(app))
        await pilot.press("space")
        await until(pilot, lambda: "a always" not in keys_shown(app))
        await pilot.press("a")
        assert app.screen is app.pushed


def test_rule_is_tried_on_the_actions_of_the_session() -> None:
    state = SessionState(workspace="/w")
    state.actions = {"a1": TESTS, "a2": OTHER}
    trial = try_rule(RULE, state)
    assert [item.action_id for item in trial.matched] == ["a1"]
    assert trial.looked_at == 2
    assert try_rule("allow", state) == RulePreview()
