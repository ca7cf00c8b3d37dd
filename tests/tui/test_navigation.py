"""From a card to its row and back, from a task to its steps; the target is always scrolled into view."""

from __future__ import annotations

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script, long_session, working_session
from workbench.protocol import events as ev
from workbench.tui.widgets.card import ActionCard
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.side_panels import FilterLine, SidePanels
from workbench.tui.widgets.timeline import Timeline
from workbench.tui.widgets.welcome import Welcome
from workbench.view.formatting.actions import title_of

SESSION = working_session().events[:34]


def row_at(timeline: Timeline) -> str:
    return timeline.render_line(timeline.cursor - timeline.scroll_offset.y).text


def is_in_sight(widget, conversation: Conversation) -> bool:
    top = widget.region.y
    return conversation.region.y <= top < conversation.region.bottom


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_card_leads_to_its_row_and_back(size):
    app = workbench_app(FakeClient(list(long_session(300))))
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: app.screen.query(ActionCard))
        card = next(each for each in app.screen.query(ActionCard) if each.item.action_id == "a297")
        card.focus()
        await pilot.press("g")
        timeline = app.screen.query_one(Timeline)
        await wait_until(pilot, lambda: timeline.has_focus and "echo 296" in row_at(timeline))
        await pilot.press("home", *["down"] * 4, "g")
        await wait_until(pilot, lambda: isinstance(app.focused, ActionCard) and app.focused.item.action_id == "a4")
        conversation = app.screen.query_one(Conversation)
        await wait_until(pilot, lambda: is_in_sight(app.focused, conversation))
        assert not conversation.follows
        assert len(app.screen.query("*")) < 400
        await pilot.press("ctrl+end")
        await wait_until(pilot, lambda: any(each.item.action_id == "a300" for each in app.screen.query(ActionCard)))
        await wait_until(pilot, lambda: conversation.follows)


async def test_filter_that_hides_the_row_is_cleared():
    app = workbench_app(FakeClient(SESSION))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.screen.query(ActionCard))
        await pilot.press("f2", "slash", *"failed", "enter")
        timeline = app.screen.query_one(Timeline)
        await wait_until(pilot, lambda: timeline.virtual_size.height == 1)
        card = app.screen.query(ActionCard).first()
        card.focus()
        title = title_of(card.item).text[:20]
        await pilot.press("g")
        await wait_until(pilot, lambda: timeline.has_focus and title in row_at(timeline))
        assert not app.screen.query_one(FilterLine).display


async def test_task_leads_to_its_steps_on_narrow_screens_and_from_a_zoomed_panel():
    app = workbench_app(FakeClient(SESSION))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: app.state.tasks)
        await pilot.press("f3", "f6", "down", "enter")
        timeline = app.screen.query_one(Timeline)
        await wait_until(pilot, lambda: timeline.has_focus)
        await wait_until(pilot, lambda: timeline.display and "calc.py" in row_at(timeline))
        assert app.screen.query_one(SidePanels).opened == "timeline"


async def test_first_message_replaces_the_welcome_text_before_the_engine_has_it():
    client = FakeClient(Script().start().events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await pilot.press(*"Mend", "enter")
        welcome = app.screen.query_one(Welcome)
        await wait_until(pilot, lambda: "sending" in welcome.render().plain)
        assert "What should we work on?" not in welcome.render().plain
        assert "Mend" in welcome.render().plain
        client.bring(ev.UserMessage(seq=2, text="Mend"))
        await wait_until(pilot, lambda: not welcome.display)
        assert app.screen.query_one(Conversation).display
