"""A server for whoever calls its tools: from any thread, with timeouts; one connection a process, kept open."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.mcp.catalog import Catalog
from workbench.mcp.config import ServerConfig
from workbench.mcp.connection import Connection
from workbench.mcp.definitions import Definition, digest
from workbench.mcp.errors import CallRefused, ServerFailed
from workbench.mcp.listener import Listener
from workbench.mcp.requests import RequestHandler, Requests

if TYPE_CHECKING:
    from mcp import Client
    from mcp import types as t
    from mcp.shared.dispatcher import ProgressFnT

Result = TypeVar("Result")


class Background:
    """A loop in a daemon thread; `use` and `leave` count its users, the last one ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def use(self) -> None:
        """One user more."""
        with self._lock:
            self._users += 1
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="mcp", daemon=True)
                self._thread.start()

    def leave(self) -> None:
        """One user less."""
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
        """Begin it in the loop; raises RuntimeError where nobody uses that."""
        with self._lock:
            if self._loop is None:
                raise RuntimeError("nobody uses the loop of the MCP servers")
            return asyncio.run_coroutine_threadsafe(make(), self._loop)


BACKGROUND = Background()
"""The one of this process."""


T = TypeVar("T")
_END_SECONDS = 20.0
Progress = Callable[[str], None]
_CHANGED = (
    "the tool {tool} of the MCP server {server} is not what was agreed to any more: its definition has changed. "
    "It was not called. The person can look at the change and approve it on the MCP screen (/mcp)."
)


class MCPClient:
    """Calls one server. Made by `opened`, which several users share; the last one that closes it ends the server."""

    _open: dict[tuple[str, str], MCPClient] = {}  # noqa: RUF012 - of the process
    _lock = threading.Lock()

    def __init__(self, server: ServerConfig, catalog: Catalog) -> None:
        self.server = server
        self.catalog = catalog
        self._users = 1
        self._requests = Requests(server)
        self._connection: Connection | None = None

    @classmethod
    def opened(cls, server: ServerConfig, catalog: Catalog) -> MCPClient:
        """The client of this process for the server; nothing is started before the first call."""
        key = (server.key, str(catalog.folder))
        with cls._lock:
            known = cls._open.get(key)
            if known is not None:
                known._users += 1
                return known
            made = cls._open[key] = cls(server, catalog)
        BACKGROUND.use()
        return made

    def connect(self) -> Future[None]:
        """Start the server if it does not run, and learn what it offers; raises ServerFailed in the future."""
        return self._submit(_nothing)

    def call_tool(
        self,
        definition: Definition,
        arguments: dict[str, Any],
        on_progress: Progress | None = None,
        asker: RequestHandler | None = None,
    ) -> Future[t.CallToolResult]:
        """Call a tool that is still as it was agreed to; the future raises ServerFailed, ServerGone, CallRefused …

        `asker` answers what the server asks meanwhile.
        """
        name = definition["name"]

        async def call(client: Client) -> t.CallToolResult:
            pinned = self.catalog.entry(self.server).usable.get(name)
            if pinned is None or digest(pinned) != digest(definition):
                raise CallRefused(_CHANGED.format(tool=name, server=self.server.name))
            told = _reporter(on_progress) if on_progress else None
            async with self._requests.during(asker):
                return await client.call_tool(name, arguments, None, told)

        return self._submit(call)

    def read_resource(self, uri: str) -> Future[t.ReadResourceResult]:
        """The contents of a resource; the future raises CallTimedOut after the time of a call."""

        async def read(client: Client) -> t.ReadResourceResult:
            async with asyncio.timeout(self.server.call_seconds):
                return await client.read_resource(uri)

        return self._submit(read)

    def get_prompt(self, name: str, arguments: dict[str, str]) -> Future[t.GetPromptResult]:
        """The messages of a prompt."""
        return self._submit(lambda client: client.get_prompt(name, arguments))

    def _submit(self, work: Callable[[Client], Awaitable[T]]) -> Future[T]:
        async def run() -> T:
            if self._connection is None:
                self._connection = Connection(self.server, Listener(self.server, self.catalog, self._requests))
            return await self._connection.use(work)

        try:
            return BACKGROUND.submit(run)
        except RuntimeError as error:
            raise ServerFailed(f"the MCP server {self.server.name} is closed") from error

    @property
    def is_asking(self) -> bool:
        """Whether somebody thinks about a question of the server's; its calls do not time out meanwhile."""
        return self._requests.is_asking

    @property
    def is_running(self) -> bool:
        """Whether the server could answer at once."""
        return self._connection is not None and self._connection.is_open

    def begin_to_close(self) -> Callable[[], None]:
        """One user less; the last one ends the server and all it started. What comes back waits for that."""
        with self._lock:
            self._users -= 1
            if self._users:
                return lambda: None
            self._open.pop((self.server.key, str(self.catalog.folder)), None)
        ending = BACKGROUND.submit(self._end)

        def wait() -> None:
            try:
                ending.result(_END_SECONDS)
            finally:
                BACKGROUND.leave()

        return wait

    async def _end(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    def close(self) -> None:
        """The same, and wait."""
        self.begin_to_close()()


async def _nothing(client: Client) -> None:
    return None


def _reporter(on_progress: Progress) -> ProgressFnT:
    async def told(progress: float, total: float | None, message: str | None) -> None:
        share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        on_progress(f"{share}  {message}\n" if message else f"{share}\n")

    return told
