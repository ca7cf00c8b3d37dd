"""Sessions in a directory of a test's own, for the Sessions screen."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tests.tui.sample_session import START
from workbench.config.locations import Locations
from workbench.protocol import events as ev
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store


def keep(name: str, title: str, *more: Any, at: datetime = START, **fields: Any) -> Path:
    """Store a session whose first message is the title, followed by more messages."""
    path = session_path(Locations.from_environment(), name)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    values = {"id": name, "workspace": "/home/ada/code/calc", "model": "m", "mode": "ask", **fields}
    events = [ev.SessionStarted(**values), ev.UserMessage(text=title), *more]
    moved = [replace(event, at=at + timedelta(seconds=second)) for second, event in enumerate(events)]
    with Store.create(path) as store:
        store.append(*moved)
    touched(path, at)
    return path


def touched(path: Path, at: datetime) -> None:
    """Set the time of its last change."""
    os.utime(path, (at.timestamp(), at.timestamp()))


def answer(text: str, cost: float | None = 0.01) -> ev.ModelResponded:
    return ev.ModelResponded(response_id=text[:8], model="m", text=text, cost=cost)


def ended(reason: ev.RunEnd = "finished") -> ev.RunEnded:
    return ev.RunEnded(reason=reason)
