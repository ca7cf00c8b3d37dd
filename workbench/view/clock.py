"""The time of day for running actions; it stands still for tests, and at the events of a session that is replayed."""

from __future__ import annotations

from datetime import UTC, datetime

_standing: list[datetime] = []


def now() -> datetime:
    """Return the current time, UTC."""
    return _standing[-1] if _standing else datetime.now(UTC)


def stand_at(moment: datetime) -> None:
    """Fix the time at this moment, for a process that only shows the past."""
    _standing[:] = [moment]
