"""The approval modal: its content, the keys it accepts as an answer, and actions it never takes."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace
from textual import events
from textual.app import App
from textual.widgets import Input

from tests.tui.approval_app import arm, ask, choices, command, edit, keys_shown, painted_part, visible_now
from tests.tui.diff_app import Decision, painted, question
from tests.tui.waiting import until
from workbench.protocol.events import Segment
from workbench.tui.widgets.diff_view import DiffView
from workbench.tui.widgets.question_box import QuestionBox
from workbench.tui.widgets.question_text import QuestionText
from workbench.view.approval.questions import Later
from workbench.view.state import ActionItem

KEYS = {" ": "space", "?": "question_mark"}


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_y_approves_after_the_quiet_time(size: tuple[int, int]) -> None:
    app, clock = ask(command(), 1, 3)
    async with app.run_test(size=size) as pilot:
        await visible_now(pilot, app)
        await pilot.press("y", "tab", "y")
        assert await until(pilot, lambda: "y (ready in" in keys_shown(app))
        assert not question(app).query_one(QuestionBox).is_writing
        await arm(pilot, app, clock)
        await until(pilot, lambda: "y Approve" in keys_shown(app))
        await pilot.press("y")
        await until(pilot, lambda: app.results == [Decision("approved")])


async def test_question_shows_what_runs_why_and_where() -> None:
    parts = (Segment(text="rm -rf build", risk="HIGH", reason="cannot be taken back"), Segment(text="ls", risk="LOW"))
    app, _ = ask(command(segments=parts, reasons=("matches a rule",)), 2, 3)
    async with app.run_test(size=(100, 30)) as pilot:
        await visible_now(pilot, app)
        assert painted_part(app, "#what").startswith("$ rm -rf build")
        assert re.search(r"rm -rf build +▲ HIGH +cannot be taken back", painted_part(app, "#what"))
        why = painted_part(app, "#why")
        assert '"clean up" · the agent says LOW' in why
        assert "asked because: matches a rule (Ask, medium and up)" in why
        assert "in /w" in why
        title = str(app.pushed.query_one("#title").render())
        assert title.split("  ")[0].strip() == "2 of 3"
        assert "Run a command" in title
        assert "▲ HIGH" in title


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("is_elsewhere", [False, True])
async def test_question_names_the_working_directory_only_outside_the_workspace(
    size: tuple[int, int], is_elsewhere: bool
) -> None:
    action = command()
    app, _ = ask(action, workspace="/elsewhere" if is_elsewhere else action.working_dir)
    async with app.run_test(size=size) as pilot:
        await visible_now(pilot, app)
        assert (f"in {action.working_dir}" in painted_part(app, "#why")) == is_elsewhere


async def test_keys_typed_while_the_question_opens_answer_nothing() -> None:
    app, clock = ask(command())
    async with app.run_test() as pilot:
        await visible_now(pilot, app)
        for _ in range(20):
            clock.now += 0.1
            await pilot.press("y", "enter", "tab", "down")
        assert app.results == []
        assert app.screen is app.pushed
        assert app.typed == []


@pytest.mark.parametrize("text", ["yes please", "no", "what is this?", "Y", "v2 first"])
async def test_words_typed_while_the_question_opens_go_to_the_prompt(text: str) -> None:
    app, _ = ask(command())
    async with app.run_test() as pilot:
        await visible_now(pilot, app)
        for letter in text:
            app.pushed.post_message(events.Key(KEYS.get(letter, letter), letter))
        await until(pilot, lambda: "".join(app.typed) == text, "all of it typed")
        assert app.results == [Later()]


@pytest.mark.parametrize("text", ["/copy", "/new", "why y", "10 y", "or y", "give me y", "(no)", "ok y", "please n y"])
async def test_words_typed_into_an_open_question_decide_nothing_and_go_to_the_prompt(text: str) -> None:
    app, clock = ask(command())
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        for letter in text:
            app.pushed.post_message(events.Key(KEYS.get(letter, letter), letter))
        await until(pilot, lambda: "".join(app.typed) == text, "all of it typed")
        assert app.results == [Later()]


async def test_question_mark_shows_all_keys_and_the_letters_after_it_decide_nothing() -> None:
    app, clock = ask(command())
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        for letter in "?yYn":
            app.post_message(events.Key(KEYS.get(letter, letter), letter))
        await until(pilot, lambda: app.screen is app.help, "the list of the keys")
        await pilot.press("y", "Y")
        assert app.results == []


async def test_early_single_key_does_not_reach_the_prompt_later() -> None:
    app, clock = ask(command())
    async with app.run_test() as pilot:
        await visible_now(pilot, app)
        await pilot.press("n", "n")
        clock.now += 60
        await pilot.press("y")
        await until(pilot, lambda: app.results == [Decision("approved")])
        assert app.typed == []


async def test_paste_goes_to_the_prompt() -> None:
    app, clock = ask(command())
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        app.post_message(events.Paste("y\ny\n"))
        await until(pilot, lambda: app.results == [Later()])
        assert app.typed == ["y\ny\n"]


async def test_enter_and_clicks_never_approve() -> None:
    app, clock = ask(edit())
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        await pilot.press("enter")
        await pilot.click("#keys")
        await pilot.click("#what")
        await pilot.click("#keys", offset=(1, 0))
        await pilot.pause()
        assert app.results == []
        await pilot.press("y")
        await until(pilot, lambda: app.results == [Decision("approved")])


async def test_n_rejects_with_an_optional_reason() -> None:
    app, clock = ask(command())
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.focused, Input), "the line for the reason")
        await pilot.press(*"yny")
        assert app.results == []
        await pilot.press("enter")
        await until(pilot, lambda: app.results == [Decision("rejected", "yny")])


async def test_escape_closes_the_reason_and_the_question_stays() -> None:
    app, clock = ask(command())
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        await pilot.press("n", "escape")
        await until(pilot, lambda: not question(app).query_one(QuestionBox).is_writing)
        assert app.results == []
        await pilot.press("escape")
        await until(pilot, lambda: app.results == [Later()])


async def test_note_is_sent_with_an_approval() -> None:
    app, clock = ask(command())
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        await pilot.press("tab", *"only this once", "enter")
        await until(pilot, lambda: not question(app).query_one(QuestionBox).is_writing)
        assert "Note: only this once" in str(app.pushed.query_one("#note-said").render())
        await pilot.press("y")
        await until(pilot, lambda: app.results == [Decision("approved", "only this once")])


async def test_escape_postpones_at_any_time() -> None:
    app, _ = ask(command())
    async with app.run_test() as pilot:
        await visible_now(pilot, app)
        await pilot.press("escape")
        assert await until(pilot, lambda: app.results == [Later()])


@pytest.mark.parametrize("action", [command("\n".join(f"echo {n}" for n in range(200))), edit("", "x = 1\n" * 200)])
async def test_long_action_must_be_scrolled_to_its_end(action: ActionItem) -> None:
    app, clock = ask(action)
    async with app.run_test(size=(80, 24)) as pilot:
        await arm(pilot, app, clock)
        await until(pilot, lambda: "you have not seen" in keys_shown(app))
        await pilot.press("y")
        assert app.results == []
        await pilot.press("down", "pagedown")
        assert await until(pilot, lambda: "you have not seen" in keys_shown(app))
        await pilot.press("end")
        await until(pilot, lambda: "y Approve" in keys_shown(app))
        await pilot.press("home", "y")
        await until(pilot, lambda: app.results == [Decision("approved")])


async def test_nothing_is_hidden_in_a_command() -> None:
    hidden = "ls" + " " * 300 + "; rm -rf ~ \u202e\x1b[8m #\u00a0x\t.\u200b"
    app, _ = ask(command(hidden))
    async with app.run_test(size=(80, 24)) as pilot:
        await visible_now(pilot, app)
        text = painted_part(app, "#what").replace("\n", "")
        assert text.count("·") == 300
        assert "; rm -rf ~ \\u202e\\e[8m #\\xa0x\\t." in text
        assert "\\u200b" in text


async def test_all_arguments_of_any_tool_are_shown() -> None:
    action = ActionItem(1, 1, "a", "deploy", {"where": "prod [/x]", "script": "one\ntwo", "n": 3, "deep": {"a": [1]}})
    app, _ = ask(action)
    async with app.run_test(size=(80, 40)) as pilot:
        await visible_now(pilot, app)
        text = painted_part(app, "#what")
        assert all(part in text for part in ("deploy", "where: prod [/x]", "script:", "  one\n  two", "n: 3", '"a": ['))


async def test_edit_shows_its_diff_and_the_keys_for_it() -> None:
    before = "".join(f"line {number}\n" for number in range(80))
    app, clock = ask(edit(before, before.replace("line 9\n", "nine\n").replace("line 70\n", "seventy\n")))
    async with app.run_test(size=(120, 40)) as pilot:
        await arm(pilot, app, clock)
        diff = app.pushed.query_one(DiffView)
        await until(pilot, lambda: "+ nine" in painted(diff))
        assert diff.current == 0
        await pilot.press("j")
        await until(pilot, lambda: diff.current == 1)
        await pilot.press("s")
        await until(pilot, lambda: diff.geometry.options.beside)
        await pilot.press("d")
        await until(pilot, lambda: app.pushed.query_one(QuestionBox).size.height == 40, "the full screen")
        await pilot.press("escape")
        await until(pilot, lambda: app.pushed.query_one(QuestionBox).size.height < 40, "back")
        assert app.results == []


async def test_quiet_time_starts_again_after_another_screen() -> None:
    app, clock = ask(command())
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        await pilot.press("v")
        await until(pilot, lambda: app.screen is not app.pushed, "the full text")
        await pilot.press("q")
        await until(pilot, lambda: app.screen is app.pushed, "back")
        await until(pilot, lambda: "ready in" in keys_shown(app), "quiet again")
        await pilot.press("y")
        assert app.results == []


@pytest.mark.parametrize(("width", "column"), [(80, 20), (40, 4)])
async def test_long_reason_wraps_without_losing_a_word(width: int, column: int) -> None:
    reason = "deletes files in ./ only known at run time (a copy is saved of the 4 files here)"
    parts = (Segment(text="rm $f", risk="HIGH", reason=reason), Segment(text="ls", risk="LOW"))
    app, _ = ask(command(segments=parts))
    async with app.run_test(size=(width, 30)) as pilot:
        await visible_now(pilot, app)
        rows = painted_part(app, "#what").split("HIGH")[1].split("\nls")[0].splitlines()[1:]
        assert rows
        assert {len(row) - len(row.lstrip()) for row in rows if row.strip()} == {column}
        whole = " ".join(painted_part(app, "#what").split())
        assert " ".join(reason.split()) in whole


async def test_withdrawn_question_closes() -> None:
    app, _ = ask(command())
    async with app.run_test() as pilot:
        await visible_now(pilot, app)
        question(app).withdraw()
        assert await until(pilot, lambda: app.results == [Later(aside=True)])


@pytest.mark.parametrize("keys", ["v", "Y", "a", "question_mark", "v slash x", "a f1"])
async def test_withdrawn_question_closes_everything_opened_above_it(keys: str) -> None:
    first = replace(edit("old\n", "new\n"), action_id="first", always=choices("allow $ x"))
    app, clock = ask(first, 1, 2, (first, replace(command(), action_id="other")))
    async with app.run_test(size=(100, 40)) as pilot:
        main = app.screen_stack[0]
        await arm(pilot, app, clock)
        for key in keys.split():
            above = app.screen
            await pilot.press(key)
            await until(pilot, lambda above=above, key=key: key in {"slash", "x", "f1"} or app.screen is not above)  # type: ignore[misc]
        question(app).withdraw()
        await until(pilot, lambda: app.screen is main, "everything is gone")
        assert app.results == [Later(aside=True)]
        await until(pilot, lambda: any("nothing was approved" in note.message for note in app._notifications))
        clock.now += 60
        await pilot.press("Y", "y", "q", "escape")
        assert app.results == [Later(aside=True)]
        assert app.screen is main


async def test_conversation_behind_the_question_scrolls() -> None:
    app, _ = ask(command())
    async with app.run_test() as pilot:
        await visible_now(pilot, app)
        await pilot.press("ctrl+up", "ctrl+down")
        assert await until(pilot, lambda: app.behind == [-3, 3])


@pytest.mark.parametrize("size", [(80, 24), (60, 15), (40, 12), (20, 6)])
@pytest.mark.parametrize("action", [command("x" * 500), edit("", "y = 1\n" * 50)], ids=["command", "edit"])
async def test_question_fits_small_screens_and_survives_resizing(size: tuple[int, int], action: ActionItem) -> None:
    app, clock = ask(action)
    async with app.run_test(size=(120, 40)) as pilot:
        await arm(pilot, app, clock)
        await pilot.resize_terminal(*size)
        box = app.pushed.query_one(QuestionBox)
        await until(pilot, lambda: 0 < box.size.width <= size[0], "resized")
        await pilot.press("end", "end", "end")
        await pilot.press("escape")
        assert await until(pilot, lambda: app.results == [Later()])


async def test_no_text_becomes_markup() -> None:
    action = command("[/foo]", summary="[/bar] [bold", rule="[/x]", working_dir="/w/[/y]", note="")
    app, clock = ask(action)
    async with app.run_test() as pilot:
        await arm(pilot, app, clock)
        assert "[/foo]" in painted_part(app, "#what")
        assert "[/bar] [bold" in painted_part(app, "#why")
        await pilot.press("tab", *"[/z]", "enter")
        await until(pilot, lambda: "[/z]" in str(app.pushed.query_one("#note-said").render()))
        assert isinstance(app, App)
        assert isinstance(app.pushed.query_one("#what"), QuestionText)
