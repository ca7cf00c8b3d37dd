"""Deciding a hunk at a time: the answer holds exactly the accepted, rejected and edited hunks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from tests.tui.approval_app import arm, ask, command, edit, keys_shown
from tests.tui.diff_app import Clock, Decision, ScreenApp, painted, question
from tests.tui.waiting import until
from workbench.protocol.events import FileText
from workbench.tui.screens.approval import ApprovalScreen
from workbench.tui.widgets.diff_view import DiffView
from workbench.tui.widgets.text_lines import TextLines
from workbench.view.approval.questions import Asked, Later

BEFORE = "".join(f"line {number}\n" for number in range(60))
AFTER = BEFORE.replace("line 3\n", "three\n").replace("line 20\n", "twenty\n").replace("line 50\n", "fifty\n")


def decided(app: ScreenApp) -> Decision:
    (result,) = app.results
    assert isinstance(result, Decision)
    return result


def hunks_said(app: ScreenApp) -> str:
    return str(app.pushed.query_one("#title").render())


def diff(app: ScreenApp) -> DiffView:
    return app.pushed.query_one(DiffView)


async def seen(pilot: Pilot[None], app: ScreenApp, clock: Clock) -> None:
    """Scroll until everything has been in sight and answers are accepted."""
    await arm(pilot, app, clock)
    await pilot.press("end", "end")
    await until(pilot, lambda: "you have not seen" not in keys_shown(app), "seen to its end")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (160, 50)])
async def test_two_of_three_hunks_are_skipped(size: tuple[int, int]) -> None:
    app, clock = ask(edit(BEFORE, AFTER))
    async with app.run_test(size=size) as pilot:
        await seen(pilot, app, clock)
        await pilot.press("home", "k", "k", "space")
        await until(pilot, lambda: "2 accepted" in hunks_said(app))
        await pilot.press("j", "j", "space")
        await until(pilot, lambda: "1 accepted" in hunks_said(app))
        text = painted(diff(app))
        assert "✓2" in text
        assert "+ twenty" in text
        assert re.search(r"×3▌ +51 +· line 50 +skipped · Space includes it", text)
        assert "fifty" not in text
        assert "y Approve 1 of 3" in keys_shown(app)
        await pilot.press("y")
        await until(pilot, lambda: bool(app.results))
    text = BEFORE.replace("line 20\n", "twenty\n")
    assert decided(app) == Decision("edited", hunks=(1,), written=(FileText(path="/w/a.py", text=text),))


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_the_first_hunk_is_chosen_and_steps_go_on_from_there(size: tuple[int, int]) -> None:
    app, clock = ask(edit(BEFORE, AFTER))
    async with app.run_test(size=size) as pilot:
        await arm(pilot, app, clock)
        assert diff(app).current == 0
        for key, hunk in (("j", 1), ("j", 2), ("j", 2), ("k", 1), ("k", 0), ("k", 0)):
            await pilot.press(key)
            assert await until(pilot, lambda hunk=hunk: f"{hunk + 1}▌" in painted(diff(app)))


@pytest.mark.parametrize("size", [(60, 20), (80, 24)])
async def test_chosen_hunk_is_always_in_sight_when_the_user_scrolls(size: tuple[int, int]) -> None:
    lines = [f"line {number}\n" for number in range(90)]
    changed = [line.upper() if number % 30 < 10 else line for number, line in enumerate(lines)]
    app, clock = ask(edit("".join(lines), "".join(changed)))
    async with app.run_test(size=size) as pilot:
        await arm(pilot, app, clock)
        for key in ("end", "home", "pagedown", "pagedown", "pageup"):
            await pilot.press(key)
            assert await until(pilot, lambda: "▌" in painted(diff(app)))
        await pilot.press("end", "space")
        assert await until(pilot, lambda: question(app).proposal.out == {2})


async def test_hunk_skipped_unread_must_be_read_when_it_is_included() -> None:
    lines = [f"line {number}\n" for number in range(200)]
    app, clock = ask(edit("".join(lines), "".join(line.upper() for line in lines)))
    async with app.run_test(size=(80, 24)) as pilot:
        await arm(pilot, app, clock)
        await until(pilot, lambda: "you have not seen" in keys_shown(app))
        await pilot.press("space")
        await until(pilot, lambda: "no hunk accepted" in keys_shown(app))
        await pilot.press("space")
        await until(pilot, lambda: "you have not seen" in keys_shown(app))
        await pilot.press("y")
        assert app.results == []
        await pilot.press("end", "y")
        assert await until(pilot, lambda: app.results == [Decision("approved")])


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_full_screen_decides_with_the_same_keys(size: tuple[int, int]) -> None:
    app, clock = ask(edit(BEFORE, AFTER))
    async with app.run_test(size=size) as pilot:
        await arm(pilot, app, clock)
        await pilot.press("d")
        await until(pilot, lambda: question(app).box.size.height == size[1], "the full screen")
        await pilot.press("j", "space")
        await until(pilot, lambda: "2 accepted" in hunks_said(app))
        await pilot.press("end", "end")
        await until(pilot, lambda: "y Approve 2 of 3" in keys_shown(app))
        await pilot.press("y")
        await until(pilot, lambda: bool(app.results))
    assert decided(app).hunks == (0, 2)


async def test_hunk_skipped_and_included_again_is_a_plain_approval() -> None:
    app, clock = ask(edit(BEFORE, AFTER))
    async with app.run_test(size=(120, 40)) as pilot:
        await seen(pilot, app, clock)
        await pilot.press("space", "space", "y")
        assert await until(pilot, lambda: app.results == [Decision("approved")])


async def test_action_without_any_included_hunk_cannot_be_approved() -> None:
    app, clock = ask(edit("a\n", "b\n"))
    async with app.run_test(size=(120, 40)) as pilot:
        await seen(pilot, app, clock)
        await pilot.press("space")
        await until(pilot, lambda: "no hunk accepted" in keys_shown(app))
        await pilot.press("y")
        assert app.results == []
        assert "Space Include" in keys_shown(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_hunk_is_edited_inside_the_question(size: tuple[int, int]) -> None:
    app, clock = ask(edit(BEFORE, AFTER))
    async with app.run_test(size=size) as pilot:
        await seen(pilot, app, clock)
        await pilot.press("home", "j", "k", "k", "k", "e")
        await until(pilot, lambda: isinstance(app.focused, TextArea), "the editor")
        assert "Ctrl+S Keep the text" in keys_shown(app)
        await pilot.press("end", *" yn", "ctrl+s")
        await until(pilot, lambda: "1 edited by you" in hunks_said(app))
        await until(pilot, lambda: "+ three yn" in painted(diff(app)))
        await pilot.press("y")
        assert app.results == [], "the quiet time begins again after typing"
        clock.now += 60
        await until(pilot, lambda: "y Approve as edited" in keys_shown(app))
        await pilot.press("y")
        await until(pilot, lambda: bool(app.results))
    text = AFTER.replace("three\n", "three yn\n")
    assert decided(app) == Decision("edited", hunks=(0, 1, 2), written=(FileText(path="/w/a.py", text=text),))


async def test_escape_discards_the_edit_and_the_question_stays() -> None:
    app, clock = ask(edit("a\n", "b\n"))
    async with app.run_test(size=(120, 40)) as pilot:
        await seen(pilot, app, clock)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.focused, TextArea), "the editor")
        await pilot.press(*"zzz", "escape")
        await until(pilot, lambda: question(app).box.editor is None)
        assert app.results == []
        clock.now += 60
        await until(pilot, lambda: "y Approve" in keys_shown(app))
        await pilot.press("y")
        await until(pilot, lambda: app.results == [Decision("approved")])


async def test_text_with_hidden_characters_cannot_be_edited_in_the_question() -> None:
    app, clock = ask(edit("a\n", "b\u200bc\n"))
    async with app.run_test(size=(120, 40)) as pilot:
        await seen(pilot, app, clock)
        await pilot.press("e")
        await until(pilot, lambda: bool(app._notifications), "a word about it")
        assert question(app).box.editor is None


async def test_crlf_line_endings_survive_an_edit() -> None:
    app, clock = ask(edit("a\r\nz\r\n", "b\r\nz\r\n"))
    async with app.run_test(size=(120, 40)) as pilot:
        await seen(pilot, app, clock)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.focused, TextArea), "the editor")
        await pilot.press("end", "enter", *"cc", "ctrl+s")
        await until(pilot, lambda: question(app).box.editor is None)
        clock.now += 60
        await pilot.press("y")
        await until(pilot, lambda: bool(app.results))
    (file,) = decided(app).written or ()
    assert file.text == "b\r\ncc\r\nz\r\n"


async def test_included_hunks_are_remembered_when_postponed(tmp_path: Path) -> None:
    app, clock = ask(edit(BEFORE, AFTER))
    async with app.run_test(size=(120, 40)) as pilot:
        await seen(pilot, app, clock)
        await pilot.press("space", "escape")
        await until(pilot, lambda: app.results == [Later()])
    first = question(app)
    again = ScreenApp(ApprovalScreen(Asked(first.item, proposal=first.proposal)))
    async with again.run_test(size=(120, 40)) as pilot:
        assert await until(pilot, lambda: "2 accepted" in hunks_said(again))


async def test_keys_typed_right_after_opening_the_editor_are_in_the_text() -> None:
    app, clock = ask(command("true"))
    async with app.run_test(size=(100, 40)) as pilot:
        await arm(pilot, app, clock)
        for key in ("e", "a", "y", "n"):
            app.post_message(events.Key(key, key))  # all of them before the first is handled
        await until(pilot, lambda: getattr(question(app).box.editor, "text", "") == "ayntrue")
        assert app.results == []


async def test_keys_typed_right_after_opening_the_note_are_in_the_note() -> None:
    app, clock = ask(command("true"))
    async with app.run_test(size=(100, 40)) as pilot:
        await arm(pilot, app, clock)
        for key in ("n", "n", "o", "y"):
            app.post_message(events.Key(key, key))
        await until(pilot, lambda: [note.value for note in app.pushed.query(Input)] == ["noy"])
        await pilot.press("enter")
        assert await until(pilot, lambda: app.results == [Decision("rejected", "noy")])


@pytest.mark.parametrize("key", ["v", "d"])
async def test_details_and_full_screen_show_the_users_edits(key: str) -> None:
    app, clock = ask(edit(BEFORE, AFTER))
    async with app.run_test(size=(120, 40)) as pilot:
        await seen(pilot, app, clock)
        await pilot.press("home", "j", "k", "k", "k", "e")
        await until(pilot, lambda: isinstance(app.focused, TextArea), "the editor")
        await pilot.press("end", *" own", "ctrl+s")
        await until(pilot, lambda: "+ three own" in painted(diff(app)))
        await arm(pilot, app, clock)
        await pilot.press("j", "space", key)
        if key == "v":
            await until(pilot, lambda: app.screen is not app.pushed, "another screen")
        else:
            await until(pilot, lambda: question(app).box.size.height == 40, "the full screen")
        text = app.screen.query_one(TextLines if key == "v" else DiffView)
        await until(pilot, lambda: "three own" in painted(text))
        lines = painted(text)
        assert ("As you changed it, this is written:" in lines) == (key == "v")
        ours = lines.partition("As the agent proposed it:")[0]
        assert "twenty" not in ours, "the hunk that was omitted is not written"


async def test_details_of_an_edited_command_show_the_edited_one() -> None:
    app, clock = ask(command("rm -rf build"))
    async with app.run_test(size=(120, 40)) as pilot:
        await arm(pilot, app, clock)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.focused, TextArea), "the editor")
        await pilot.press("end", *"/old", "ctrl+s")
        await until(pilot, lambda: question(app).box.editor is None)
        await arm(pilot, app, clock)
        await pilot.press("v")
        await until(pilot, lambda: app.screen is not app.pushed, "the text")
        text = app.screen.query_one(TextLines)
        await until(pilot, lambda: "$ rm -rf build/old" in painted(text))
        yours, _, proposed = painted(text).partition("As the agent proposed it:")
        assert ("$ rm -rf build/old" in yours, "$ rm -rf build/old" in proposed) == (True, False)
