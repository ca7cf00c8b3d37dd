"""Tools of MCP servers for any Python program: from a configuration to tools that are ready to run."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.mcp.catalog import Catalog
from workbench.mcp.client import MCPClient
from workbench.mcp.definitions import Definition
from workbench.mcp.environment import known_secrets
from workbench.mcp.executor import MCPToolExecutor
from workbench.mcp.naming import named
from workbench.mcp.servers import Server, read_server
from workbench.mcp.tool import MCPToolDefinition
from workbench.processes.leftovers import prefix


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

    def __init__(self, server: Server) -> None:
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
