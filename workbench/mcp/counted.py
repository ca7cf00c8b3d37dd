"""Answers of servers that are reached by an address, counted as they come: as long as over a pipe; used by `sdk`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import httpx2

from workbench.mcp.stdio import LINE_LIMIT, TooLong

_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
"""Between events."""


def plain(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers, and that nothing is to be packed: what is counted is what would be kept."""
    kept = {name: value for name, value in headers.items() if name.lower() != "accept-encoding"}
    return {**kept, "Accept-Encoding": "identity"}


def counting(gone: Callable[[str], None]) -> Callable[[httpx2.Response], Awaitable[None]]:
    """For each response: `gone` hears of one that is too long, and no more of it is read."""

    async def count(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        packed = response.headers.get("content-encoding", "identity").lower() != "identity"
        events = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = _Counted(response.stream, gone, 0 if packed else LINE_LIMIT, events=events)

    return count


class _Counted(httpx2.AsyncByteStream):
    """A body of at most `limit` bytes, or of events of at most that many each."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, gone: Callable[[str], None], limit: int, *, events: bool
    ) -> None:
        self._stream = stream
        self._gone = gone
        self._limit = limit
        self._events = events
        self._last = b""
        self._size = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._count(chunk)
            if self._size > self._limit:
                size = f"a message of more than {self._limit // 1_000_000} MB"
                why = f"it sent {size if self._limit else 'a packed message, which was not asked for'}"
                self._gone(why)
                raise TooLong(why)
            yield chunk

    def _count(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._events:
            seen = self._last + chunk
            end = max(seen.rfind(mark) for mark in _ENDS)
            if end >= 0:
                self._size = len(seen) - end
            self._last = seen[-3:]

    async def aclose(self) -> None:
        await self._stream.aclose()
