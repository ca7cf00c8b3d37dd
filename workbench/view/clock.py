"""The current time for running actions; it can be fixed for tests, and at the events of a replayed session."""

from __future__ import annotations

from datetime import UTC, datetime

_standing: list[datetime] = []


def now() -> datetime:
    """Return the current time, UTC."""
    return _standing[-1] if _standing else datetime.now(UTC)


def stand_at(moment: datetime) -> None:
    """Fix the current time at this moment, in a process that only replays the past."""
    _standing[:] = [moment]
