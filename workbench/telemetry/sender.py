"""The thread that sends spans; a collector that is slow or cannot be reached delays nothing else."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from workbench.telemetry.span import SpanRecord

logger = logging.getLogger(__name__)
THREAD: Final = "ohw-telemetry"
_MOST_WAITING: Final = 2_048
"""The number of spans that wait to be sent; if there are more, the oldest are dropped."""
_MOST_AT_ONCE: Final = 512
_INTERVAL: Final = 5.0
"""Seconds between two requests during a run."""
_AFTER_FAILURE: Final = 0.3
"""Seconds to wait at the end if the last request has failed: the next one hardly succeeds."""


class Exporter(Protocol):
    """What sends spans to a collector."""

    def export(self, spans: Sequence[SpanRecord]) -> bool:
        """Send the spans; return whether they have arrived. Never raises."""

    def close(self) -> None:
        """Close the connection."""


class SpanSender:
    """Sends spans in a thread of its own, which starts with the first of them."""

    def __init__(self, open_exporter: Callable[[], Exporter], target: str) -> None:
        """`open_exporter` is called in the thread, because it loads packages; it may raise ImportError, OSError or
        ValueError. `target` names the collector in the log, without secrets.
        """
        self._open = open_exporter
        self._target = target
        self._waiting: deque[SpanRecord] = deque(maxlen=_MOST_WAITING)
        self._changed = threading.Condition()
        self._is_due = self._is_closing = self._has_failed = False
        self._thread: threading.Thread | None = None

    def add(self, span: SpanRecord) -> None:
        """Send a span with the next request; returns at once."""
        with self._changed:
            if self._is_closing:
                return
            self._waiting.append(span)
            if len(self._waiting) >= _MOST_AT_ONCE:
                self._is_due = True
                self._changed.notify_all()
            if self._thread is None:
                self._start()

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name=THREAD, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system refuses more threads; the next span tries again
            return
        self._thread = thread

    def flush(self) -> None:
        """Send what waits now; returns at once."""
        with self._changed:
            self._is_due = bool(self._waiting)
            self._changed.notify_all()

    def close(self, seconds: float) -> None:
        """Send what waits, for at most `seconds`; what has not been sent by then is lost. May be called twice."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(min(seconds, _AFTER_FAILURE) if self._has_failed else seconds)

    def _work(self) -> None:
        try:
            exporter = self._open()
        except (ImportError, OSError, ValueError) as error:
            logger.info("spans cannot be sent: %s", type(error).__name__)
            return
        try:
            while batch := self._next():
                self._note(has_arrived=exporter.export(batch))
                if self._has_failed and self._is_closing:
                    return
        finally:
            exporter.close()

    def _next(self) -> list[SpanRecord]:
        """Wait until spans are due, and return them; an empty list means that the sender was closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_due or self._is_closing, _INTERVAL)
            while not (self._waiting or self._is_closing):
                self._changed.wait_for(lambda: self._is_due or self._is_closing, _INTERVAL)
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST_AT_ONCE))]
            self._is_due = bool(self._waiting)
            return batch

    def _note(self, *, has_arrived: bool) -> None:
        """Record whether the last request succeeded, and log the first of several failures."""
        if not (has_arrived or self._has_failed):
            logger.info("spans could not be sent to %s", self._target)
        self._has_failed = not has_arrived
