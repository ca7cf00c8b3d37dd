"""The client of one MCP server: accepts calls from any thread, with timeouts, over one connection per process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.mcp.config import ServerConfig
from workbench.mcp.connection import Connection
from workbench.mcp.definitions import Definition, digest
from workbench.mcp.errors import CallRefused, ServerFailed
from workbench.mcp.listener import Listener
from workbench.mcp.pins import PinStore
from workbench.mcp.requests import RequestHandler, Requests
from workbench.mcp.server_sandbox import ServerSandbox
from workbench.processes.launch import Launcher

if TYPE_CHECKING:
    from mcp import Client
    from mcp import types as t
    from mcp.shared.dispatcher import ProgressFnT

Result = TypeVar("Result")


class LoopThread:
    """An event loop in a daemon thread, shared by several users: the first `acquire` starts it, the last `release` ends
    it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def acquire(self) -> None:
        """Add a user; the first one starts the loop."""
        with self._lock:
            self._users += 1
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="mcp", daemon=True)
                self._thread.start()

    def release(self) -> None:
        """Remove a user; the last one ends the loop."""
        with self._lock:
            self._users -= 1
            if self._users or self._loop is None or self._thread is None:
                return
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()

    def submit(self, make: Callable[[], Coroutine[Any, Any, Result]]) -> Future[Result]:
        """Start a coroutine in the loop and return its future. Raises RuntimeError if the loop has no user."""
        with self._lock:
            if self._loop is None:
                raise RuntimeError("the loop of the MCP servers has no user")
            return asyncio.run_coroutine_threadsafe(make(), self._loop)


BACKGROUND = LoopThread()
"""The event loop of all connections of this process."""


T = TypeVar("T")
_END_SECONDS = 20.0
Progress = Callable[[str], None]
_CHANGED = (
    "the tool {tool} of the MCP server {server} is not the approved one: its definition has changed. "
    "It was not called. The user can review and approve the change on the MCP screen (/mcp)."
)


class MCPClient:
    """Makes the calls to one server. A process has one instance per server; the server ends when the last user of the
    instance closes it.
    """

    _open: dict[tuple[str, ...], MCPClient] = {}  # noqa: RUF012 - of the process
    _lock = threading.Lock()

    def __init__(self, server: ServerConfig, pins: PinStore, launcher: Launcher | None, key: tuple[str, ...]) -> None:
        self.server = server
        self.pins = pins
        self.sandbox = ServerSandbox(server, launcher)
        self._key = key
        self._users = 1
        self._requests = Requests(server, self.sandbox)
        self._connection: Connection | None = None

    @classmethod
    def opened(cls, server: ServerConfig, pins: PinStore, launcher: Launcher | None = None) -> MCPClient:
        """Return this process's client for a server and add a user; the first request starts the server, with the
        launcher of the first user.

        A server inside a sandbox is shared only by sessions in the same workspace.
        """
        inside = server.workspace if launcher is not None and server.is_confined else ""
        key = (server.key, str(pins.directory), inside)
        with cls._lock:
            client = cls._open.get(key)
            if client is not None:
                client._users += 1
                return client
            client = cls._open[key] = cls(server, pins, launcher, key)
        BACKGROUND.acquire()
        return client

    def connect(self) -> Future[None]:
        """Start the server if necessary, and read its lists of tools, prompts and resources.

        The returned future raises ServerFailed if that fails.
        """
        return self._submit(_nothing)

    def call_tool(
        self,
        definition: Definition,
        arguments: dict[str, Any],
        on_progress: Progress | None = None,
        handler: RequestHandler | None = None,
    ) -> Future[t.CallToolResult]:
        """Call a tool and return a future for its result.

        The future raises ServerFailed, ServerGone, CallTimedOut or CallRefused; a call is refused if `definition` is
        not the approved one. `on_progress` receives lines about the progress, `handler` answers the server's requests
        during the call.
        """
        name = definition["name"]

        async def call(client: Client) -> t.CallToolResult:
            pinned = self.pins.entry(self.server).usable.get(name)
            if pinned is None or digest(pinned) != digest(definition):
                raise CallRefused(_CHANGED.format(tool=name, server=self.server.name))
            report = _reporter(on_progress) if on_progress else None
            async with self._requests.during(handler):
                return await client.call_tool(name, arguments, None, report)

        return self._submit(call)

    def read_resource(self, uri: str) -> Future[t.ReadResourceResult]:
        """Read a resource and return a future for its content; it raises CallTimedOut after `call_seconds`."""

        async def read(client: Client) -> t.ReadResourceResult:
            async with asyncio.timeout(self.server.call_seconds):
                return await client.read_resource(uri)

        return self._submit(read)

    def get_prompt(self, name: str, arguments: dict[str, str]) -> Future[t.GetPromptResult]:
        """Get a prompt and return a future for its messages; the caller limits the time."""
        return self._submit(lambda client: client.get_prompt(name, arguments))

    def _submit(self, work: Callable[[Client], Awaitable[T]]) -> Future[T]:
        async def run() -> T:
            if self._connection is None:
                listener = Listener(self.server, self.pins, self._requests)
                self._connection = Connection(self.server, listener, self.sandbox)
            return await self._connection.run(work)

        try:
            return BACKGROUND.submit(run)
        except RuntimeError as error:
            raise ServerFailed(f"the MCP server {self.server.name} is closed") from error

    @property
    def is_asking(self) -> bool:
        """Whether the user is asked about a request of the server, or a host that it wants to reach.

        No call times out meanwhile.
        """
        return self._requests.is_asking

    @property
    def is_running(self) -> bool:
        """Whether the server is connected."""
        return self._connection is not None and self._connection.is_open

    def start_close(self) -> Callable[[], None]:
        """Remove a user and return a function that waits for the server to end.

        The last user ends the server and its child processes; for any other user, the returned function does nothing.
        """
        with self._lock:
            self._users -= 1
            if self._users:
                return lambda: None
            self._open.pop(self._key, None)
        ending = BACKGROUND.submit(self._end)

        def wait() -> None:
            try:
                ending.result(_END_SECONDS)
            finally:
                BACKGROUND.release()

        return wait

    async def _end(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    def close(self) -> None:
        """Remove a user; if it was the last one, end the server and wait until it has ended."""
        self.start_close()()


async def _nothing(client: Client) -> None:
    return None


def _reporter(on_progress: Progress) -> ProgressFnT:
    async def report(progress: float, total: float | None, message: str | None) -> None:
        share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        on_progress(f"{share}  {message}\n" if message else f"{share}\n")

    return report
