"""One connection to one server, which a dedicated task opens, holds and closes; used by `client`.

Everything in this module runs in the event loop of `client`. A server that has ended is restarted by the next call:
first at once, then after a pause. If it keeps failing, it is not started for a minute.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from workbench.mcp.config import ServerConfig
from workbench.mcp.errors import (
    CallRefused,
    CallTimedOut,
    OtherTransport,
    ProgramMissing,
    ServerFailed,
    ServerGone,
    SessionLost,
    SignInNeeded,
    StartChanged,
    cause_of,
    with_stderr,
    words_of,
)
from workbench.mcp.server_sandbox import ServerSandbox
from workbench.mcp.stdio import StderrTail

if TYPE_CHECKING:
    from mcp import Client

    from workbench.config.locations import Locations

logger = logging.getLogger(__name__)
T = TypeVar("T")
_PAUSES = (0.0, 0.2, 1.0)
"""Seconds to wait before a start, by the number of consecutive failures; after three, none is tried for REST_SECONDS.
"""
REST_SECONDS = 60.0
_TIMED_OUT, _CLOSED, _BAD_VERSION = -32001, -32000, -32022


class _Resting(ServerFailed):
    """The server was not started, because it failed three times in a row, and less than REST_SECONDS have passed."""


class ConnectionListener(Protocol):
    """Receives a connection's events, in its event loop."""

    async def connected(self, client: Client) -> None:
        """Called when the connection is open; an exception raised here makes the start fail."""

    async def changed(self, client: Client) -> None:
        """Called when the server reported a change of its lists."""

    @property
    def locations(self) -> Locations:
        """The user's directories, where sign-ins are stored."""

    def log_line(self, line: str) -> None:
        """Write a line to the server's log."""

    def starting(self, files: Mapping[str, str]) -> None:
        """Check the hashes of the files that start the server. Raises StartChanged if they are not approved."""

    async def asked(self, kind: str, params: Any) -> Any:
        """Return the answer to a request from the server; `kind` is `elicitation`, `sampling` or `roots`."""


