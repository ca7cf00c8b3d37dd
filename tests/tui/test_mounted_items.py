"""A conversation that follows its end mounts a few screens only; earlier parts are mounted when scrolled to."""

from __future__ import annotations

import re

import pytest
from textual.selection import SELECT_ALL

from tests.tui.panel_app import PanelApp, screen_lines
from tests.tui.sample_session import Script, working_session
from tests.tui.waiting import until
from workbench.protocol import events as ev
from workbench.protocol.live import TextDelta
from workbench.tui.widgets.card import ActionCard
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.conversation_messages import AgentText, NoticeText
from workbench.tui.widgets.copyable import Copying
from workbench.view.conversation_window import Window, least_rows, mounted_rows

_ANSWER = "Answer {0}: **one**\n\n- a\n- b\n\n```python\nx = {0}\n```\n"
_OUTPUT = "a\nb\nc\nd\ne"


def step(script: Script, number: int) -> list[ev.Event]:
    """Add one more answer and one more command."""
    first = len(script.events)
    script.answer(_ANSWER.format(number))
    script.run("execute_bash", _OUTPUT, command=f"echo {number}", _exit_code=0)
    return script.events[first:]


async def after_steps(app: PanelApp, pilot, count: int) -> Script:
    """Show this number of steps, each of them laid out."""
    script = Script().start().user("Do.")
    app.take(*script.events)
    for number in range(count):
        app.take(*step(script, number))
        await pilot.pause()
    await until(pilot, lambda: any(f"echo {count - 1} " in line for line in screen_lines(app)))
    return script


async def test_followed_conversation_mounts_a_few_screens_and_pages_to_the_rest():
    app = PanelApp()
    async with app.run_test(size=(120, 40)) as pilot:
        await after_steps(app, pilot, 40)
        panel = app.query_one(Conversation)
        await until(pilot, lambda: not panel.is_behind)
        rows = sum(each.size.height for each in panel.children)
        assert panel.size.height < rows <= mounted_rows(panel.size.height) + panel.size.height

        seen: set[int] = set()
        for _ in range(60):
            await pilot.press("pageup")
            await pilot.pause(0.05)
            seen |= {int(each) for line in screen_lines(app) for each in re.findall(r"Answer (\d+):", line)}
            if 0 in seen:
                break
        assert seen >= set(range(36))
        await pilot.press("end")
        await until(pilot, lambda: any("echo 39 " in line for line in screen_lines(app)))


@pytest.mark.parametrize("by", ["focus", "selection"])
async def test_focused_or_selected_items_stay_mounted_far_above_the_end(by: str):
    app = PanelApp()
    async with app.run_test(size=(120, 40)) as pilot:
        script = await after_steps(app, pilot, 4)
        panel, card = app.query_one(Conversation), app.query(ActionCard).last()
        if by == "focus":
            card.focus(scroll_visible=False)
        else:
            app.screen.selections = {card: SELECT_ALL}
        for number in range(4, 18):
            app.take(*step(script, number))
            await pilot.pause()
        assert panel.follows
        assert card.is_attached
        assert card.virtual_region.y < panel.scroll_y - mounted_rows(panel.size.height)


@pytest.mark.parametrize("smaller", ["folded", "taller"])
async def test_panel_is_filled_again_after_mounted_items_shrink(smaller: str):
    app = PanelApp()
    async with app.run_test(size=(120, 30)) as pilot:
        script = Script().start()
        for number in range(60):
            first = len(script.events)
            script.run("execute_bash", _OUTPUT, command=f"echo {number}", _exit_code=0)
            app.take(*script.events[first:])
            await pilot.pause()
        await until(pilot, lambda: any("echo 59 " in line for line in screen_lines(app)))
        panel = app.query_one(Conversation)
        assert len(panel.children) < 24
        if smaller == "folded":
            panel.action_fold_all()
        else:
            await pilot.resize_terminal(120, 110)
        await until(pilot, lambda: panel.max_scroll_y > 0, "there is more than fits")
        await until(pilot, lambda: any("echo 59 " in line for line in screen_lines(app)))
        assert panel.follows


def test_window_is_filled_only_as_far_as_there_is_space():
    window = Window(lambda index: 100)
    window.reset(10)
    assert (window.first, window.last) == (7, 10)
    assert window.fill().mount == range(0)
    assert (window.first, window.last) == (7, 10)


def test_following_window_has_the_rows_of_a_few_screens():
    window = Window(lambda index: 1, rows=lambda index: 5)
    window.height = 50
    assert window.reset(100) == range(87, 100)
    step = window.append(103, follows=True)
    assert (len(step.mount), len(step.unmount)) == (3, 3)
    assert len(window.older().mount) == 12
    assert window.append(104, follows=False).mount == range(103, 104)


_TEXTS = (
    "",
    "one",
    "a\nb\nc\n\nd",
    "# Title\n\ntext\n\n> quoted\n> more",
    "- a\n- b\n  - c\n\n1. x\n2. y",
    "```\nx = 1\n\ny\n```",
    "| a | b |\n|---|---|\n| 1 | 2 |",
)


async def test_estimated_rows_never_exceed_the_real_ones():
    script = working_session().user("a\nb")
    for text in _TEXTS[1:]:
        script.answer(text)
    script.run("finish", "ok", message=_TEXTS[4])
    script.add(ev.RunEnded, reason="finished", detail="x")
    app = PanelApp(script.state())
    async with app.run_test(size=(200, 200)) as pilot:
        await until(pilot, lambda: len(app.query(AgentText)) >= len(_TEXTS))
        panel = app.query_one(Conversation)
        await until(pilot, lambda: not panel.is_behind and all(each.size.height for each in panel.children))
        for view in panel.children:
            assert isinstance(view, Copying | NoticeText)
            assert least_rows(view.item) <= view.outer_size.height + view.styles.margin.height, view.item


async def test_stored_answer_among_many_events_replaces_its_streaming_widget():
    app = PanelApp()
    async with app.run_test(size=(120, 40)) as pilot:
        script = Script().start().user("Do.")
        app.take(*script.events)
        panel = app.query_one(Conversation)
        for burst in range(3):
            app.take(TextDelta(text=_ANSWER.format(burst)))
            await until(pilot, lambda: any(each.item.streaming for each in app.query(AgentText)))
            numbers = [burst, *range(20 * burst + 1, 20 * burst + 20)]  # the first is the one that streamed
            app.take(*(event for number in numbers for event in step(script, number)))
            await until(pilot, lambda: not panel.is_behind)
        assert len(panel.children) == len(panel.mounted.views) == panel.mounted.window.last - panel.mounted.window.first


async def test_answer_streamed_below_the_view_is_shown_on_scrolling_down():
    app = PanelApp()
    async with app.run_test(size=(120, 40)) as pilot:
        script = await after_steps(app, pilot, 20)
        panel = app.query_one(Conversation)
        app.take(TextDelta(text=_ANSWER.format(20)))
        await until(pilot, lambda: any(each.item.streaming for each in app.query(AgentText)))
        for _ in range(6):
            await pilot.press("pageup")
            await pilot.pause(0.05)
        app.take(*(event for number in range(20, 60) for event in step(script, number)))
        await until(pilot, lambda: not panel.is_behind)
        assert not panel.follows
        await pilot.press("end")
        await until(pilot, lambda: any("echo 59 " in line for line in screen_lines(app)))
        await until(pilot, lambda: not panel.is_behind)
        assert len(panel.children) == panel.mounted.window.last - panel.mounted.window.first
