"""What a front end receives that attaches while something streams."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from workbench.engine.front_ends import FrontEnd, FrontEnds, UnfinishedStreams
from workbench.protocol.codec import Data
from workbench.protocol.events import ModelResponded, RunEnded
from workbench.protocol.live import ControlState, ReasoningDelta, TextDelta


class Screen(FrontEnd):
    """A front end that keeps what it is sent."""

    def __init__(self, last_seq: int, *, is_viewer: bool = False) -> None:
        super().__init__(cast(Any, None), last_seq, is_viewer=is_viewer)
        self.received: list[Data] = []

    def send(self, message: Data) -> None:
        self.received.append(message)


def sent(streams: UnfinishedStreams, last_seq: int) -> list[Data]:
    screen = Screen(last_seq)
    streams.send_to(screen)
    return screen.received


def test_late_screen_gets_the_text_of_an_answer_that_is_not_complete():
    streams, now = UnfinishedStreams(), datetime.now(UTC)
    streams.add(RunEnded(seq=4, at=now, turn=1, reason="finished"))
    for message in (ReasoningDelta(text="hm"), TextDelta(text="Hel"), TextDelta(text="lo")):
        streams.add(message)
    assert sent(streams, 4) == [ReasoningDelta(text="hm"), TextDelta(text="Hello")]
    streams.add(ModelResponded(seq=5, at=now, turn=1, response_id="r", model="m", text="Hello"))
    assert sent(streams, 5) == []


def test_late_screen_that_has_a_later_event_gets_nothing_that_the_event_may_have_ended():
    streams = UnfinishedStreams()
    streams.add(RunEnded(seq=4, at=datetime.now(UTC), turn=1, reason="finished"))
    streams.add(TextDelta(text="Hello"))
    assert sent(streams, 5) == []


def test_viewer_is_never_in_control():
    viewer, owner, other = Screen(0, is_viewer=True), Screen(0), Screen(0)
    screens = FrontEnds()
    screens.add(viewer)
    assert not screens.has_control(viewer)
    assert viewer.received == [ControlState(has_control=False, is_viewer=True)]
    screens.add(owner)
    screens.add(other)
    assert screens.has_control(owner)
    screens.grant_control(other)
    screens.remove(other)
    assert screens.has_control(owner)
    screens.remove(owner)
    assert not screens.has_control(viewer)
    controls = [each for each in viewer.received if isinstance(each, ControlState)]
    assert all(control.is_viewer and not control.has_control for control in controls)


def test_viewers_and_those_that_are_leaving_do_not_count():
    viewer, owner = Screen(0, is_viewer=True), Screen(0)
    screens = FrontEnds()
    screens.add(viewer)
    assert len(screens) == 0
    screens.add(owner)
    assert len(screens) == 1
    owner.is_leaving = True
    assert len(screens) == 0
