"""What a front end receives that attaches while something streams."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from workbench.engine.front_ends import FrontEnd, UnfinishedStreams
from workbench.protocol.codec import Data
from workbench.protocol.events import ModelResponded, RunEnded
from workbench.protocol.live import ReasoningDelta, TextDelta


class Screen(FrontEnd):
    """A front end that keeps what it is sent."""

    def __init__(self, last_seq: int) -> None:
        super().__init__(cast(Any, None), last_seq)
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
