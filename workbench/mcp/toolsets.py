"""Tools of MCP servers for any Python program: from a configuration to tools that are ready to run."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import UsageError, WorkbenchError
from workbench.mcp.catalog import Catalog, CatalogEntry
from workbench.mcp.client import MCPClient
from workbench.mcp.config import ServerConfig, ServerConfigs, find_servers, known_secrets, read_server
from workbench.mcp.definitions import Definition, name_of
from workbench.mcp.executor import MCPToolExecutor, Resource, prompt_text, read_resource
from workbench.mcp.requests import SAMPLING, RequestHandler
from workbench.mcp.tool import MCPToolDefinition
from workbench.processes.leftovers import prefix
from workbench.secrets.masker import KNOWN
from workbench.tools.registry import list_registered_tools, resolve_alias
from workbench.tools.selection import ToolState
from workbench.tools.tool import ToolDefinition


def named(
    offered: Iterable[tuple[MCPClient, Definition]], taken: Collection[str] = ()
) -> Iterator[tuple[str, MCPClient, Definition]]:
    """Each tool with its name; those whose name is in use, also with their server's before it, are left out.

    The names of tools of ours are in use whether they are switched on or not: rating, rules and screens know them.
    """
    tools = list(offered)
    count = Counter(name_of(tool["name"]) for _, tool in tools)
    in_use = {*taken, *list_registered_tools(), SAMPLING}
    for client, tool in tools:
        name = name_of(tool["name"])
        if count[name] > 1 or name in in_use or resolve_alias(name) != name:
            name = name_of(f"{client.server.name}_{tool['name']}")
        if name not in in_use and resolve_alias(name) == name:
            in_use.add(name)
            yield name, client, tool


def create_mcp_tools(
    config: Mapping[str, Any], timeout: float = 30.0, folder: Path | None = None
) -> list[MCPToolDefinition]:
    """Start the servers of `{"mcpServers": {NAME: {…}}}` side by side and give their tools, in that order.

    Each may take `timeout` seconds to start. What a tool is now is what is called: one that its server changes later
    is refused. `folder` is where servers run that name no `cwd`. The caller closes the tools, or uses them in `with`
    blocks; the last one of a server ends it. Raises UsageError for a configuration that is wrong and ServerFailed for
    a server that cannot be used, and then nothing is left running.
    """
    servers = config.get("mcpServers", config)
    if not isinstance(servers, Mapping):
        raise UsageError("mcpServers must be a table of servers")
    with ExitStack() as undo:
        leases = []
        for name, told in servers.items():
            given = {"startTimeout": timeout, **told} if isinstance(told, Mapping) else told
            server = read_server(name, given, "the program", str(folder or Path.cwd()), runs_there=True)
            if server.is_on:
                leases.append(_Lease(server))
                undo.callback(leases[-1].end)
        for starting in [lease.client.connect() for lease in leases]:
            starting.result()
        tools = _made(leases)
        undo.pop_all()
    for lease in leases:
        lease.end_if_unused()
    return tools


def _made(leases: Sequence[_Lease]) -> list[MCPToolDefinition]:
    by_client = {lease.client: lease for lease in leases}
    offered = [(lease.client, tool) for lease in leases for tool in lease.tools]
    return [
        MCPToolDefinition(name, tool, client.server.name, _LeasedExecutor(client, tool, by_client[client]))
        for name, client, tool in named(offered)
    ]


class _Lease:
    """A server that runs as long as one of its tools is not closed; what it says is kept in a folder of its own."""

    def __init__(self, server: ServerConfig) -> None:
        known_secrets(server)
        self._folder = Path(tempfile.mkdtemp(prefix=prefix("mcp")))
        self._clean = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._lock = threading.Lock()
        self._users = 0
        self.client = MCPClient.opened(server, Catalog(Locations(*[self._folder] * 4)))

    @property
    def tools(self) -> list[Definition]:
        """What it offers."""
        return list(self.client.catalog.entry(self.client.server).usable.values())

    def take(self) -> None:
        """One tool more."""
        with self._lock:
            self._users += 1

    def give_back(self) -> None:
        """One tool less; the last one ends the server."""
        with self._lock:
            self._users -= 1
            is_last = not self._users
        if is_last:
            self.end()

    def end_if_unused(self) -> None:
        """A server without a tool is needed by nobody."""
        if not self._users:
            self.end()

    def end(self) -> None:
        """End the server."""
        self.client.close()
        self._clean()


class _LeasedExecutor(MCPToolExecutor):
    """Gives its part of the server back when the tool is closed, once."""

    def __init__(self, client: MCPClient, definition: Definition, lease: _Lease) -> None:
        super().__init__(client, definition)
        lease.take()
        self._lease: _Lease | None = lease

    def close(self) -> None:
        """The tool is needed no more."""
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.give_back()


_TURN = 0.05


class OfferedServers:
    """Puts the tools of servers into `tools` and keeps them as they are agreed to.

    A server runs from its first call on. One that was never seen is asked in the background what it offers; only the
    first model call ever made with it waits for that, and not long: its tools come when they are known.
    """

    def __init__(
        self,
        servers: ServerConfigs,
        catalog: Catalog,
        tools: MutableMapping[str, ToolDefinition],
        table: Mapping[str, Any],
        notice: Callable[[str], None],
        *,
        asker_of: Callable[[str], RequestHandler | None] = lambda server: None,
    ) -> None:
        """`table` is `[tools]` of the settings; `notice` gets lines for the user, from any thread.

        `asker_of` returns who answers what a server asks in the call that runs in this thread.
        """
        self._catalog = catalog
        self._tools = tools
        self._table = table
        self._notice = notice
        self._taken = set(tools)
        self._clients = [MCPClient.opened(server, catalog) for server in servers.found if server.is_on]
        self._seen: dict[str, int] = {}
        self._coming: dict[Future[None], float] = {}
        self._is_closed = False
        self._asker_of = asker_of
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
        executor = MCPToolExecutor(client, tool, self._notice, self._asker_of, is_approved=is_approved)
        return MCPToolDefinition(name, tool, client.server.name, executor, is_approved=is_approved)

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


def _said(entry: CatalogEntry) -> list[str]:
    """What the person should know of a server from the start."""
    lines = [*entry.faults[:3]]
    if entry.waiting:
        names = ", ".join(entry.waiting)
        lines.append(f"changed since they were agreed to, and off until you approve them (/mcp): {names}")
    if entry.changed_files:
        lines.append(f"not started until you approve it (/mcp): {', '.join(entry.changed_files)} changed")
    return lines


class ListedServers:
    """The servers of a folder, each with the tools it has; nothing is started unless `ask` is called."""

    def __init__(self, where: Locations, settings: Settings, workspace: Path) -> None:
        self._found = find_servers(settings.mcpServers, where.settings_file, workspace, settings.trusted)
        self._catalog = Catalog(where)
        self._table = settings.tools
        self._clients = [MCPClient.opened(server, self._catalog) for server in self._found.found if server.is_on]
        self.notices = [*self._found.problems]

    def ask(self) -> None:
        """Start all of them, side by side, and learn what they offer."""
        for client in self._clients:
            known_secrets(client.server)
        for starting in [client.connect() for client in self._clients]:
            try:
                starting.result()
            except WorkbenchError as error:
                self.notices.append(KNOWN.masked(str(error)))

    def settings(self, settings: Settings) -> Settings:
        """The settings without those about tools of servers: only here they are known."""
        names = self._catalog.names(self._found.found)
        return replace(settings, tools={name: value for name, value in self._table.items() if name not in names})

    def states(self) -> Sequence[ToolState]:
        """What there is to say of each tool, and of each server that has none."""
        return [*self._tools(), *self._without_tools()]

    def _tools(self) -> list[ToolState]:
        offered = [
            (client, tool) for client in self._clients for tool in self._catalog.entry(client.server).usable.values()
        ]
        states = []
        for name, client, tool in named(offered, list_registered_tools()):
            is_on = self._table.get(name) is not False
            why = f"of the MCP server {client.server.name}" + ("" if is_on else ", switched off in [tools]")
            is_approved = tool["name"] in self._catalog.entry(client.server).approved
            made = MCPToolDefinition(name, tool, client.server.name, is_approved=is_approved)
            states.append(ToolState(name, is_on, why, client.server.source, (made,)))
        return states

    def _without_tools(self) -> list[ToolState]:
        states = []
        for server in self._found.found:
            entry = self._catalog.entry(server)
            name = f"MCP server {server.name}"
            if not server.is_on:
                states.append(ToolState(name, False, "switched off", server.source))
            elif not entry.listed:
                why = entry.failure or "never started, so its tools are not known; `ohw tools --mcp` asks it"
                states.append(ToolState(name, False, KNOWN.masked(why), server.source))
            elif entry.waiting:
                why = f"changed since they were agreed to (/mcp): {', '.join(entry.waiting)}"
                states.append(ToolState(name, False, why, server.source))
        return states

    def close(self) -> None:
        """End those that were started."""
        with ExitStack() as endings:
            for client in self._clients:
                endings.callback(client.begin_to_close())
