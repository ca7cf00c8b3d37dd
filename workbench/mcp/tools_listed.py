"""The tools of MCP servers for `ohw tools`: as they were agreed to, or asked anew; used by `commands`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import WorkbenchError
from workbench.mcp.catalog import Catalog
from workbench.mcp.client import MCPClient
from workbench.mcp.environment import known_secrets
from workbench.mcp.naming import named
from workbench.mcp.servers import find_servers
from workbench.mcp.tool import MCPToolDefinition
from workbench.secrets.masker import KNOWN
from workbench.tools.registry import list_registered_tools
from workbench.tools.selection import ToolState


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
