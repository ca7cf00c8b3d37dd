"""What models call the tools of several servers: their own names, with the server's before those that clash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from workbench.mcp.client import MCPClient
from workbench.mcp.definitions import Definition, name_of
from workbench.tools.registry import resolve_alias


def named(
    offered: Iterable[tuple[MCPClient, Definition]], taken: Collection[str] = ()
) -> Iterator[tuple[str, MCPClient, Definition]]:
    """Each tool with its name; those whose name is `taken`, or another's, also with their server's, are left out."""
    found = list(offered)
    count = Counter(name_of(tool["name"]) for _, tool in found)
    given: set[str] = set(taken)
    for client, tool in found:
        name = name_of(tool["name"])
        if count[name] > 1 or name in taken or resolve_alias(name) != name:
            name = name_of(f"{client.server.name}_{tool['name']}")
        if name not in given:
            given.add(name)
            yield name, client, tool
