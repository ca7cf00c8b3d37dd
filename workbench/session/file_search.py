"""Finds the files of a directory for mentions; it is listed and searched in a thread, so that typing never waits."""

from __future__ import annotations

import heapq
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from workbench.tools.glob.program import Stop

MOST = 200_000
"""The most files of a directory that are listed."""
MAX_MATCHES = 50
_STALE = 20.0
_BATCH = 20_000

Answer = Callable[[str, list[str]], None]
"""Called in the search thread with the query and the paths that match it best."""


class FileIndex:
    """Finds files for a query. Only the newest query gets results, repeatedly while the list is still growing.

    `beside` is called in the search thread and returns other names that can be mentioned.
    """

    def __init__(
        self,
        directory: Path,
        answer: Answer,
        clock: Callable[[], float] = time.monotonic,
        beside: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._directory = os.path.realpath(directory)
        self._answer = answer
        self._clock = clock
        self._beside = beside
        self._others: Sequence[str] = ()
        self._paths: list[str] = []
        self._listed_at: float | None = None
        self._query: str | None = None
        self._changed = threading.Condition()
        self._stop = Stop()
        self._thread: threading.Thread | None = None

    def ask(self, query: str) -> None:
        """Start searching for files that match; return at once. Earlier queries are dropped."""
        with self._changed:
            self._query = query
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True, name="prompt-files")
                self._thread.start()

    def close(self) -> None:
        """End the search thread."""
        self._stop.end("closed")
        with self._changed:
            self._changed.notify()

    def _work(self) -> None:
        while (query := self._next()) is not None:
            self._others = self._beside()
            if self._listed_at is not None:
                self._send_answer(query, self._paths)
            if self._listed_at is None or self._clock() - self._listed_at > _STALE:
                for paths in self._list():
                    self._send_answer(query, paths)
                self._send_answer(query, self._paths)

    def _next(self) -> str | None:
        with self._changed:
            self._changed.wait_for(lambda: self._query is not None or self._stop.why)
            query, self._query = self._query, None
            return None if self._stop.why else query

    def _list(self) -> Iterator[list[str]]:
        """List the files again; the first time, yield the growing list now and then."""
        from workbench.tools.glob.walk import list_files

        is_first = self._listed_at is None
        paths: list[str] = []
        with suppress(OSError):
            for path in list_files(self._directory, self._stop, hidden=True):
                paths.append(path)
                if is_first and len(paths) % _BATCH == 0:
                    yield paths
                if len(paths) >= MOST:
                    break
        self._paths, self._listed_at = with_directories(paths), self._clock()

    def _send_answer(self, query: str, paths: list[str]) -> None:
        with self._changed:
            newer = self._query
        if newer is not None and paths is self._paths:
            return  # the newer query is answered next
        asked = query if newer is None else newer
        if not self._stop.why:
            self._answer(asked, best(asked, chain(paths, self._others), MAX_MATCHES))


def with_directories(files: list[str]) -> list[str]:
    """Return the files, then every directory above them, sorted and with a trailing slash."""
    parents = {path[: path.rfind("/") + 1] for path in files}
    directories = set(parents)
    for directory in parents:
        while (directory := directory[: directory.rstrip("/").rfind("/") + 1]) and directory not in directories:
            directories.add(directory)
    directories.discard("")
    return [*files, *sorted(directories)]


Rank = tuple[int, int, str]
"""How well a text matches: the kind of match (0 is best), the length, and the text in lower case."""


def best(query: str, candidates: Iterable[str], most: int) -> list[str]:
    """Return the `most` best matches among the texts that contain the letters of the query in this order."""
    rank = ranking(query)
    ranked = ((fit, text) for text in candidates if (fit := rank(text.lower())) is not None)
    return [text for _, text in heapq.nsmallest(most, ranked)]


def ranking(query: str) -> Callable[[str], Rank | None]:
    """Return a function that ranks a text in lower case, and returns None if it does not match."""
    needle = query.lower()
    scattered = re.compile("".join(f"[^{re.escape(sign)}]*{re.escape(sign)}" for sign in needle), re.DOTALL).match

    def rank(text: str) -> Rank | None:
        if not scattered(text):
            return None
        name = text[text.rstrip("/").rfind("/") + 1 :]
        return _kind(needle, text, name, scattered), len(text), text

    return rank


def _kind(needle: str, text: str, name: str, scattered: Callable[[str], object]) -> int:
    if name.startswith(needle):
        return 0
    if needle in name:
        return 1
    if needle in text:
        return 2
    return 3 if scattered(name) else 4
