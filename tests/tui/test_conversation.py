"""The conversation: messages and actions, streaming, bounds, and safety for any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widget import Widget
from textual.widgets import Markdown

from tests.tui.panel_app import PanelApp, screen_lines
from tests.tui.sample_session import AFTER, BEFORE, STEADY, WORKSPACE, Script, long_session, working_session
from tests.tui.waiting import until
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.text import visible
from workbench.tui import keystrokes
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.card import ActionCard
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.conversation_messages import AgentText, FinalText, MoreText, UserText
from workbench.tui.widgets.markdown_stream import plain_parser
from workbench.view.conversation_window import MAX_ITEMS, MAX_NODES, Window, head_of, markdown_nodes
from workbench.view.formatting.cards import OUTPUT_LINES, card
from workbench.view.state import ActionItem
from workbench.view.wrapping import MarkdownCut, line_width


def lines_of(item: ActionItem, width: int = 70) -> list[str]:
    return ["".join(piece.text for piece in line).rstrip() for line in card(item, width, WORKSPACE)]


def test_failed_command_looks_failed_and_shows_its_last_lines():
    item = working_session().state().actions["a4"]

    lines = lines_of(item)

    assert lines[0].startswith("✗ $ pytest -q")
    assert lines[0].endswith("exit 1  0.8s")
    assert len(lines) == 1 + OUTPUT_LINES
    assert "FAILED tests/test_calc.py" in lines[-2]
    assert lines[-1].endswith("35 ⏎")


def test_edit_shows_what_it_changed():
    script = Script().start()
    delta = ev.FileDelta(path=f"{WORKSPACE}/src/calc.py", before=BEFORE, after=AFTER)
    script.run("str_replace_editor", command="str_replace", path=delta.path, _files=(delta,))

    lines = lines_of(script.state().actions["a1"])

    assert lines[0].startswith("✓ Edit src/calc.py")
    assert lines[0].endswith("+2 −1")
    assert [line[4] for line in lines[1:]] == ["−", "+", "+"]


def test_large_edit_shows_how_many_changed_lines_are_left():
    script = Script().start()
    delta = ev.FileDelta(path="/x", before=None, after="line\n" * 5_000)
    script.run("str_replace_editor", command="create", path="/x", _files=(delta,))

    lines = lines_of(script.state().actions["a1"])

    assert len(lines) < 12
    assert lines[-1].endswith(f" {5_000 - (len(lines) - 2)} ⏎")


def test_waiting_and_rejected_actions_are_labeled():
    script = Script().start()
    first = script.ask("execute_bash", command="rm x")
    second = script.ask("execute_bash", command="rm y")
    script.add(ev.ActionDecided, action_id=second, verdict="rejected", by="person", note="keep it")
    state = script.state()

    assert lines_of(state.actions[first])[0].endswith("needs approval")
    assert lines_of(state.actions[second])[0].endswith("rejected")
    assert lines_of(state.actions[second])[1].endswith("keep it")


@STEADY
@given(st.text(), st.integers(20, 120), st.sampled_from(["execute_bash", "str_replace_editor", "think", "finish", "x"]))
def test_card_has_the_same_number_of_fitting_lines_at_every_width(text, width, tool):
    delta = ev.FileDelta(path=text, before=text, after=text + "\nx")
    arguments = {"command": text, "path": text, "thought": text}
    for phase in ("failed", "running", "done", "rejected", "waiting"):
        item = ActionItem(1, 1, "a", tool, arguments, phase=phase, output=text * 9, files=(delta,), note=text)  # type: ignore[arg-type]
        lines = card(item, width)
        assert all(line_width(line) <= width for line in lines)
        assert len(lines) == len(card(item, 200))
        assert not any("\n" in piece.text or "\x1b" in piece.text for line in lines for piece in line)


@STEADY
@given(st.lists(st.text(alphabet="ab`~ \n", max_size=12), max_size=12))
def test_streamed_markdown_loses_nothing_when_split(parts):
    cut, settled = MarkdownCut(), ""
    for part in parts:
        cut.feed(part)
        settled += cut.pop_finished()

    assert settled + cut.tail == "".join(parts)


def test_markdown_is_split_at_blank_lines_but_never_inside_a_fence():
    cut = MarkdownCut()

    cut.feed("one\n\ntwo\n```python\na\n\nb\n")
    assert cut.pop_finished() == "one\n\n"
    cut.feed("```\n\nthree")
    assert cut.pop_finished() == "two\n```python\na\n\nb\n```\n\n"
    assert cut.tail == "three"


@pytest.mark.parametrize("text", ["[a](http://x)", "![a](http://x)", "<b>hi</b>", "<!-- hidden -->", "[a]: http://x"])
def test_links_images_and_html_are_shown_as_written(text):
    tokens = plain_parser().parse(text)

    assert "".join(token.content for token in tokens if token.type == "inline") == text
    kinds = {child.type for token in tokens for child in token.children or ()}
    assert kinds == {"text"}


def test_window_contains_the_newest_items_within_its_budget():
    window = Window(lambda index: 8)

    assert window.reset(1_000) == range(960, 1_000)
    step = window.append(1_003, follows=True)
    assert (step.mount, step.unmount) == (range(1_000, 1_003), range(960, 963))


def test_window_moves_to_older_items_and_back():
    window = Window(lambda index: 1)
    window.reset(200)

    older = window.older()
    assert (older.mount, older.unmount) == (range(148, 160), range(188, 200))
    newer = window.newer(200)
    assert (newer.mount, newer.unmount) == (range(188, 200), range(148, 160))


@STEADY
@given(st.lists(st.tuples(st.sampled_from(["append", "stay", "older", "newer"]), st.integers(1, 30)), max_size=30))
def test_window_is_always_one_run_within_its_budget(moves):
    total, window = 50, Window(lambda index: 1 + index % 9)
    mounted = set(window.reset(total))
    for move, count in moves:
        if move in ("append", "stay"):
            total += count
            step = window.append(total, follows=move == "append")
        else:
            step = window.older() if move == "older" else window.newer(total)
        mounted = (mounted - set(step.unmount)) | set(step.mount)
        assert mounted == set(range(window.first, window.last))
        assert len(mounted) <= MAX_ITEMS
        assert sum(1 + index % 9 for index in mounted) <= MAX_NODES


@STEADY
@given(st.text(alphabet="a-|\n `"), st.integers(1, 20))
def test_head_of_a_text_stays_within_its_budget(text, nodes):
    head = head_of(text, nodes)

    assert text.startswith(head)
    assert markdown_nodes(head) <= nodes


async def test_all_messages_and_actions_are_shown():
    app = PanelApp(working_session().state())
    async with app.run_test(size=(120, 60)) as pilot:
        await until(pilot, lambda: len(app.query(ActionCard)) == 6)

        assert len(app.query(UserText)) == 1
        assert len(app.query(AgentText)) == 2
        assert [card.item.action_id for card in app.query(ActionCard) if card.has_class("-failed")] == ["a4"]


async def test_streaming_answer_becomes_the_stored_one_in_place():
    app = PanelApp(Script().start().user("hi").state())
    async with app.run_test(size=(120, 40)) as pilot:
        app.take(live.TextDelta(text="First **part**.\n\nSecond"))
        await until(pilot, lambda: app.query("MarkdownParagraph"))
        streaming = app.query_one(AgentText)
        whole = "First **part**.\n\nSecond part.\n\n- one\n- two\n"

        app.take(ev.ModelResponded(seq=9, response_id="r", model="m", text=whole))
        await until(pilot, lambda: app.query("MarkdownBulletList"))

        assert app.query_one(AgentText) is streaming
        assert app.query_one(Markdown).source == whole
        await until(pilot, lambda: not app.query(".tail"))


async def test_stored_answer_replaces_a_different_streamed_text():
    app = PanelApp(Script().start().user("hi").state())
    async with app.run_test(size=(120, 40)) as pilot:
        app.take(live.TextDelta(text="Wrong.\n\nMore"))
        await until(pilot, lambda: app.query("MarkdownParagraph"))

        app.take(ev.ModelResponded(seq=9, response_id="r", model="m", text="Right."))
        await until(pilot, lambda: [part.source for part in app.query(Markdown)] == ["Right."])

        assert len(app.query(AgentText)) == 1


@pytest.mark.parametrize("end", [" ", "\n\n"])
async def test_streamed_frame_is_laid_out_once(end: str):
    app = PanelApp(Script().start().user("hi").state())
    async with app.run_test(size=(120, 40)) as pilot:
        app.take(live.TextDelta(text="begun\n\n"))
        await until(pilot, lambda: app.query("MarkdownParagraph"))
        layouts: list[object] = []
        app.screen.screen_layout_refresh_signal.subscribe(app.screen, layouts.append)
        for number in range(8):
            app.take(live.TextDelta(text="many words of one piece " * 40 + f"end-{number}{end}"))
            await until(pilot, lambda: any(f"end-{number}" in line for line in screen_lines(app)))  # noqa: B023

        assert 8 <= len(layouts) <= 8 + 3  # earlier updates may still have been pending


async def test_streaming_waits_for_frames_of_keys_but_not_forever(monkeypatch):
    app = PanelApp(Script().start().user("hi").state())
    async with app.run_test(size=(120, 40)) as pilot:
        app.take(live.TextDelta(text="begun "))
        await until(pilot, lambda: any("begun" in line for line in screen_lines(app)))

        monkeypatch.setattr(keystrokes, "seconds_ago", lambda: 0.0)  # the user continues typing
        app.take(live.TextDelta(text="and gone on"))
        await until(pilot, lambda: any("gone on" in line for line in screen_lines(app)))
        assert "begun and gone on" in app.query_one(AgentText).item.text


async def test_many_deltas_arrive_completely():
    app = PanelApp(Script().start().user("hi").state())
    words = [f"word{number}{chr(10) * 2 if number % 7 == 0 else ' '}" for number in range(400)]
    async with app.run_test(size=(120, 40)) as pilot:
        for at in range(0, 400, 8):
            app.take(*(live.TextDelta(text=word) for word in words[at : at + 8]))
            await pilot.pause()
        app.take(ev.ModelResponded(seq=9, response_id="r", model="m", text="".join(words)))
        await until(pilot, lambda: app.query_one(Markdown).source == "".join(words))

        assert len(app.query("MarkdownParagraph")) == "".join(words).strip().count("\n\n") + 1


async def test_live_output_is_shown_while_a_command_runs():
    script = Script().start()
    action_id = script.begin("execute_bash", command="make")
    app = PanelApp(script.state())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.query(ActionCard))

        app.take(live.ToolOutput(action_id=action_id, text="compiling one\ncompiling two\n"))

        card = app.query_one(ActionCard)
        await until(pilot, lambda: card.size.height == 3)
        assert "compiling two" in card.render().plain


async def test_enter_and_click_open_an_action():
    app = PanelApp(working_session().state())
    async with app.run_test(size=(120, 60)) as pilot:
        await until(pilot, lambda: len(app.query(ActionCard)) == 6)
        app.query_one(Conversation).focus()
        await pilot.press("k", "enter", "k", "enter")
        await pilot.click(app.query(ActionCard).last())
        await until(pilot, lambda: len(app.chosen) == 3)

        assert app.chosen == ["a8", "a7", "a8"]


async def test_reasoning_is_folded_and_opens_in_the_pager():
    app = PanelApp(Script().start().answer("Hello", reasoning="secret\nthoughts").state())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.query(MoreText))
        folded = app.query(MoreText).first()
        assert "2 lines" in str(folded.content)

        folded.focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PagerScreen))

        await until(pilot, lambda: any("secret" in line for line in screen_lines(app)))
        assert any("thoughts" in line for line in screen_lines(app))


async def test_final_message_of_a_run_is_markdown():
    script = Script().start().user("hi")
    script.run("finish", "ok", message="All **done**.")
    script.add(ev.RunEnded, reason="finished", detail="All **done**.")
    app = PanelApp(script.state())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.query("FinalText MarkdownParagraph"))
        await until(pilot, lambda: any("All done." in line for line in screen_lines(app)))

        assert len(app.query(FinalText)) == 1


async def test_queued_message_is_shown_once_it_is_read_or_removed():
    script = Script().start().user("first").answer("on it")
    action = script.begin("execute_bash", command="make")
    app = PanelApp(script.state())
    async with app.run_test(size=(120, 40)) as pilot:
        app.take(script.add(ev.UserMessage, text="and this"))
        app.take(script.add(ev.UserMessage, text="not that"))
        script.end(action, "made")
        app.take(script.events[-1])
        await until(pilot, lambda: any("made" in line for line in screen_lines(app)))
        assert not any("this" in line or "that" in line for line in screen_lines(app))

        app.take(script.add(ev.MessageWithdrawn, message=script.events[-2].seq))
        await until(pilot, lambda: any("removed before it was sent" in line for line in screen_lines(app)))
        app.take(script.answer("as you wish").events[-1])
        await until(pilot, lambda: any("as you wish" in line for line in screen_lines(app)))

        words = ("first", "on it", "made", "and this", "removed before", "as you wish")
        shown = "\n".join(line[:60] for line in screen_lines(app))
        places = [shown.index(word) for word in words]
        assert places == sorted(places)


async def test_long_session_mounts_a_window_and_loads_older_items_at_the_top():
    app = PanelApp()
    async with app.run_test(size=(120, 40)) as pilot:
        app.take(*long_session(500))
        conversation = app.query_one(Conversation)
        await until(pilot, lambda: conversation.max_scroll_y > 0)
        assert len(app.query("*")) < 400
        assert len(app.query(Markdown)) <= 40
        newest = max(card.item.number for card in app.query(ActionCard))
        oldest = min(card.item.number for card in app.query(ActionCard))
        assert newest == 500

        conversation.focus()
        await pilot.press("home")
        await until(pilot, lambda: min(card.item.number for card in app.query(ActionCard)) < oldest)
        assert not conversation.follows
        assert len(app.query("*")) < 400

        await pilot.press("end")
        await until(pilot, lambda: conversation.follows and conversation.is_vertical_scroll_end)
        await until(pilot, lambda: max((card.item.number for card in app.query(ActionCard)), default=0) == 500)
        assert len(app.query("*")) < 400


async def test_scrolling_up_stops_following_and_end_follows_again():
    app = PanelApp()
    script = working_session()
    async with app.run_test(size=(120, 24)) as pilot:
        app.take(*script.events)
        conversation = app.query_one(Conversation)
        await until(pilot, lambda: conversation.max_scroll_y > 5 and conversation.is_vertical_scroll_end)
        conversation.focus()

        await pilot.press("pageup")
        await until(pilot, lambda: not conversation.is_vertical_scroll_end)
        stood, count = conversation.scroll_offset.y, len(app.query(AgentText))
        app.take(script.answer("one\n\ntwo\n\nthree").events[-1])
        await until(pilot, lambda: len(app.query(AgentText)) == count + 1)
        await pilot.pause()
        assert conversation.scroll_offset.y == stood
        assert not conversation.follows

        await pilot.press("end")
        await until(pilot, lambda: conversation.is_vertical_scroll_end)
        app.take(script.answer("four\n\nfive\n\nsix").events[-1])
        await until(pilot, lambda: len(app.query(AgentText)) == count + 2 and conversation.is_vertical_scroll_end)
        assert conversation.follows


async def test_very_long_message_is_cut_and_opens_completely():
    text = "\n".join(f"- item {number}" for number in range(500))
    app = PanelApp(Script().start().answer(text).state())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.query("MarkdownBulletList"))
        more = app.query(MoreText).last()

        assert len(app.query("*")) < 400
        assert "450 lines more" in str(more.content)
        assert more.text == visible(text)


def kept_lines(app: PanelApp) -> int:
    """Return how many painted lines are cached for cells that are not on the screen."""
    seen = app.screen._compositor.visible_widgets
    out_of_sight = [each for each in app.query_one(Conversation).walk_children(Widget) if each not in seen]
    return sum(len(each._render_cache.lines) + len(each._styles_cache._cache) for each in out_of_sight)


async def test_items_out_of_sight_free_their_painted_lines_and_look_the_same_again():
    script = Script().start().user("hi")
    for number in range(12):
        script.answer(f"answer {number} with **bold** words\n\n" + "many words of one piece " * 30)
    app = PanelApp(script.state())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: any("answer 11" in line for line in screen_lines(app)))
        before = screen_lines(app)
        app.query_one(Conversation).scroll_to(y=0, animate=False, force=True)
        await until(pilot, lambda: screen_lines(app) != before and kept_lines(app))
        await until(pilot, lambda: not kept_lines(app))
        app.query_one(Conversation).scroll_end(animate=False, force=True)
        await until(pilot, lambda: screen_lines(app) == before)
        assert app.query_one(Conversation).follows


async def test_paragraph_has_inline_styles_in_another_theme_too():
    app = PanelApp(Script().start().user("hi").answer("plain words\n\nwith **bold** and `code` in them").state())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: len(app.query("MarkdownParagraph")) == 2)
        await until(pilot, lambda: any("bold and code" in line for line in screen_lines(app)))
        plain, rich = app.query("MarkdownParagraph")
        assert not plain._component_styles
        assert set(rich._component_styles) == {"strong", "code_inline"}
        before = rich.get_component_styles("code_inline").background
        app.theme = "ohw-light" if app.theme != "ohw-light" else "ohw-dark"
        await until(pilot, lambda: rich.get_component_styles("code_inline").background != before)
        assert rich.get_visual_style("strong").bold
