"""One connection to one server: a task of its own opens it, holds it and closes it; used by `client`.

Everything here runs in the loop of `background`. A server that ends is started again with the next call: at once, then
after a pause, and not at all for a while when it keeps failing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from workbench.mcp.config import ServerConfig
from workbench.mcp.errors import (
    CallRefused,
    CallTimedOut,
    ServerFailed,
    ServerGone,
    SessionLost,
    SignInNeeded,
    StartChanged,
    cause_of,
    with_stderr,
    words_of,
)
from workbench.mcp.stdio import StderrTail

if TYPE_CHECKING:
    from mcp import Client

    from workbench.config.locations import Locations

logger = logging.getLogger(__name__)
T = TypeVar("T")
_PAUSES = (0.0, 0.2, 1.0)
"""Before the second, third … start in a row; after the last one it is left alone for REST_SECONDS."""
REST_SECONDS = 60.0
_TIMED_OUT, _CLOSED, _BAD_VERSION = -32001, -32000, -32022


class _LeftAlone(ServerFailed):
    """It was not tried: it failed too often, and lately."""


class ConnectionListener(Protocol):
    """Who is told about a connection, in the loop."""

    async def connected(self, client: Client) -> None:
        """It is open; what is raised here fails the start."""

    async def changed(self, client: Client) -> None:
        """The server says that it offers something else now."""

    @property
    def locations(self) -> Locations:
        """The person's folders, where their sign-ins are."""

    def told(self, line: str) -> None:
        """A line for the server's log."""

    def starting(self, files: Mapping[str, str]) -> None:
        """It would be started from these files; raises StartChanged where they are not as agreed."""

    async def asked(self, kind: str, params: Any) -> Any:
        """The server asks for something: `elicitation` or `sampling`."""


