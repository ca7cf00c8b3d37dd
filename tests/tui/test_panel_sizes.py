"""Keys that move the borders between the panels, and those that move the conversation from the prompt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script, long_session, working_session
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.side_panels import SidePanels, rows_of
from workbench.tui.widgets.task_panel import TaskPanel


async def test_panels_grow_and_shrink_within_limits():
    app = workbench_app(FakeClient(working_session().events[:34]))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        side = app.screen.query_one(SidePanels)
        before = side.outer_size.width
        await pilot.press("alt+left")
        await wait_until(pilot, lambda: side.outer_size.width == before + 4)
        await pilot.press(*["alt+left"] * 13)
        await wait_until(pilot, lambda: side.outer_size.width == 90)
        await pilot.press(*["alt+right"] * 16)
        await wait_until(pilot, lambda: side.outer_size.width == 30)
        await pilot.resize_terminal(80, 24)
        await wait_until(pilot, lambda: side.outer_size.width == 80)
        assert app.screen.query_one(Prompt).has_focus


async def test_panel_gets_rows_from_the_timeline():
    app = workbench_app(FakeClient(working_session().events[:34]))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.tasks)
        tasks, timeline = app.screen.query_one("#tasks"), app.screen.query_one("#timeline")
        await pilot.press("f3")
        await wait_until(pilot, lambda: tasks.has_focus)
        before = tasks.outer_size.height
        await pilot.press("alt+up", "alt+up")
        await wait_until(pilot, lambda: tasks.outer_size.height == before + 4)
        await pilot.press("f2", "alt+up")
        await wait_until(pilot, lambda: tasks.outer_size.height == before + 2)
        assert timeline.outer_size.height > tasks.outer_size.height


async def test_unfolded_panel_of_a_narrow_screen_gets_higher():
    app = workbench_app(FakeClient(working_session().events[:34]))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        timeline = app.screen.query_one("#timeline")
        await pilot.press("alt+up", "f2")
        await wait_until(pilot, lambda: timeline.outer_size.height == 8)
        await pilot.press("alt+down")
        await wait_until(pilot, lambda: timeline.outer_size.height == 6)
        assert timeline.has_focus


async def drag(pilot, start: tuple[int, int], *places: tuple[int, int]) -> None:
    await pilot.mouse_down(offset=start)
    for place in places:
        await pilot.hover(offset=place)
    await pilot.mouse_up(offset=places[-1])


async def test_borders_follow_the_mouse():
    app = workbench_app(FakeClient(working_session().events[:34]))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.tasks)
        side, tasks = app.screen.query_one(SidePanels), app.screen.query_one("#tasks")
        await wait_until(pilot, lambda: tasks.outer_size.height > 3)
        await drag(pilot, (side.region.x, 8), (58, 8), (50, 8))
        await wait_until(pilot, lambda: side.region.x == 50)
        await drag(pilot, (side.region.x, 8), (75, 8))
        await wait_until(pilot, lambda: side.region.x == 75)
        top = tasks.region.y
        await drag(pilot, (90, top), (90, top - 2), (90, top - 5))
        await wait_until(pilot, lambda: tasks.region.y == top - 5)
        await pilot.hover(offset=(90, 3))
        await pilot.hover(offset=(20, 3))
        assert await wait_until(pilot, lambda: (side.region.x, tasks.region.y) == (75, top - 5))
        assert len(app.screen_stack) == 1


async def test_border_of_an_unfolded_panel_follows_the_mouse():
    app = workbench_app(FakeClient(working_session().events[:34]))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        await pilot.press("f2")
        timeline = app.screen.query_one("#timeline")
        await wait_until(pilot, lambda: timeline.outer_size.height == 8)
        tabs = timeline.region.y - 1
        await drag(pilot, (76, tabs), (76, tabs + 3))
        await wait_until(pilot, lambda: timeline.outer_size.height == 5)
        assert len(app.screen_stack) == 1


async def test_conversation_pages_and_ends_are_reached_from_the_prompt():
    app = workbench_app(FakeClient(list(long_session(60))))
    async with app.run_test(size=(120, 30)) as pilot:
        conversation = app.screen.query_one(Conversation)
        await wait_until(pilot, lambda: conversation.max_scroll_y > 0 and conversation.is_vertical_scroll_end)
        await pilot.press("pageup")
        await wait_until(pilot, lambda: not conversation.is_vertical_scroll_end)
        assert not conversation.follows
        await pilot.press("ctrl+end")
        await wait_until(pilot, lambda: conversation.is_vertical_scroll_end and conversation.follows)
        await pilot.press("ctrl+home")
        await wait_until(pilot, lambda: not conversation.follows)
        assert app.screen.query_one(Prompt).has_focus


@pytest.mark.parametrize(
    ("space", "timeline", "tasks", "changes", "rows"),
    [
        (32, 50, 20, 20, (7, 7)),
        (32, 50, 3, 20, (7, 7)),
        (32, 6, 12, 1, (12, 15)),
        (32, 6, 30, 30, (14, 7)),
        (32, 20, 2, 2, (7, 10)),
        (8, 50, 9, 9, (1, 1)),
        (0, 0, 0, 0, (1, 1)),
    ],
)
def test_plan_and_changes_take_a_quarter_each_and_the_empty_rows_of_the_timeline(
    space: int, timeline: int, tasks: int, changes: int, rows: tuple[int, int]
):
    assert rows_of(space, timeline, tasks, changes) == rows


@given(*[st.integers(0, 80)] * 4)
def test_no_panel_scrolls_while_the_timeline_has_empty_rows(space: int, timeline: int, tasks: int, changes: int):
    limits = rows_of(space, timeline, tasks, changes)
    heights = [min(count, limit) for count, limit in zip((tasks, changes), limits, strict=True)]
    is_empty = space - 5 - sum(heights) > timeline
    assert not is_empty or heights == [tasks, changes]


async def test_long_plan_is_whole_beside_a_short_timeline():
    tasks = [{"id": str(number), "title": f"Task {number}", "status": "todo"} for number in range(12)]
    script = Script().start().user("Plan it.")
    script.run("task_tracker", "", command="plan", task_list=tasks)
    app = workbench_app(FakeClient(script.events))
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.tasks)
        panel = app.screen.query_one(TaskPanel)
        await wait_until(pilot, lambda: panel.size.height == 12)
        await pilot.resize_terminal(120, 20)
        await wait_until(pilot, lambda: panel.size.height < 9)
        assert panel.count == 12
