"""The MCP tools of one session: those that were agreed to are there at once, and changes come between model calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, MutableMapping
from concurrent.futures import Future, wait
from contextlib import ExitStack
from functools import partial
from typing import Any

from workbench.errors import WorkbenchError
from workbench.mcp.catalog import Catalog, Entry
from workbench.mcp.client import MCPClient
from workbench.mcp.content import Resource, prompt_text, read_resource
from workbench.mcp.definitions import Definition
from workbench.mcp.environment import known_secrets
from workbench.mcp.executor import MCPToolExecutor
from workbench.mcp.naming import named
from workbench.mcp.requests import Asker
from workbench.mcp.servers import Servers
from workbench.mcp.tool import MCPToolDefinition
from workbench.secrets.masker import KNOWN
from workbench.tools.tool import ToolDefinition

_TURN = 0.05


class OfferedServers:
    """Puts the tools of servers into `tools` and keeps them as they are agreed to.

    A server runs from its first call on. One that was never seen is asked in the background what it offers; only the
    first model call ever made with it waits for that, and not long: its tools come when they are known.
    """

    def __init__(
        self,
        servers: Servers,
        catalog: Catalog,
        tools: MutableMapping[str, ToolDefinition],
        table: Mapping[str, Any],
        notice: Callable[[str], None],
    ) -> None:
        """`table` is `[tools]` of the settings; `notice` takes lines for the person, from any thread."""
        self._catalog = catalog
        self._tools = tools
        self._table = table
        self._notice = notice
        self._taken = set(tools)
        self._clients = [MCPClient.opened(server, catalog) for server in servers.found if server.is_on]
        self._seen: dict[str, int] = {}
        self._coming: dict[Future[None], float] = {}
        self._is_closed = False
        self.asker_of: Callable[[str], Asker | None] = lambda server: None
        """Who answers what a server asks in the call that runs in this thread."""
        self.notices = [*servers.problems]
        for client in self._clients:
            known_secrets(client.server)
        self.refresh()
        self._begin()

    @property
    def names(self) -> set[str]:
        """What models call the tools that are offered."""
        return set(self._tools) - self._taken

    def _begin(self) -> None:
        """Ask those servers what they offer that nobody knows yet; they start side by side."""
        for client in self._clients:
            entry = self._catalog.entry(client.server)
            self.notices += [f"the MCP server {client.server.name}: {line}" for line in _said(entry)]
            self.notices += [entry.failure] if entry.failure and not entry.listed else []
            if not entry.listed:
                told: Future[None] = Future()
                if not entry.failure:
                    self._coming[told] = time.monotonic() + client.server.first_wait_seconds
                client.connect().add_done_callback(partial(self._begun, client, told))

    def _begun(self, client: MCPClient, told: Future[None], done: Future[None]) -> None:
        """Say why a server cannot be used; `told` is done after that, so that no run ends before."""
        try:
            error = None if done.cancelled() or self._is_closed else done.exception()
            if isinstance(error, WorkbenchError):
                why = KNOWN.masked(str(error))
                is_news = why != self._catalog.entry(client.server).failure  # what is known was said at the start
                self._catalog.failed(client.server, why)
                if is_news:
                    self._notice(why)
        finally:
            told.set_result(None)

    def before_call(self, is_cancelled: Callable[[], bool], told: Callable[[str], None]) -> bool:
        """Whether the tools are others than before; waits for servers that were never seen."""
        if self._coming:
            told("asking new MCP servers what they offer")
        while self._coming and not is_cancelled():
            wait(self._coming, _TURN)
            now = time.monotonic()
            self._coming = {each: until for each, until in self._coming.items() if not each.done() and until > now}
        return self.refresh()

    def refresh(self) -> bool:
        """Look what is agreed to now; true when something changed."""
        versions = {client.server.key: self._catalog.version(client.server) for client in self._clients}
        if versions == self._seen:
            return False
        self._seen = versions
        fresh = self._made()
        old = {name: self._tools[name] for name in self.names}
        if {name: _identity(tool) for name, tool in old.items()} == {n: _identity(tool) for n, tool in fresh.items()}:
            return False
        for name in old.keys() - fresh.keys():
            del self._tools[name]
        for name, tool in fresh.items():
            if name not in old or _identity(old[name]) != _identity(tool):
                self._tools[name] = tool
        return True

    def _made(self) -> dict[str, MCPToolDefinition]:
        """All tools by their names; where two would have the same, each has its server's name before it."""
        offered = [
            (client, tool) for client in self._clients for tool in self._catalog.entry(client.server).usable.values()
        ]
        return {
            name: self._tool(name, client, tool)
            for name, client, tool in named(offered, self._taken)
            if self._is_wanted(name, client, tool)
        }

    def _tool(self, name: str, client: MCPClient, tool: Definition) -> MCPToolDefinition:
        is_approved = tool["name"] in self._catalog.entry(client.server).approved
        executor = MCPToolExecutor(client, tool, self._notice, self._asker, is_approved=is_approved)
        return MCPToolDefinition(name, tool, client.server.name, executor, is_approved=is_approved)

    def _asker(self, server: str) -> Asker | None:
        return self.asker_of(server)

    def _is_wanted(self, name: str, client: MCPClient, tool: Definition) -> bool:
        if self._table.get(name) is False:
            return False
        only_reading = self._table.get("set") == "plan"
        return not only_reading or self._tool(name, client, tool).is_read_only

    def is_resource(self, name: str) -> bool:
        """Whether the name a person wrote is that of a resource of a server here."""
        return any(name.startswith(f"{client.server.name}:") for client in self._clients)

    def read(self, name: str, is_cancelled: Callable[[], bool]) -> Resource:
        """The resource of that name as it is now; waits for its server."""
        return read_resource(self._clients, name, is_cancelled)

    def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> str:
        """What a prompt says with these arguments; waits for its server. Raises WorkbenchError."""
        return prompt_text(self._clients, server, name, arguments)

    def close(self) -> None:
        """End the servers that nobody else uses, side by side; each is waited for before an error of one is raised."""
        self._is_closed = True
        with ExitStack() as endings:
            for client in self._clients:
                endings.callback(client.begin_to_close())


def _identity(tool: ToolDefinition) -> tuple[Any, ...]:
    return (tool.server, tool.definition, tool.is_approved) if isinstance(tool, MCPToolDefinition) else (tool,)


def _said(entry: Entry) -> list[str]:
    """What the person should know of a server from the start."""
    lines = [*entry.faults[:3]]
    if entry.waiting:
        names = ", ".join(entry.waiting)
        lines.append(f"changed since they were agreed to, and off until you approve them (/mcp): {names}")
    if entry.changed_files:
        lines.append(f"not started until you approve it (/mcp): {', '.join(entry.changed_files)} changed")
    return lines