class Connection:
    """Calls that wait for the server go through `use`; the first one starts it."""

    def __init__(self, server: ServerConfig, heard: ConnectionListener) -> None:
        self.server = server
        self.tail = StderrTail(heard.told)
        self._heard = heard
        self._owner: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Client] | None = None
        self._leave = asyncio.Event()
        self._broken = self._leave
        """The last of them that was counted as a failure: several calls may end with one connection."""
        self._why_gone = ""
        self._kind: type[ServerGone | SignInNeeded] = ServerGone
        self._failures = 0
        self._failed_at = 0.0
        self._why_failed = ""

    @property
    def is_open(self) -> bool:
        """Whether it could answer a call."""
        return self._ready is not None and self._ready.done() and not self._leave.is_set()

    async def use(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """What `work` gives; raises ServerFailed, ServerGone, CallTimedOut or CallRefused."""
        client = await self.opened()
        leave = self._leave
        try:
            answer = await work(client)
        except BaseException as error:
            raise self._fault(error, leave) from error
        self._failures = 0
        return answer

    def _fault(self, error: BaseException, leave: asyncio.Event) -> BaseException:
        """The error as callers know it; one that broke the connection ends it."""
        cause = cause_of(error)
        task = asyncio.current_task()
        if isinstance(cause, asyncio.CancelledError) and task is not None and task.cancelling():
            return cause  # whoever waits has had enough
        name, code = self.server.name, getattr(getattr(cause, "error", None), "code", None)
        if code == _TIMED_OUT or isinstance(cause, TimeoutError):
            return CallTimedOut(f"the MCP server {name} did not answer in time and was told to stop")
        is_answer = code is not None and code != _CLOSED and not leave.is_set()
        if is_answer or type(cause).__name__ in ("ValidationError", "RuntimeError", "InputRequiredRoundsExceededError"):
            return CallRefused(words_of(cause, f"the MCP server {name}"))
        leave.set()
        if self._kind is SessionLost:
            return SessionLost(f"the MCP server {name} knows its session no more")
        why = self._why_gone or words_of(cause, "it")
        if self._kind is SignInNeeded:
            return SignInNeeded(f"the MCP server {name} cannot be used: {why}")
        self._broke(leave)
        return ServerGone(with_stderr(f"the MCP server {name} is gone: {why}", self.tail.lines))

    async def opened(self) -> Client:
        """The connection, opened if it has to be; raises ServerFailed."""
        if self._owner is not None and self._leave.is_set():
            await asyncio.wait([self._owner])
        if self._owner is None or self._owner.done():
            ready = self._ready = asyncio.get_running_loop().create_future()
            self._leave = asyncio.Event()  # at once: whoever comes before the task runs must not wait for its end
            self._owner = asyncio.create_task(self._own(ready, self._leave))
        assert self._ready is not None
        return await asyncio.shield(self._ready)

    async def _own(self, ready: asyncio.Future[Client], leave: asyncio.Event) -> None:
        """The owner: nobody else enters or leaves the contexts of the SDK."""
        try:
            await self._pause()
            self._why_gone, self._kind = "", ServerGone
            self.tail.lines.clear()
            self._heard.told("· starting")
            async with AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(self.server.start_seconds):
                        client = await self._entered(stack, leave)
                        await self._heard.connected(client)
                except TimeoutError:
                    seconds = f"{self.server.start_seconds:g} s"
                    raise ServerFailed(f"it did not answer within {seconds}") from None
                self._heard.told("· ready")
                ready.set_result(client)
                await leave.wait()
        except BaseException as error:  # noqa: BLE001 - a dead server leaks CancelledError and groups of errors
            self._failed(error, ready)
        finally:
            leave.set()
            self._heard.told(f"· ended{': ' * bool(self._why_gone)}{self._why_gone}")

    async def _entered(self, stack: AsyncExitStack, leave: asyncio.Event) -> Client:
        from workbench.mcp.sdk import entered

        def gone(why: str, kind: type[ServerGone | SignInNeeded] = ServerGone) -> None:
            if not self._why_gone:
                self._why_gone, self._kind = why, kind
            leave.set()

        try:
            return await entered(stack, self.server, self.tail, gone, self._heard, mode="legacy")
        except BaseException as error:
            if getattr(getattr(cause_of(error), "error", None), "code", None) != _BAD_VERSION:
                raise
        leave.clear()
        self._why_gone = ""
        return await entered(stack, self.server, self.tail, gone, self._heard, mode="auto")

    async def _pause(self) -> None:
        if self._failures >= len(_PAUSES):
            if time.monotonic() - self._failed_at < REST_SECONDS:
                raise _LeftAlone(f"it failed {self._failures} times and is left alone for a while: {self._why_failed}")
            self._failures = 0
        await asyncio.sleep(_PAUSES[self._failures])

    def _failed(self, error: BaseException, ready: asyncio.Future[Client]) -> None:
        """Remember why; `ready` waits no longer."""
        why = "it was closed" if isinstance(cause_of(error), asyncio.CancelledError) else words_of(error, "it")
        if self._why_gone and not isinstance(cause_of(error), ServerFailed):
            why = self._why_gone if self.server.kind != "stdio" else f"{self._why_gone} before it answered"
        if not ready.done():
            logger.info("the MCP server %s failed: %r", self.server.name, cause_of(error))
            kind = SignInNeeded if self._kind is SignInNeeded else ServerFailed
            if not isinstance(cause_of(error), _LeftAlone | StartChanged):
                self._failures += kind is ServerFailed
                self._failed_at, self._why_failed = time.monotonic(), why
            said = with_stderr(f"the MCP server {self.server.name} cannot be used: {why}", self.tail.lines)
            ready.set_exception(kind(said))
            ready.exception()  # whether or not anybody waits for it
        self._heard.told(f"· {why}")

    def _broke(self, leave: asyncio.Event) -> None:
        """Count an end in the middle of calls, so that a server that always ends there is not started for ever."""
        if self._broken is leave:
            return
        self._broken = leave
        self._failures += 1
        self._failed_at, self._why_failed = time.monotonic(), self._why_gone or "it ends in its calls"

    async def close(self) -> None:
        """End the server."""
        self._leave.set()
        if self._owner is not None:
            if self._ready is not None and not self._ready.done():
                self._owner.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([self._owner], timeout=12)
