"""Messages, code blocks, commands and outputs are copied to the clipboard by key; cards and reasoning fold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Offset
from textual.selection import Selection

from tests.tui.panel_app import PanelApp
from tests.tui.sample_session import STEADY, WORKSPACE, Script, working_session
from tests.tui.waiting import until
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.tui.widgets.card import ActionCard
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.conversation_messages import AgentText, UserText
from workbench.view.wrapping import code_blocks


def test_code_blocks_are_copied_without_their_fences():
    text = "a\n```python\nx = 1\n\ny\n```\nb\n~~~\n```\n~~~\n````\n```\n````\n```\nopen"

    assert code_blocks(text) == ["x = 1\n\ny", "```", "```", "open"]
    assert code_blocks("no `code` here") == []


@STEADY
@given(st.text(alphabet="ab`~ \n", max_size=60))
def test_code_blocks_of_any_text_are_substrings(text):
    for block in code_blocks(text):
        assert all(line in text.splitlines() for line in block.splitlines())


async def test_y_copies_message_or_command_and_capital_y_code_or_output():
    app = PanelApp(working_session().state())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: len(app.query(ActionCard)) == 6)
        app.query_one(UserText).focus()
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard == "Fix the failing test.")
        app.query(AgentText).last().focus()
        await pilot.press("Y")
        await until(pilot, lambda: app.clipboard == "int(text.lstrip('-'))")
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard.startswith("The parser **drops"))
        [card] = [each for each in app.query(ActionCard) if each.item.action_id == "a2"]
        card.focus()
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard == "ls -la")
        await pilot.press("Y")
        assert await until(pilot, lambda: app.clipboard == "README.md\nsrc\ntests")


async def test_second_press_copies_the_next_code_block():
    script = Script().start().user("Go.").answer("```\none\n```\nand\n```\ntwo\n```")
    app = PanelApp(script.state())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.query(AgentText))
        app.query_one(AgentText).focus()
        for expected in ("one", "two", "one"):
            await pilot.press("Y")
            await until(pilot, lambda expected=expected: app.clipboard == expected)
        assert app.clipboard == "one"


async def test_card_folds_to_one_line_and_all_cards_fold_at_once():
    app = PanelApp(working_session().state())
    async with app.run_test(size=(120, 60)) as pilot:
        await until(pilot, lambda: len(app.query(ActionCard)) == 6)
        cards = list(app.query(ActionCard))
        failed = cards[2]
        await until(pilot, lambda: failed.content_size.height == 6)
        failed.focus()
        await pilot.press("space")
        await until(pilot, lambda: failed.content_size.height == 1)
        await pilot.press("space")
        await until(pilot, lambda: failed.content_size.height == 6)
        await pilot.press("z")
        await until(pilot, lambda: all(card.content_size.height == 1 for card in cards))
        await pilot.press("z")
        await until(pilot, lambda: failed.content_size.height == 6)
        assert not any(card.item.folded for card in cards)


async def test_reasoning_unfolds_in_place():
    app = PanelApp(working_session().state())
    async with app.run_test(size=(120, 60)) as pilot:
        await until(pilot, lambda: app.query(AgentText))
        app.query_one(Conversation).scroll_home(animate=False)
        agent_text = app.query(AgentText).first()
        agent_text.focus()
        await pilot.press("space")
        await until(pilot, lambda: "So I read it." in screen_text(app))
        await pilot.press("space")
        await until(pilot, lambda: "So I read it." not in screen_text(app))
        assert "▸ reasoning · 2 lines" in screen_text(app)


def screen_text(app: PanelApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def test_running_card_counts_seconds_and_shows_output(monkeypatch):
    from datetime import timedelta

    from tests.tui.sample_session import START
    from workbench.view import clock

    script = Script().start()
    action_id = script.begin("execute_bash", command="make")
    app = PanelApp(script.state())
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.query(ActionCard))
        monkeypatch.setattr(clock, "now", lambda: START + timedelta(seconds=47))
        await until(pilot, lambda: "42s" in app.query_one(ActionCard).render().plain)
        app.take(live.ToolOutput(action_id=action_id, text="compiling a.c\n"))
        await until(pilot, lambda: "compiling a.c" in app.query_one(ActionCard).render().plain)
        assert "$ make" in app.query_one(ActionCard).render().plain


def selected(card: ActionCard, start: Offset | None, end: Offset | None) -> str:
    text, ending = card.get_selection(Selection(start, end)) or ("", "")
    assert ending == "\n"
    return text


async def test_drag_over_cards_copies_content_without_bars_signs_and_trailing_blanks():
    script = Script().start().user("Go.")
    path = f"{WORKSPACE}/a.py"
    files = (ev.FileDelta(path=path, before="old = 1\n", after="new = 2\n"),)
    script.run("str_replace_editor", "", command="str_replace", path=path, _files=files)
    script.run("execute_bash", "+ one\n│ two\n" + "\n".join(f"line {number}" for number in range(20)), command="set -x")
    app = PanelApp(script.state())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: len(app.query(ActionCard)) == 2)
        edit, command = app.query(ActionCard)
        await until(pilot, lambda: edit.content_size.width and command.content_size.width)
        assert selected(edit, Offset(0, 1), None) == "old = 1\nnew = 2"
        assert selected(edit, Offset(9, 2), Offset(13, 2)) == " = 2"
        assert selected(command, None, None).splitlines() == ["$ set -x", "line 18", "line 19"]


async def test_drag_over_output_keeps_what_looks_like_a_sign():
    script = Script().start().user("Go.")
    script.run("execute_bash", "+ one\n- two", command="set -x")
    app = PanelApp(script.state())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.query(ActionCard) and app.query_one(ActionCard).content_size.width)
        assert selected(app.query_one(ActionCard), Offset(0, 1), None) == "+ one\n- two"
