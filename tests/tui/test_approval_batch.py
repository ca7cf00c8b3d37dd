"""Several waiting actions: a list to move in, each decided alone, and `Y` for those it has shown completely."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.tui.approval_app import arm, ask, command, edit, keys_shown, painted_part
from tests.tui.diff_app import Decision, ScreenApp, painted, question
from tests.tui.waiting import until
from workbench.tui.screens.confirmations import ApproveAllScreen
from workbench.tui.widgets.question_text import QuestionText
from workbench.view.approval.questions import All, Bundle, Later, Turn, bundled, together
from workbench.view.formatting.approval import all_of, bundle_title
from workbench.view.state import ActionItem

LIST = replace(command("ls ~/.config", risk="LOW"), action_id="low", fingerprint="f1")
WRITE = replace(edit("old\n", "new\n"), action_id="edit", fingerprint="f2")
DELETE = replace(command("rm -rf build"), action_id="high", fingerprint="f3")
WAITING = (LIST, WRITE, DELETE)


def batch(app: ScreenApp) -> str:
    return str(app.pushed.query_one("#batch").render())


async def test_list_shows_waiting_actions_and_marks_the_current_one() -> None:
    app, clock = ask(WRITE, 2, 3, WAITING)
    async with app.run_test(size=(100, 40)) as pilot:
        await arm(pilot, app, clock)
        first, second, third = batch(app).splitlines()
        assert all(part in first for part in ("1", "○ LOW", "$ ls ~/.config"))
        assert second.startswith("▌ 2")
        assert "+1 −1" in second, "edits of one file are told apart"
        assert all(part in third for part in ("3", "▲ HIGH", "$ rm -rf build"))


@pytest.mark.parametrize(("key", "name"), [("right", "high"), ("left", "low")])
async def test_arrows_move_to_another_action(key: str, name: str) -> None:
    app, clock = ask(WRITE, 2, 3, WAITING)
    async with app.run_test(size=(100, 40)) as pilot:
        await arm(pilot, app, clock)
        await pilot.press(key)
        assert await until(pilot, lambda: app.results == [Turn(name)])


async def test_answer_applies_to_the_action_shown() -> None:
    app, clock = ask(LIST, 1, 3, WAITING)
    async with app.run_test(size=(100, 40)) as pilot:
        await arm(pilot, app, clock)
        await pilot.press("y")
        assert await until(pilot, lambda: app.results == [Decision("approved")])


def test_actions_up_to_the_shown_risk_are_approved_together() -> None:
    unknown = replace(command(risk="UNKNOWN"), action_id="unknown")
    asks = replace(LIST, action_id="asks", asks=True)
    waiting = [LIST, WRITE, DELETE, unknown, asks]
    assert [item.action_id for item in together(waiting, LIST)] == ["low"]
    assert [item.action_id for item in together(waiting, WRITE)] == ["low", "edit"]
    assert [item.action_id for item in together(waiting, unknown)] == ["low", "edit", "unknown"]
    assert [item.action_id for item in together(waiting, DELETE)] == ["low", "edit", "high", "unknown"]


def test_approve_all_shows_why_each_action_asks() -> None:
    warning = "deletes 2 files that can NOT be restored"
    lost = replace(command("rm a.dat", risk="HIGH"), reasons=(warning,), agent="tester")
    lines = [said.text for said in all_of(Bundle([LIST, lost], 2))]
    assert lines.index("Asked for the sub-agent tester.") < lines.index(f"· {warning}")


async def test_approve_all_shows_everything_and_has_its_own_quiet_time() -> None:
    app, clock = ask(WRITE, 2, 3, WAITING)
    async with app.run_test(size=(100, 40)) as pilot:
        await arm(pilot, app, clock)
        await pilot.press("Y")
        await until(pilot, lambda: isinstance(app.screen, ApproveAllScreen), "the list")
        every = app.screen.query_one(QuestionText)
        await until(pilot, lambda: "$ ls ~/.config" in painted(every))
        text = painted(every)
        assert all(part in text for part in ("▲ HIGH is asked separately", "1 of 2", "2 of 2", "− old", "+ new"))
        assert str(app.screen.query_one("#title").render()) == "Approve 2 of 3?"
        assert "rm -rf" not in text
        await pilot.press("Y", "y", "enter")
        assert app.results == []
        clock.now += 60
        await until(pilot, lambda: "Y Approve 2 of 3" in str(app.screen.query_one("#keys").render()))
        await pilot.press("Y")
        await until(pilot, lambda: app.results == [All((("low", "f1", 0), ("edit", "f2", 0)))])


async def test_approve_all_must_be_scrolled_to_its_end() -> None:
    long = replace(LIST, arguments={"command": "\n".join(f"echo {number}" for number in range(80))})
    app, clock = ask(long, 1, 2, (long, replace(LIST, action_id="other")))
    async with app.run_test(size=(80, 24)) as pilot:
        await arm(pilot, app, clock)
        await pilot.press("Y")
        await until(pilot, lambda: isinstance(app.screen, ApproveAllScreen), "the list")
        quiet = app.screen.quiet  # type: ignore[attr-defined]
        await until(pilot, lambda: quiet.is_armed is False and quiet.arming._quiet_since is not None)
        clock.now += 60
        await until(pilot, lambda: "you have not seen" in str(app.screen.query_one("#keys").render()))
        await pilot.press("Y")
        assert app.results == []
        await pilot.press("end")
        await until(pilot, lambda: "Y Approve all" in str(app.screen.query_one("#keys").render()))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.pushed, "back")
        assert app.results == []
        await pilot.press("escape")
        await until(pilot, lambda: app.results == [Later()])


async def test_single_action_has_neither_list_nor_approve_all() -> None:
    app, clock = ask(DELETE, 1, 1, (DELETE,))
    async with app.run_test(size=(100, 40)) as pilot:
        await arm(pilot, app, clock)
        assert "Y Approve all" not in keys_shown(app)
        assert not app.pushed.query_one("#batch").display
        await pilot.press("Y", "right")
        assert app.screen is app.pushed
        assert "rm -rf build" in painted_part(app, "#what")


def test_edited_action_is_not_approved_as_proposed() -> None:
    waiting = [LIST, WRITE, DELETE]
    assert [item.action_id for item in together(waiting, DELETE, {"edit"})] == ["low", "high"]


@pytest.mark.parametrize("on_it", [True, False])
async def test_approve_all_excludes_edited_actions_and_says_so(on_it: bool) -> None:
    shown_now, place = (WRITE, 2) if on_it else (DELETE, 3)
    app, clock = ask(shown_now, place, 3, WAITING, changed=() if on_it else ("edit",))
    async with app.run_test(size=(100, 40)) as pilot:
        await arm(pilot, app, clock)
        if on_it:
            await pilot.press("space")
        await pilot.press("Y")
        await until(pilot, lambda: isinstance(app.screen, ApproveAllScreen), "the list")
        every = app.screen.query_one(QuestionText)
        await until(pilot, lambda: "$ ls ~/.config" in painted(every))
        assert "The action that you edited is asked separately" in painted(every)
        assert "− old" not in painted(every)


async def test_approve_all_is_not_offered_if_every_action_was_edited() -> None:
    app, clock = ask(WRITE, 1, 2, (WRITE, DELETE))
    async with app.run_test(size=(100, 40)) as pilot:
        await arm(pilot, app, clock)
        await pilot.press("space", "Y")
        await until(pilot, lambda: any("approve each one with y" in note.message for note in app._notifications))
        assert app.screen is app.pushed


async def test_action_that_starts_to_wait_is_added_to_the_list() -> None:
    app, clock = ask(LIST, 1, 1, (LIST,))
    async with app.run_test(size=(100, 40)) as pilot:
        await arm(pilot, app, clock)
        assert "Y Approve all" not in keys_shown(app)
        question(app).update_waiting(WAITING)
        await until(pilot, lambda: "← → Others" in keys_shown(app))
        assert "Y Approve" not in keys_shown(app), "only one is up to this risk, and y approves it"
        question(app).update_waiting((LIST, replace(LIST, action_id="more"), DELETE))
        await until(pilot, lambda: "Y Approve 2 of 3…" in keys_shown(app))
        assert batch(app).splitlines()[0].startswith("▌ 1")
        assert "1 of 3" in str(app.pushed.query_one("#title").render())
        await pilot.press("left")
        await until(pilot, lambda: app.results == [Turn("high")])


async def test_single_action_up_to_this_risk_is_not_called_all() -> None:
    app, clock = ask(WRITE, 1, 2, (WRITE, DELETE))
    async with app.run_test(size=(100, 40)) as pilot:
        await arm(pilot, app, clock)
        assert "Y Approve" not in keys_shown(app)
        await pilot.press("Y")
        await until(pilot, lambda: isinstance(app.screen, ApproveAllScreen), "the list")
        every = app.screen.query_one(QuestionText)
        await until(pilot, lambda: "+ new" in painted(every))
        assert "▲ HIGH is asked separately" in painted(every)
        assert "1 of 1" not in painted(every)
        assert str(app.screen.query_one("#title").render()) == "Approve this action?"
        clock.now += 60
        await until(pilot, lambda: str(app.screen.query_one("#keys").render()) == "Y Approve   Esc Back")
        await pilot.press("Y")
        await until(pilot, lambda: app.results == [All((("edit", "f2", 0),))])


def test_title_says_all_only_of_all_pending_actions() -> None:
    asks = replace(LIST, action_id="asks", asks=True)
    unknown = replace(command(risk="UNKNOWN"), action_id="unknown")
    waiting = [LIST, WRITE, unknown, DELETE, asks]

    def lines(current: ActionItem, *changed: str) -> tuple[str, list[str]]:
        bundle = bundled(waiting, current, changed)
        texts = [line.text for line in all_of(bundle)]
        return bundle_title(bundle), [text for text in texts if text.endswith("separately")]

    question_line = "? The agent's question is asked separately"
    assert lines(LIST) == (
        "Approve this action?",
        [f"{risk} is asked separately" for risk in ("▲ HIGH", "? UNKNOWN", "◆ MEDIUM")] + [question_line],
    )
    assert lines(WRITE, "low") == (
        "Approve this action?",
        [
            "▲ HIGH is asked separately",
            "? UNKNOWN is asked separately",
            question_line,
            "The action that you edited is asked separately",
        ],
    )
    assert lines(DELETE) == ("Approve 4 of 5?", [question_line])
    assert bundle_title(bundled([LIST, WRITE, DELETE], DELETE)) == "Approve all 3?"
