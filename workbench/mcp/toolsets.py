"""Sets of MCP tools: for a session, for `ohw tools`, and for other Python programs."""

from __future__ import annotations

import logging
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
from workbench.mcp.client import MCPClient
from workbench.mcp.config import ServerConfig, ServerConfigs, by_name, find_servers, mask_secrets, read_server
from workbench.mcp.definitions import Definition, name_of
from workbench.mcp.executor import MCPToolExecutor, Resource, prompt_text, read_resource
from workbench.mcp.pins import PinnedServer, PinStore
from workbench.mcp.requests import SAMPLING, RequestHandler
from workbench.mcp.tool import MCPToolDefinition
from workbench.processes.launch import Launcher
from workbench.processes.leftovers import prefix
from workbench.rules.subject import NETWORK, SANDBOX_WRITE
from workbench.secrets.masker import MASKER
from workbench.tools.name_filter import NameFilter
from workbench.tools.registry import list_registered_tools, resolve_alias
from workbench.tools.selection import FILTERED, ToolState
from workbench.tools.tool import ToolDefinition
from workbench.tools.trust import SERVERS

logger = logging.getLogger(__name__)


def named(
    offered: Iterable[tuple[MCPClient, Definition]], used: Collection[str] = ()
) -> Iterator[tuple[str, MCPClient, Definition]]:
    """Yield the name, client and definition of each tool.

    If a name is already in use, the server's name is prefixed to it; if that name is in use too, the tool is omitted.
    The names of disabled built-in tools are in use too, because the risk rating, rules and screens know them.
    """
    tools = list(offered)
    count = Counter(name_of(tool["name"]) for _, tool in tools)
    in_use = {*used, *list_registered_tools(), SAMPLING, NETWORK, SANDBOX_WRITE}
    for client, tool in tools:
        name = name_of(tool["name"])
        if count[name] > 1 or name in in_use or resolve_alias(name) != name:
            name = name_of(f"{client.server.name}_{tool['name']}")
        if name not in in_use and resolve_alias(name) == name:
            in_use.add(name)
            yield name, client, tool


def create_mcp_tools(
    config: Mapping[str, Any], timeout: float = 30.0, directory: Path | None = None
) -> list[MCPToolDefinition]:
    """Start the servers of `{"mcpServers": {NAME: {…}}}` in parallel and return their tools, server by server.

    Each server may take `timeout` seconds to start. Calls of a tool whose definition changes later are refused.
    `directory` is the working directory of servers without a `cwd`. The caller closes the tools or uses them in `with`
    blocks; closing the last tool of a server ends the server. Raises UsageError if the configuration is invalid, and
    ServerFailed if a server cannot be used; in both cases no server is left running.
    """
    servers = config.get("mcpServers", config)
    if not isinstance(servers, Mapping):
        raise UsageError("mcpServers must be a table of servers")
    with ExitStack() as undo:
        leases = []
        for name, values in by_name(dict(servers), "the program").items():
            entry = {"startTimeout": timeout, **values} if isinstance(values, Mapping) else values
            server = read_server(name, entry, "the program", str(directory or Path.cwd()), runs_there=True)
            if server.problem:
                raise UsageError(f"the MCP server {name} cannot be used: {server.problem}")
            for line in server.notices:
                logger.warning("the MCP server %s: %s", name, line)
            if server.is_on:
                leases.append(_Lease(server))
                undo.callback(leases[-1].end)
        for starting in [lease.client.connect() for lease in leases]:
            starting.result()
        tools = _tools_of(leases)
        undo.pop_all()
    for lease in leases:
        lease.end_if_unused()
    return tools


def _tools_of(leases: Sequence[_Lease]) -> list[MCPToolDefinition]:
    by_client = {lease.client: lease for lease in leases}
    offered = [
        (lease.client, tool) for lease in leases for tool in lease.tools if lease.client.server.offers(tool["name"])
    ]
    return [
        MCPToolDefinition(name, tool, client.server.name, _LeasedExecutor(client, tool, by_client[client]))
        for name, client, tool in named(offered)
    ]


