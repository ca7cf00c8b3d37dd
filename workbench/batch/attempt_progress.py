"""What a running attempt has spent so far and did last, in a small file that its worker replaces as it goes."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from workbench.protocol.events import (
    ActionObserved,
    ActionProposed,
    Event,
    HistoryCondensed,
    ModelAsked,
    ModelResponded,
    RunEnded,
)
from workbench.secrets.masker import MASKER
from workbench.text import first_line

PROGRESS_FILE: Final = "progress"
DRAFT_FILE: Final = f".{PROGRESS_FILE}"
"""What the file is written as before it gets its name."""
_LEAST_PAUSE: Final = 1.0
"""Seconds between two writes about results of actions."""
_LONGEST_ACTIVITY: Final = 120


class AttemptProgress(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an attempt has spent since it started, in the units of `AttemptOutcome`, and what it did last."""

    steps: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    cost: float = 0.0
    unpriced: int = 0
    activity: str = ""
    """The latest action, as one line that is safe to show."""
    at: float = 0.0
    """When something happened last, in seconds since the epoch."""


class Spending:
    """Adds up what a session and its sub-agents spend, from the events of its log."""

    def __init__(self) -> None:
        self.steps = 0
        self.input = self.cached = self.output = 0
        self.cost = 0.0
        self.unpriced = 0
        self.detail = ""
        """More about how the run ended."""

    def add(self, event: Event) -> bool:
        """Count an event, which may be one of a sub-agent; return whether anything was spent."""
        if isinstance(event, RunEnded):
            self.detail = event.detail
            return False
        call = getattr(event, "event", event)  # a step of a sub-agent
        if isinstance(call, ModelResponded):
            self.steps += 1
        if not isinstance(call, ModelResponded | ModelAsked | HistoryCondensed):
            return False
        self.cost += call.cost or 0.0
        self.unpriced += call.cost is None
        self.input += call.usage.input or 0
        self.cached += call.usage.cached or 0
        self.output += call.usage.output or 0
        return True


class ProgressWriter:
    """Stores the progress of one attempt with each model call and action, and some of the results of actions."""

    def __init__(self, path: Path, spending: Spending) -> None:
        self._path = path
        self._spending = spending
        self._lock = threading.Lock()
        self._activity = ""
        self._written = float("-inf")

    def on_event(self, event: Event) -> None:
        """Count an event of the session, and store what is new; events of sub-agents come from other threads."""
        with self._lock:
            is_due = self._spending.add(event)
            call = getattr(event, "event", event)
            if isinstance(call, ActionProposed):
                self._activity = first_line(MASKER.masked(call.summary or call.tool), _LONGEST_ACTIVITY)
                is_due = True
            if is_due or (isinstance(call, ActionObserved) and time.monotonic() - self._written >= _LEAST_PAUSE):
                self._write()

    def _write(self) -> None:
        spent = self._spending
        progress = AttemptProgress(
            spent.steps,
            spent.input,
            spent.cached,
            spent.output,
            spent.cost,
            spent.unpriced,
            activity=self._activity,
            at=time.time(),
        )
        self._written = time.monotonic()
        draft = self._path.with_name(DRAFT_FILE)
        # Neither durable nor necessary: a full disk must not end the attempt.
        with suppress(OSError):
            draft.write_bytes(msgspec.json.encode(progress))
            draft.replace(self._path)


def read_progress(directory: Path) -> AttemptProgress | None:
    """Return the progress of the attempt with these files; None if it has stored none."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode((directory / PROGRESS_FILE).read_bytes(), type=AttemptProgress)
    return None
