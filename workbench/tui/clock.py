"""The time of day for running actions; tests stand still by replacing `now`."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """This moment, UTC."""
    return datetime.now(UTC)
