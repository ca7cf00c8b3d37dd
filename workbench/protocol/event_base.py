"""The envelope of the events of a session."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import field

from workbench.protocol.codec import TaggedData


class EventBase(TaggedData):
    """The envelope: `seq` counts from 1 and is set by the store, `at` is UTC, `turn` counts the user's messages."""

    seq: int = 0
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    turn: int = 0
