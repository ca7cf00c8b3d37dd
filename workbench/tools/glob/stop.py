"""Ends searches: when a person interrupts, when their time is over, when the tool closes; for `glob` and `grep`."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Stop:
    """The end of one search; `why` is empty until it comes."""

    def __init__(self) -> None:
        self.why = ""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def is_over(self) -> bool:
        """Whether the search has to end."""
        return bool(self.why)

    def end(self, why: str) -> None:
        """End the search and its process; called from another thread."""
        with self._lock:
            self.why = self.why or why
            if self._process is not None:
                self._process.kill()

    @contextmanager
    def watching(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """While inside, the process is killed when the end comes; it has ended afterwards."""
        with self._lock:
            self._process = process
            if self.why:
                process.kill()
        try:
            yield
        finally:
            with self._lock:
                self._process = None
            if process.poll() is None:
                process.kill()
            process.wait()


class Searches:
    """The searches of one tool that run now; several may, side by side."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._running: set[Stop] = set()
        self._lock = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[Stop]:
        """A search that ends by itself when its time is over."""
        stop = Stop()
        timer = threading.Timer(self.seconds, stop.end, ("time",))
        timer.daemon = True
        with self._lock:
            self._running.add(stop)
        timer.start()
        try:
            yield stop
        finally:
            timer.cancel()
            with self._lock:
                self._running.discard(stop)

    def interrupt(self) -> None:
        """End all of them."""
        with self._lock:
            running = tuple(self._running)
        for stop in running:
            stop.end("interrupt")