class _Lease:
    """A server that runs until its last tool is closed; it has a temporary directory for its records."""

    def __init__(self, server: ServerConfig) -> None:
        mask_secrets(server)
        self._directory = Path(tempfile.mkdtemp(prefix=prefix("mcp")))
        self._clean = weakref.finalize(self, shutil.rmtree, self._directory, ignore_errors=True)
        self._lock = threading.Lock()
        self._users = 0
        self.client = MCPClient.opened(server, PinStore(Locations(*[self._directory] * 4)))

    @property
    def tools(self) -> list[Definition]:
        """The tools of the server."""
        return list(self.client.pins.entry(self.client.server).usable.values())

    def acquire(self) -> None:
        """Add an open tool."""
        with self._lock:
            self._users += 1

    def release(self) -> None:
        """Remove an open tool; after the last one, end the server."""
        with self._lock:
            self._users -= 1
            is_last = not self._users
        if is_last:
            self.end()

    def end_if_unused(self) -> None:
        """End the server if no tool is open."""
        if not self._users:
            self.end()

    def end(self) -> None:
        """End the server and delete its directory."""
        self.client.close()
        self._clean()


class _LeasedExecutor(MCPToolExecutor):
    """Runs the calls of one tool, and releases its server when the tool is closed."""

    def __init__(self, client: MCPClient, definition: Definition, lease: _Lease) -> None:
        super().__init__(client, definition)
        lease.acquire()
        self._lease: _Lease | None = lease

    def close(self) -> None:
        """Release the server; closing again does nothing."""
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.release()


_TURN = 0.05


