"""The MCP servers that an editor passes for a session, in the form of the settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from acp.schema import HttpMcpServer, McpServerStdio, SseMcpServer

from workbench.errors import UsageError


def server_table(servers: Iterable[Any] | None, own: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a table of the user's `own` servers and those of the editor, and a notice for each that is not used.

    A server of the user's takes precedence over one of the same name, because rules and approvals refer to names.
    Raises UsageError for a server with an unsupported transport.
    """
    table, notices = dict(own), []
    for server in servers or ():
        if server.name in own:
            notices.append(f"The editor's MCP server {server.name} is not used: your settings have one of that name")
        else:
            table[server.name] = _entry(server)
    return table, notices


def _entry(server: Any) -> dict[str, Any]:
    if isinstance(server, McpServerStdio):
        variables = {each.name: each.value for each in server.env}
        return {"command": server.command, "args": list(server.args), "env": variables}
    if isinstance(server, HttpMcpServer | SseMcpServer):
        headers = {each.name: each.value for each in server.headers}
        return {"type": server.type, "url": server.url, "headers": headers}
    raise UsageError(f"the MCP server {server.name} cannot be used: only stdio, http and sse are supported")
