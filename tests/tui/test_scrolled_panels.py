"""A panel that does not follow shows in a line of hints how much was added since, and how to get there; one that
follows keeps its end and its scrollbar when its height changes.
"""

import pytest
from textual.geometry import Region

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import at_rest
from tests.tui.sample_session import Script
from workbench.tui.widgets.activity import Activity
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.dock_space import DockSpace
from workbench.tui.widgets.timeline import Timeline


def hint_of(panel):
    return (panel.heading.hint if isinstance(panel, Timeline) else panel.scroll_hint).plain


def many() -> Script:
    script = Script().start().user("Go.")
    for number in range(60):
        script.run("execute_bash", f"{number}", command=f"echo {number}")
    return script


def more(client, script, count):
    seen = len(script.events)
    for number in range(count):
        script.run("execute_bash", "more", command=f"echo more {number}")
    client.bring(*script.events[seen:])


async def test_items_below_a_scrolled_panel_are_counted_and_reached_by_click_or_key():
    script = many()
    client = FakeClient(script.events)
    app = workbench_app(client, set={"keys": {"scroll-end": "alt+e"}})
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: len(app.state.actions) == 60)
        conversation, timeline = app.screen.query_one(Conversation), app.screen.query_one(Timeline)
        await wait_until(pilot, lambda: conversation.max_scroll_y > 0 and conversation.is_vertical_scroll_end)
        await wait_until(pilot, lambda: timeline.is_vertical_scroll_end)
        assert (hint_of(conversation), hint_of(timeline)) == ("", "")

        await pilot.press("ctrl+up", "f2", "home")
        await wait_until(pilot, lambda: hint_of(conversation) == "↓ Alt+E Jump to latest")
        await wait_until(pilot, lambda: hint_of(timeline).endswith("more · End"))
        before = int(hint_of(timeline).split()[1])
        more(client, script, 3)
        await wait_until(pilot, lambda: hint_of(conversation) == "↓ 3 new · Alt+E")
        assert hint_of(timeline) == f"↓ {before + 3} more · End"

        activity = app.screen.query_one(Activity)
        await wait_until(pilot, lambda: activity.render().plain.endswith("↓ 3 new · Alt+E"))
        await pilot.click(Activity, offset=(activity.outer_size.width - 6, 0))
        await wait_until(pilot, lambda: hint_of(conversation) == "" and conversation.follows)
        await pilot.click(Timeline, offset=(timeline.outer_size.width - 6, 0))
        await wait_until(pilot, lambda: hint_of(timeline) == "" and timeline.is_vertical_scroll_end)

        await pilot.press("ctrl+up", "alt+e", "f2", "home", "end")
        await wait_until(pilot, lambda: (hint_of(conversation), hint_of(timeline)) == ("", ""))
        more(client, script, 2)
        await wait_until(pilot, lambda: len(app.state.actions) == 65 and conversation.is_vertical_scroll_end)
        assert (hint_of(conversation), hint_of(timeline)) == ("", "")


def painted_bar(panel):
    bar = panel.vertical_scrollbar
    return [strip.text for strip in bar.render_lines(Region(0, 0, *bar.size))]


@pytest.mark.parametrize("asks_for_map", [True, False], ids=["map asked for", "map as it was"])
async def test_panels_keep_their_end_and_bar_as_a_dock_takes_and_returns_rows(asks_for_map):
    app = workbench_app(FakeClient(many().events))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: len(app.state.actions) == 60)
        conversation, timeline = app.screen.query_one(Conversation), app.screen.query_one(Timeline)
        await wait_until(pilot, lambda: conversation.max_scroll_y > 0 and timeline.max_scroll_y > 0)
        space = DockSpace(app.screen)
        for rows in (20, 3, 30, 12, 25, 0):
            space.reserve(rows)
            if asks_for_map:  # as a widget's region does after a scroll: it must not hide the change from the layout
                app.screen._compositor._full_map_invalidated = True
                assert app.screen._compositor.full_map
            await at_rest(pilot)
            for panel in (conversation, timeline):
                assert panel.is_vertical_scroll_end, (panel, rows)
                painted = painted_bar(panel)
                panel.vertical_scrollbar.refresh()
                assert painted_bar(panel) == painted, (panel, rows)
