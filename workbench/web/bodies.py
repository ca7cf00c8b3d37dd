"""The body of an HTTP answer as far as it is wanted, unpacked with a limit: a compressed bomb costs no memory."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable

_PACKED = {"gzip", "x-gzip", "deflate"}
_STEP = 1 << 18


class BadBody(Exception):
    """A body that cannot be unpacked; the message is for the model."""


class Body:
    """Takes what arrives, up to `limit` bytes after unpacking."""

    def __init__(self, encoding: str, limit: int) -> None:
        names = [
            name for name in (part.strip().lower() for part in encoding.split(",")) if name not in ("", "identity")
        ]
        if len(names) > 1 or not _PACKED.issuperset(names):
            raise BadBody(f"The answer is packed in a way that was not asked for ({', '.join(names)[:40]}).")
        self._unpacker = zlib.decompressobj(wbits=47) if names else None  # 32 + 15: gzip or zlib, as its head says
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self.is_cut = False
        """Whether there is more than the limit."""

    @property
    def content(self) -> bytes:
        """What came so far."""
        return b"".join(self._parts)

    async def read(self, chunks: AsyncIterable[bytes]) -> None:
        """Take chunks until they end or it is enough; raises BadBody."""
        async for chunk in chunks:
            self._take(chunk)
            if self.is_cut:
                return

    def _take(self, chunk: bytes) -> None:
        if self._unpacker is None:
            self._keep(chunk)
            return
        while chunk and not self.is_cut and not self._unpacker.eof:
            try:
                unpacked = self._unpacker.decompress(chunk, _STEP)
            except zlib.error as error:
                raise BadBody(f"The answer says that it is packed, and is not ({error}).") from error
            self._keep(unpacked)
            chunk = self._unpacker.unconsumed_tail

    def _keep(self, data: bytes) -> None:
        room = self._limit - self._size
        self.is_cut = len(data) > room
        self._parts.append(data[:room])
        self._size += min(len(data), room)
