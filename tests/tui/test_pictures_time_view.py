"""Golden pictures of the time view: an earlier event, a question that waits meanwhile, the diff viewer, and damage."""

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import finished
from tests.tui.pictures import app_with, at_rest, in_each_look, show_events, text_on
from tests.tui.sample_session import working_session
from tests.tui.test_time_view import seq_of, stored
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.tui.screens.time_view import TimeScreen


@pytest.fixture
def look_back(directory, picture):
    """Return a function that takes a picture of the session `events` at one of them, after some more keys."""

    def take(look, events, seq, *keys, words, meanwhile=()):
        stored([event for event in events if getattr(event, "seq", 0)])
        client, app = app_with(events, directory, look.theme)

        async def show(pilot):
            await show_events(pilot, client, events)
            await pilot.press("f9")
            await wait_until(pilot, lambda: isinstance(app.screen, TimeScreen))
            screen = app.screen
            assert isinstance(screen, TimeScreen)
            screen.scrubber.go_to(seq)
            await wait_until(pilot, lambda: screen.state.last_seq == seq)
            client.bring(*meanwhile)
            await pilot.press(*keys)
            await wait_until(pilot, lambda: words in text_on(app))
            await at_rest(pilot)

        return picture(app, look, show)

    return take


@in_each_look
def test_earlier_event(look, look_back):
    events = finished()
    assert look_back(look, events, seq_of(events, ev.ActionStarted, 3), words="Action started")


@in_each_look
def test_question_meanwhile(look, look_back):
    events = [event for event in working_session().events if event.seq < 30]
    question = working_session().events[29:]
    meanwhile = (*question, live.EngineState(state="deciding"))
    assert look_back(look, events, 12, words="needs approval", meanwhile=meanwhile)


@in_each_look
def test_changes_of_then(look, look_back):
    events = finished()
    observed = [each.seq for each in events if isinstance(each, ev.ActionObserved) and each.files_changed]
    assert look_back(look, events, observed[0], "f5", words="PAST")


@in_each_look
def test_no_content_yet(look, look_back):
    assert look_back(look, finished(), 1, words="No messages yet")