class Connection:
    """The connection to one server. All calls are made with `run`; the first one starts the server."""

    def __init__(self, server: ServerConfig, listener: ConnectionListener, sandbox: ServerSandbox) -> None:
        self.server = server
        self._sandbox = sandbox
        self._transport = server
        """The configuration with the transport that the server speaks."""
        self.tail = StderrTail(listener.log_line)
        self._listener = listener
        self._owner: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._leave = asyncio.Event()
        self._broken = self._leave
        """The `_leave` of the last connection that was counted as failed, so that none is counted twice."""
        self._why_gone = ""
        self._kind: type[ServerGone | SignInNeeded] = ServerGone
        self._failures = 0
        self._failed_at = 0.0
        self._why_failed = ""

    @property
    def is_open(self) -> bool:
        """Whether the connection is ready for a call."""
        return self._ready is not None and self._ready.done() and not self._leave.is_set()

    async def run(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Call `work` with the open client and return its result.

        Raises ServerFailed, ServerGone, CallTimedOut or CallRefused.
        """
        client = await self.opened()
        leave = self._leave
        try:
            answer = await work(client)
        except BaseException as error:
            raise self._fault(error, leave) from error
        self._failures = 0
        return answer

    def _fault(self, error: BaseException, leave: asyncio.Event) -> BaseException:
        """Return the error to raise for `error`; if `error` broke the connection, close it."""
        cause = cause_of(error)
        task = asyncio.current_task()
        if isinstance(cause, asyncio.CancelledError) and task is not None and task.cancelling():
            # The caller was canceled.
            return cause
        name, code = self.server.name, getattr(getattr(cause, "error", None), "code", None)
        if code == _TIMED_OUT or isinstance(cause, TimeoutError):
            return CallTimedOut(f"the MCP server {name} did not respond in time; the call was canceled")
        is_answer = code is not None and code != _CLOSED and not leave.is_set()
        if is_answer or type(cause).__name__ in ("ValidationError", "RuntimeError", "InputRequiredRoundsExceededError"):
            return CallRefused(words_of(cause, f"the MCP server {name}"))
        leave.set()
        if self._kind is SessionLost:
            return SessionLost(f"the MCP server {name} lost its session")
        why = self._why_gone or words_of(cause, "it")
        if self._kind is SignInNeeded:
            return SignInNeeded(f"the MCP server {name} cannot be used: {why}")
        self._broke(leave)
        return ServerGone(self._explained(f"the MCP server {name} is gone: {why}"))

    def _explained(self, message: str) -> str:
        """Return the message about a failure with the server's last lines on stderr, and the part that the sandbox may
        have in the failure.
        """
        lines = list(self.tail.lines)
        return self._sandbox.explained(with_stderr(message, lines), lines)

    async def opened(self) -> Client:
        """Return the client, opening the connection if necessary. Raises ServerFailed if that fails."""
        if self._owner is not None and self._leave.is_set():
            await asyncio.wait([self._owner])
        if self._owner is None or self._owner.done():
            ready = self._ready = asyncio.get_running_loop().create_future()
            # Replaced here, not in the task: a call made before the task runs must not wait for the task to end.
            self._leave = asyncio.Event()
            self._owner = asyncio.create_task(self._own(ready, self._leave))
        assert self._ready is not None
        return await asyncio.shield(self._ready)

    async def _own(self, ready: asyncio.Future[Client], leave: asyncio.Event) -> None:
        """Open, hold and close the connection: the SDK requires that one task enters and leaves its contexts."""
        try:
            await self._pause()
            self._why_gone, self._kind = "", ServerGone
            self.tail.lines.clear()
            self._listener.log_line("· starting")
            async with AsyncExitStack() as stack:
                try:
                    seconds = self.server.start_seconds
                    async with asyncio.timeout(seconds) as limit, self._sandbox.holding(limit, seconds):
                        client = await self._entered(stack, leave)
                        await self._listener.connected(client)
                except TimeoutError:
                    raise ServerFailed(f"it did not respond within {seconds:g} s") from None
                self._listener.log_line("· ready")
                ready.set_result(client)
                await leave.wait()
        except BaseException as error:  # noqa: BLE001 - a dead server leaks CancelledError and groups of errors
            self._failed(error, ready)
        finally:
            leave.set()
            self._listener.log_line(f"· ended{': ' * bool(self._why_gone)}{self._why_gone}")

    async def _entered(self, stack: AsyncExitStack, leave: asyncio.Event) -> Client:
        from workbench.mcp.sdk import entered

        def gone(why: str, kind: type[ServerGone | SignInNeeded] = ServerGone) -> None:
            if not self._why_gone:
                self._why_gone, self._kind = why, kind
            leave.set()

        mode: Literal["legacy", "auto"] = "legacy"
        while True:
            try:
                return await entered(
                    stack, self._transport, self.tail, gone, self._listener, sandbox=self._sandbox, mode=mode
                )
            except BaseException as error:
                if not self._changes_transport(error):
                    if mode == "auto" or _code_of(error) != _BAD_VERSION:
                        raise
                    mode = "auto"
            leave.clear()
            self._why_gone, self._kind = "", ServerGone

    def _changes_transport(self, error: BaseException) -> bool:
        """Return whether the error shows that the server speaks SSE, and use SSE from now on.

        After any other error, the next start uses the configured transport first.
        """
        is_older = isinstance(cause_of(error), OtherTransport)
        self._transport = replace(self.server, kind="sse") if is_older else self.server
        if is_older:
            self._listener.log_line("· it does not speak streamable HTTP; trying SSE")
        return is_older

    async def _pause(self) -> None:
        if self._failures >= len(_PAUSES):
            if time.monotonic() - self._failed_at < REST_SECONDS:
                raise _Resting(
                    f"it failed {self._failures} times and is not started again for a minute: {self._why_failed}"
                )
            self._failures = 0
        await asyncio.sleep(_PAUSES[self._failures])

    def _failed(self, error: BaseException, ready: asyncio.Future[Client]) -> None:
        """Record why the start failed or the connection ended; fail `ready` if callers still wait for the start."""
        why = "it was closed" if isinstance(cause_of(error), asyncio.CancelledError) else words_of(error, "it")
        if self._why_gone and not isinstance(cause_of(error), ServerFailed):
            why = self._why_gone if self.server.kind != "stdio" else f"{self._why_gone} before it responded"
        if not ready.done():
            logger.info("the MCP server %s failed: %r", self.server.name, cause_of(error))
            kind = SignInNeeded if self._kind is SignInNeeded else _failure(cause_of(error))
            if not isinstance(cause_of(error), _Resting | StartChanged):
                self._failures += kind is not SignInNeeded
                self._failed_at, self._why_failed = time.monotonic(), why
            message = self._explained(f"the MCP server {self.server.name} cannot be used: {why}")
            ready.set_exception(kind(message))
            # Mark the exception as retrieved, because no caller may be waiting for it.
            ready.exception()
        self._listener.log_line(f"· {why}")

    def _broke(self, leave: asyncio.Event) -> None:
        """Count a connection that broke during a call, so a server that ends in every call is not restarted forever."""
        if self._broken is leave:
            return
        self._broken = leave
        self._failures += 1
        self._failed_at, self._why_failed = time.monotonic(), self._why_gone or "it ends in its calls"

    async def close(self) -> None:
        """Close the connection and end the server."""
        self._leave.set()
        if self._owner is not None:
            if self._ready is not None and not self._ready.done():
                self._owner.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([self._owner], timeout=12)


def _failure(error: BaseException) -> type[ServerFailed]:
    """Return the type of error that calls raise after a failed start."""
    return ProgramMissing if isinstance(error, ProgramMissing) else ServerFailed


def _code_of(error: BaseException) -> int | None:
    """Return the code of the JSON-RPC error that caused this exception, or None."""
    code: int | None = getattr(getattr(cause_of(error), "error", None), "code", None)
    return code
