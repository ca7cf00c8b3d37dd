"""A panel that does not follow shows at its edge how much was added since, and how to get there."""

from textual.content import Content

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.timeline import Timeline


def at_edge(panel):
    return Content.from_markup(panel.border_subtitle or "").plain


def in_edge(panel):
    """Return a position inside the words at the lower edge, relative to the panel's corner."""
    return (panel.outer_size.width - 6, panel.outer_size.height - 1)


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
        await wait_until(pilot, lambda: conversation.max_scroll_y > 20 and conversation.is_vertical_scroll_end)
        await wait_until(pilot, lambda: timeline.is_vertical_scroll_end)
        assert (at_edge(conversation), at_edge(timeline)) == ("", "")

        await pilot.press("ctrl+up", "f2", "home")
        await wait_until(pilot, lambda: at_edge(conversation) == "↓ alt+e follows")
        await wait_until(pilot, lambda: at_edge(timeline).endswith("more · end"))
        before = int(at_edge(timeline).split()[1])
        more(client, script, 3)
        await wait_until(pilot, lambda: at_edge(conversation) == "↓ 3 new · alt+e")
        assert at_edge(timeline) == f"↓ {before + 3} more · end"

        await pilot.click(Conversation, offset=in_edge(conversation))
        await wait_until(pilot, lambda: at_edge(conversation) == "" and conversation.follows)
        await pilot.click(Timeline, offset=in_edge(timeline))
        await wait_until(pilot, lambda: at_edge(timeline) == "" and timeline.is_vertical_scroll_end)

        await pilot.press("ctrl+up", "alt+e", "f2", "home", "end")
        await wait_until(pilot, lambda: (at_edge(conversation), at_edge(timeline)) == ("", ""))
        more(client, script, 2)
        await wait_until(pilot, lambda: len(app.state.actions) == 65 and conversation.is_vertical_scroll_end)
        assert (at_edge(conversation), at_edge(timeline)) == ("", "")
