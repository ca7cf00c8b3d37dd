"""The pipes to an MCP server on this machine, as the SDK wants a transport; used by `connection`.

Ours where the SDK has one too: a line without end is dropped and not collected, what the server writes to stderr is
kept, and a keeper ends everything the server started, also when the engine is killed.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from workbench.errors import WorkbenchError
from workbench.processes.start import small_python, start_beside

LINE_LIMIT = 16 * 1024 * 1024
"""Bytes of one message; a longer one is dropped and ends the connection."""
_CHUNK = 256 * 1024
_LONGEST_SAID = 500
_END_SECONDS = 8.0  # the keeper itself gives up after less
_LAST_WORDS = 0.5


class TooLong(WorkbenchError):
    """A message larger than LINE_LIMIT."""


class Lines:
    """Bytes cut into lines as they come, in time that grows with their number alone."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are whole now; raises TooLong."""
        *whole, rest = data.split(b"\n")
        lines = []
        for line in whole:
            lines.append(b"".join((*self._parts, line)))
            self._parts, self._size = [], 0
        self._size += len(rest)
        if self._size > self._limit:
            raise TooLong(f"it sent a message of more than {self._limit // 1_000_000} MB")
        if rest:
            self._parts.append(rest)
        return lines


class StderrTail:
    """The last lines a server wrote to stderr; `told` takes each."""

    def __init__(self, told: Callable[[str], None]) -> None:
        self._told = told
        self.lines: deque[str] = deque(maxlen=100)

    async def follow(self, stream: asyncio.StreamReader) -> None:
        """Until its end."""
        rest = b""
        while data := await stream.read(64 * 1024):
            *whole, rest = (rest + data).split(b"\n")
            rest = rest[-_LONGEST_SAID:]
            for line in whole[-200:]:
                self._add(line)
        self._add(rest)

    def _add(self, line: bytes) -> None:
        text = line[:_LONGEST_SAID].decode(errors="replace").rstrip()
        if text:
            self.lines.append(text)
            self._told(text)


@asynccontextmanager
async def stdio_transport(
    argv: list[str], folder: str, env: Mapping[str, str], tail: StderrTail, gone: Callable[[str], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """Start the server, give its streams, end it with all its children; `gone` hears why it ended by itself."""
    process = await start_beside(
        [*small_python("workbench.processes.pipe_keeper"), *argv],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env=env,
        is_users=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    said = asyncio.create_task(tail.follow(process.stderr))
    pipes = _Pipes(process, gone)
    try:
        async with pipes.streams() as streams:
            yield streams
    finally:
        await _end(process, said)


async def _end(process: asyncio.subprocess.Process, said: asyncio.Task[None]) -> None:
    """Close its input and wait for its end; what it still writes is not waited for."""
    assert process.stdin is not None
    process.stdin.close()
    until = time.monotonic() + _END_SECONDS
    while process.returncode is None and time.monotonic() < until:
        await asyncio.sleep(0.01)  # `wait` would also wait for pipes that a child of the server holds open
    if process.returncode is None:
        process.kill()  # the server dies with its keeper
    await asyncio.wait([said], timeout=_LAST_WORDS)  # a child that survives may hold it open
    said.cancel()
    with suppress(asyncio.CancelledError):
        await said
    process._transport.close()  # type: ignore[attr-defined]  # nothing else closes pipes that are still full
    await asyncio.sleep(0)


class _Pipes:
    """Moves messages between the pipes of a process and the SDK's streams."""

    def __init__(self, process: asyncio.subprocess.Process, gone: Callable[[str], None]) -> None:
        self._process = process
        self._gone = gone

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[tuple[Any, Any]]:
        """What the SDK reads and writes."""
        import anyio
        from mcp.shared.message import SessionMessage

        into, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, out = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [asyncio.create_task(self._read(into)), asyncio.create_task(self._write(out))]
        try:
            yield read, write
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for stream in (into, read, write, out):
                stream.close()

    async def _read(self, into: Any) -> None:
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        stdout = self._process.stdout
        assert stdout is not None
        lines, why = Lines(LINE_LIMIT), "it ended"
        try:
            while data := await stdout.read(_CHUNK):
                for line in lines.feed(data):
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        continue  # garbage among the messages is nobody's answer
                    await into.send(SessionMessage(message))
        except TooLong as error:
            why = str(error)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            pass  # the connection is being closed
        self._gone(why)
        into.close()  # whoever waits for an answer hears at once that none comes

    async def _write(self, out: Any) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(ConnectionError, RuntimeError):
            async for message in out:
                stdin.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await stdin.drain()
