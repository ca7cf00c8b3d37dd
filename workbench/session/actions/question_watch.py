"""Watches the files shown in open questions; if one changes on disk, the question is asked again about the new content.

Everything that an approval is bound to is compared again before the action starts, so this only keeps the display
current; safety does not depend on it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from workbench.protocol.events import ActionAssessed
from workbench.session.state import OpenAction

_TICK = 0.25
"""Seconds between two checks of the files; a file is treated as changed once two checks find the same new state."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0
_MOST_RENEWALS = 30
"""The most times that one question is asked again, because each time adds the files' contents to the log."""

_Signature = tuple[tuple[int, ...] | None, ...]


@dataclass
class _Watched:
    """One open question: its files, their state at the last check, and how often it was asked again."""

    fingerprint: str
    paths: tuple[str, ...]
    signature: _Signature
    renewals: int = 0
    due: float = 0.0
    candidate: _Signature = field(default=())

    def is_changed(self, now: float) -> bool:
        """Check the files; return whether they have changed and stopped changing."""
        if now < self.due or self.renewals >= _MOST_RENEWALS:
            return False
        signature = _signature(self.paths)
        if signature == self.signature:
            return False
        if signature != self.candidate:
            self.candidate = signature
            return False
        self.signature = signature
        return True


class QuestionWatch:
    """Watches the files of the open questions, in a thread that exists only while there are any."""

    def __init__(self) -> None:
        self._wake: Callable[[], None] | None = None
        self._condition = threading.Condition()
        self._watched: dict[str, _Watched] = {}
        self._is_changed = False
        self._thread: threading.Thread | None = None

    def start(self, wake: Callable[[], None]) -> None:
        """From now on, call `wake` in the watching thread when a file has changed; before this, nothing is watched."""
        self._wake = wake

    def consume_change(self) -> bool:
        """Return whether a file has changed since the last call."""
        with self._condition:
            changed, self._is_changed = self._is_changed, False
        return changed

    def follow(self, waiting: Sequence[OpenAction]) -> None:
        """Watch the files of these questions from now on, and of no others.

        A new question is compared once at the start: its file may have changed while it was asked.
        """
        if self._wake is None:
            return
        assessed = [action.assessed for action in waiting if action.assessed is not None and not action.asks_user]
        with self._condition:
            before, self._watched = self._watched, {}
            for each in assessed:
                if paths := _paths(each):
                    self._watched[each.action_id] = self._next(before.get(each.action_id), each, paths)
            if self._watched and self._thread is None:
                self._thread = threading.Thread(target=self._run, name="question-watch", daemon=True)
                self._thread.start()

    def _next(self, before: _Watched | None, assessed: ActionAssessed, paths: tuple[str, ...]) -> _Watched:
        if before is not None and before.fingerprint == assessed.fingerprint:
            return before
        renewals = before.renewals + 1 if before is not None else 0
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**renewals) if renewals else 0.0
        # An unknown signature is a change, which leads to the comparison.
        return _Watched(assessed.fingerprint, paths, (), renewals, time.monotonic() + pause)

    def close(self) -> None:
        """Stop watching, which ends the thread."""
        with self._condition:
            self._watched = {}
            self._condition.notify_all()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait(_TICK)
                watched = list(self._watched.values())
                if not watched:
                    self._thread = None
                    return
            now = time.monotonic()
            if any([each.is_changed(now) for each in watched]):  # noqa: C419  # every question is looked at
                with self._condition:
                    self._is_changed = True
                if self._wake is not None:
                    self._wake()


def _paths(assessed: ActionAssessed) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*(file.path for file in assessed.preview), *assessed.executes]))


def _signature(paths: Sequence[str]) -> _Signature:
    """Return a value that changes when one of the files, or the link that leads to it, is written or replaced."""
    return tuple(_stamp(path, follow=follow) for path in paths for follow in (False, True))


def _stamp(path: str, *, follow: bool) -> tuple[int, ...] | None:
    try:
        info = os.stat(path, follow_symlinks=follow)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return info.st_dev, info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns
