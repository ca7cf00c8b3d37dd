"""The files of another machine, for mentions: found by the engine there, so that nothing is read from this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from workbench.session.file_search import MAX_MATCHES, Answer, best

_PAUSE = 0.12
"""Seconds without another letter after which a query is sent."""


class RemoteFiles:
    """Finds files for mentions: sends the newest query once typing pauses; until the answer, narrows the last one."""

    def __init__(self, send: Callable[[str], None], answer: Answer) -> None:
        """`send` sends a query without waiting; `answer` gets a query and its files."""
        self._send = send
        self._answer = answer
        self._timer: asyncio.TimerHandle | None = None
        self._paths: Sequence[str] = ()

    def ask(self, query: str) -> None:
        """Answer at once from the files received last, and send the query once typing pauses."""
        self.close()
        self._answer(query, best(query, self._paths, MAX_MATCHES))
        self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._send, query)

    def receive(self, query: str, paths: Sequence[str]) -> None:
        """Answer a query with the files that the engine has found."""
        self._paths = paths
        self._answer(query, list(paths))

    def close(self) -> None:
        """Drop a query that is not sent yet."""
        if self._timer is not None:
            self._timer.cancel()
