"""The fields that every event of a session has."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import field

from workbench.protocol.codec import TaggedData


class EventBase(TaggedData):
    """The fields of every event: `seq` counts from 1 and is set by the store, `at` is in UTC, `turn` counts user
    messages.
    """

    seq: int = 0
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    turn: int = 0
