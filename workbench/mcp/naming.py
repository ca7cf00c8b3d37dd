"""What models call the tools of several servers: their own names, with the server's before those that clash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from workbench.mcp.client import MCPClient
from workbench.mcp.definitions import Definition, name_of
from workbench.mcp.sampling import SAMPLING
from workbench.tools.registry import list_registered_tools, resolve_alias


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