class SessionServers:
    """Puts the usable tools of a session's servers into `tools` and keeps them up to date.

    The first call of a server's tool starts the server. A new server is started in the background to list its tools;
    the first model call waits at most `first_wait_seconds` for the list. If the list arrives later, it is used from
    then on.
    """

    def __init__(
        self,
        servers: ServerConfigs,
        pins: PinStore,
        tools: MutableMapping[str, ToolDefinition],
        table: Mapping[str, Any],
        notice: Callable[[str], None],
        *,
        asker_of: Callable[[str], RequestHandler | None] = lambda server: None,
        allows: Callable[[ToolDefinition], bool] = lambda tool: True,
        launcher: Launcher | None = None,
    ) -> None:
        """Add the known tools that `allows` accepts, and start new servers in the background.

        `table` is `[tools]` in the settings; `notice` receives lines for the user, from any thread. `asker_of` is
        called with a server's name, in the thread that runs a tool call, and returns the handler of the server's
        requests during that call. `launcher` starts local servers in the session's sandbox.
        """
        self._pins = pins
        self._tools = tools
        self._table = table
        self._notice = notice
        self._reserved = set(tools)
        self._clients = [MCPClient.opened(server, pins, launcher) for server in servers.servers if server.is_on]
        self._versions: dict[str, int] = {}
        self._coming: dict[Future[None], float] = {}
        self._is_closed = False
        self._asker_of = asker_of
        self._allows = allows
        self.notices = [*servers.problems]
        for client in self._clients:
            mask_secrets(client.server)
        self.refresh()
        self._begin(launcher)

    @property
    def names(self) -> set[str]:
        """The names under which the model knows the servers' tools."""
        return set(self._tools) - self._reserved

    def _begin(self, launcher: Launcher | None) -> None:
        """Connect to new servers in parallel, and collect the notices about all servers."""
        for client in self._clients:
            entry = self._pins.entry(client.server)
            lines = [*_notices_of(entry), *([_OUTSIDE] if launcher and _leaves_sandbox(client.server) else [])]
            self.notices += [f"the MCP server {client.server.name}: {line}" for line in lines]
            self.notices += [entry.failure] if entry.failure and not entry.listed else []
            if not entry.listed:
                reported: Future[None] = Future()
                if not entry.failure:
                    self._coming[reported] = time.monotonic() + client.server.first_wait_seconds
                client.connect().add_done_callback(partial(self._connected, client, reported))

    def _connected(self, client: MCPClient, reported: Future[None], done: Future[None]) -> None:
        """Report the error if a server cannot be used, then finish `reported`, for which the first model call waits."""
        try:
            error = None if done.cancelled() or self._is_closed else done.exception()
            if isinstance(error, WorkbenchError):
                why = MASKER.masked(str(error))
                # A failure that was already recorded has been reported at the start.
                is_news = why != self._pins.entry(client.server).failure
                self._pins.failed(client.server, why)
                if is_news:
                    self._notice(why)
        finally:
            reported.set_result(None)

    def before_call(self, is_cancelled: Callable[[], bool], notice: Callable[[str], None]) -> bool:
        """Wait for new servers to list their tools, up to their time limits; return whether the tools have changed."""
        if self._coming:
            notice("asking new MCP servers for their tools")
        while self._coming and not is_cancelled():
            wait(self._coming, _TURN)
            now = time.monotonic()
            self._coming = {each: until for each, until in self._coming.items() if not each.done() and until > now}
        return self.refresh()

    def refresh(self) -> bool:
        """Update the tools from the pin store; return whether they have changed."""
        versions = {client.server.key: self._pins.version(client.server) for client in self._clients}
        if versions == self._versions:
            return False
        self._versions = versions
        fresh = self._current_tools()
        old = {name: self._tools[name] for name in self.names}
        if {name: _identity(tool) for name, tool in old.items()} == {n: _identity(tool) for n, tool in fresh.items()}:
            return False
        for name in old.keys() - fresh.keys():
            del self._tools[name]
        for name, tool in fresh.items():
            if name not in old or _identity(old[name]) != _identity(tool):
                self._tools[name] = tool
        return True

    def _current_tools(self) -> dict[str, MCPToolDefinition]:
        """Return the enabled tools of all servers by name."""
        offered = [
            (client, tool) for client in self._clients for tool in self._pins.entry(client.server).usable.values()
        ]
        tools = [
            self._tool(name, client, tool)
            for name, client, tool in named(offered, self._reserved)
            if self._table.get(name) is not False and client.server.offers(tool["name"])
        ]
        return {tool.name: tool for tool in tools if self._is_allowed(tool)}

    def _tool(self, name: str, client: MCPClient, tool: Definition) -> MCPToolDefinition:
        is_approved = tool["name"] in self._pins.entry(client.server).approved
        executor = MCPToolExecutor(client, tool, self._notice, self._asker_of, is_approved=is_approved)
        return MCPToolDefinition(name, tool, client.server.name, executor, is_approved=is_approved)

    def _is_allowed(self, tool: MCPToolDefinition) -> bool:
        only_reading = self._table.get("set") == "plan"
        return self._allows(tool) and (not only_reading or tool.is_read_only)

    def is_resource(self, name: str) -> bool:
        """Return whether a mention starts with the name of one of these servers, as their resources do."""
        return any(name.startswith(f"{client.server.name}:") for client in self._clients)

    def read(self, name: str, is_cancelled: Callable[[], bool]) -> Resource:
        """Return a resource, after starting its server if necessary; errors are in its `error`."""
        return read_resource(self._clients, name, is_cancelled)

    def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt, after starting its server if necessary. Raises WorkbenchError if that fails."""
        return prompt_text(self._clients, server, name, arguments)

    def close(self) -> None:
        """End the servers that have no other user, in parallel; an error is raised only after all have ended."""
        self._is_closed = True
        with ExitStack() as endings:
            for client in self._clients:
                endings.callback(client.start_close())


def _identity(tool: ToolDefinition) -> tuple[Any, ...]:
    return (tool.server, tool.definition, tool.is_approved) if isinstance(tool, MCPToolDefinition) else (tool,)


_OUTSIDE = "runs outside the sandbox, as the file of this directory says"


def _leaves_sandbox(server: ServerConfig) -> bool:
    """Return whether the workspace's file, not the user's own settings, makes the server run outside the sandbox."""
    return server.runs_outside and Path(server.source) == Path(server.workspace, SERVERS)


def _notices_of(entry: PinnedServer) -> list[str]:
    """Return the notices about a server for the start of a session."""
    lines = [*entry.faults[:3]]
    if entry.waiting:
        names = ", ".join(entry.waiting)
        lines.append(f"changed since you approved them, disabled until you approve them again (/mcp): {names}")
    if entry.changed_files:
        lines.append(f"not started until you approve it (/mcp): {', '.join(entry.changed_files)} changed")
    return lines


class ListedServers:
    """The servers of a workspace with their tools, for `ohw tools`. Only `ask` starts the servers."""

    def __init__(self, where: Locations, settings: Settings, workspace: Path) -> None:
        self._configs = find_servers(settings.mcpServers, where.settings_file, workspace, settings.trusted)
        self._pins = PinStore(where)
        self._table = settings.tools
        self._clients = [MCPClient.opened(server, self._pins) for server in self._configs.servers if server.is_on]
        self.notices = [*self._configs.problems]

    def ask(self) -> None:
        """Start all enabled servers in parallel and read their lists; add a notice for each server that fails."""
        for client in self._clients:
            mask_secrets(client.server)
        for starting in [client.connect() for client in self._clients]:
            try:
                starting.result()
            except WorkbenchError as error:
                self.notices.append(MASKER.masked(str(error)))

    def settings(self, settings: Settings) -> Settings:
        """Return the settings without the `[tools]` entries of server tools, which only this class knows."""
        names = self._pins.names(self._configs.servers)
        return replace(settings, tools={name: value for name, value in self._table.items() if name not in names})

    def states(self) -> Sequence[ToolState]:
        """Return the state of each server tool, and of each server that is disabled, not listed yet, or changed."""
        return [*self._tools(), *self._without_tools()]

    def _tools(self) -> list[ToolState]:
        offered = [
            (client, tool) for client in self._clients for tool in self._pins.entry(client.server).usable.values()
        ]
        states = []
        for name, client, tool in named(offered, list_registered_tools()):
            is_approved = tool["name"] in self._pins.entry(client.server).approved
            definition = MCPToolDefinition(name, tool, client.server.name, is_approved=is_approved)
            off = self._reason_for_off(client, definition)
            why = f"of the MCP server {client.server.name}" + (f", {off}" if off else "")
            states.append(ToolState(name, not off, why, client.server.source, (definition,)))
        return states

    def _reason_for_off(self, client: MCPClient, tool: MCPToolDefinition) -> str:
        """Return what switches the tool off, or an empty string."""
        if not client.server.offers(tool.definition["name"]):
            return "disabled in its configuration"
        if self._table.get(tool.name) is False:
            return "disabled in [tools]"
        return "" if NameFilter.of(self._table).allows(tool) else FILTERED

    def _without_tools(self) -> list[ToolState]:
        states = []
        for server in self._configs.servers:
            entry = self._pins.entry(server)
            name = f"MCP server {server.name}"
            if not server.is_on:
                states.append(ToolState(name, False, server.problem or "disabled", server.source))
            elif not entry.listed:
                why = entry.failure or "not started, so its tools are unknown; `ohw tools --mcp` starts it"
                states.append(ToolState(name, False, MASKER.masked(why), server.source))
            elif entry.waiting:
                why = f"changed since you approved them (/mcp): {', '.join(entry.waiting)}"
                states.append(ToolState(name, False, why, server.source))
        return states

    def close(self) -> None:
        """End the servers that have no other user."""
        with ExitStack() as endings:
            for client in self._clients:
                endings.callback(client.start_close())
