"""`ohw mcp` lists, adds, tests and removes MCP servers, signs in to them, and approves changed tools."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from workbench.cli.common import print_line, settings_of, workspace_of
from workbench.config.locations import Locations
from workbench.durations import measured_duration
from workbench.errors import UsageError
from workbench.files.toml_edit import write_settings
from workbench.mcp.client import MCPClient
from workbench.mcp.config import ServerConfig, ServerConfigs, find_servers, mask_secrets, read_server
from workbench.mcp.errors import ServerFailed
from workbench.mcp.packages import unpinned_notice
from workbench.mcp.pins import PinnedServer, PinStore, approve, show_changes
from workbench.mcp.token_store import TokenStore
from workbench.secrets.masker import MASKER
from workbench.text import counted, first_line, visible

_NONE = "No MCP servers. `ohw mcp add NAME COMMAND …` or `ohw mcp add NAME https://…` adds one."


def mcp(arguments: Namespace) -> int:
    """List the servers, or act on one; return 1 if the list has problems. Raises UsageError or ServerFailed."""
    where, settings = settings_of(arguments)
    configs = find_servers(settings.mcpServers, where.settings_file, workspace_of(arguments), settings.trusted)
    for each in configs.servers:
        mask_secrets(each)
    action = arguments.action or "list"
    if action == "add":
        _add(where, configs, arguments)
    elif action == "list":
        print_line(_listed(PinStore(where), configs))
    elif action in ("login", "logout"):
        _sign(where, _named(configs, arguments.name), arguments)
    else:
        server = _named(configs, arguments.name)
        remove = partial(_remove, is_last=len(settings.mcpServers) == 1)
        by_name: dict[str, Callable[[Locations, ServerConfig], None]]
        by_name = {"test": _test, "changes": _changes, "approve": partial(_approve, arguments.words), "remove": remove}
        by_name[action](where, server)
    for line in configs.problems if action == "list" else ():
        print_line(visible(line, lines=False))
    return 1 if action == "list" and configs.problems else 0


def _state_of(server: ServerConfig, entry: PinnedServer) -> str:
    if not server.is_on:
        return "off"
    if entry.waits:
        return f"changed: {', '.join((*entry.changed_files, *entry.waiting))}"
    if entry.failure:
        return f"failed: {entry.failure}"
    return counted(len(entry.usable), "tool") if entry.listed else "not started"


def _listed(pins: PinStore, configs: ServerConfigs) -> str:
    rows = [
        (
            server.name,
            MASKER.masked(_state_of(server, pins.entry(server))) + _signed(pins, server),
            MASKER.masked(server.target) + " (outside the sandbox)" * server.runs_outside,
            server.source,
        )
        for server in configs.servers
    ]
    wide = max((len(name) for name, *_ in rows), default=0)
    notices = [MASKER.masked(unpinned_notice(server)) for server in configs.servers]
    lines = [
        "\n  ".join(filter(None, (f"{name:<{wide}}  {first_line(state, 100)}", target, f"from {file}", notice)))
        for (name, state, target, file), notice in zip(rows, notices, strict=True)
    ]
    return "\n".join(visible(line) for line in lines) or _NONE


def _signed(pins: PinStore, server: ServerConfig) -> str:
    return ", signed in" if server.kind != "stdio" and TokenStore(pins.locations, server).is_there else ""


def _named(configs: ServerConfigs, name: str | None) -> ServerConfig:
    names = ", ".join(server.name for server in configs.servers) or "none"
    for server in configs.servers:
        if server.name == name:
            return server
    raise UsageError(f"there is no MCP server {name!r}; there are: {names}" if name else f"which server? {names}")


def _add(where: Locations, configs: ServerConfigs, arguments: Namespace) -> None:
    name, words = arguments.name, [word for word in arguments.words if word != "--"]
    if not name or not words:
        raise UsageError("give a NAME and the command or the URL: ohw mcp add NAME COMMAND …")
    if name in {server.name for server in configs.servers if server.source == str(where.settings_file)}:
        raise UsageError(f"the MCP server {name} already exists; remove it first")
    table = _table(words, arguments)
    server = read_server(name, table, str(where.settings_file), ".")
    mask_secrets(server)
    write_settings(where.settings_file, {("mcpServers", name, key): value for key, value in table.items()})
    print_line(
        f"{name} added to {where.settings_file}: {MASKER.masked(server.target)}\nTest it with: ohw mcp test {name}"
    )


def _table(words: Sequence[str], arguments: Namespace) -> dict[str, Any]:
    if words[0].startswith(("http://", "https://")):
        remote: dict[str, Any] = {"type": arguments.type or "http", "url": words[0]}
        return {**remote, **({"headers": _pairs(arguments.header, ":")} if arguments.header else {})}
    local = {"command": words[0], **({"args": list(words[1:])} if words[1:] else {})}
    return {**local, **({"env": _pairs(arguments.env, "=")} if arguments.env else {})}


def _pairs(values: Sequence[str], separator: str) -> dict[str, str]:
    pairs = [each.partition(separator) for each in values]
    if not all(has_separator for _, has_separator, _ in pairs):
        raise UsageError(f"write NAME{separator}VALUE; ${{VARIABLE}} as the value keeps a secret out of the file")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _sign(where: Locations, server: ServerConfig, arguments: Namespace) -> None:
    from workbench.mcp.login import login, logout

    store = TokenStore(where, server)
    if arguments.action == "logout":
        logout(store, server, print_line)
        return

    def print_now(line: str) -> None:
        print_line(line)
        # The user needs the line while the command waits, also through a pipe.
        sys.stdout.flush()

    login(store, server, print_now, opens_browser=arguments.browser)
    _test(where, server)


def _test(where: Locations, server: ServerConfig) -> None:
    start = time.monotonic()
    client = MCPClient.opened(replace(server, is_on=True), PinStore(where))
    try:
        client.connect().result()
        took = time.monotonic() - start
    except ServerFailed as error:
        why = MASKER.masked(str(error))
        # Record the failure, because lists and the screen show it too.
        client.pins.failed(server, why)
        raise type(error)(why) from None
    finally:
        client.close()
    entry = client.pins.entry(server)
    print_line(visible(f"{server.name} responds ({measured_duration(took)}). {_counted(entry)}", lines=False))
    for line in (*_tools(entry), *entry.faults):
        print_line(MASKER.masked(visible(line, lines=False)))
    if entry.waits or entry.claiming:
        show_changes(client.pins, server, print_line)


def _counted(entry: PinnedServer) -> str:
    counts = ((entry.usable, "tool"), (entry.prompts, "prompt"), (entry.resources, "resource"))
    return (
        ", ".join(counted(len(each), what) for each, what in counts if each) or "It has no tools, prompts or resources."
    )


def _tools(entry: PinnedServer) -> Iterator[str]:
    for name, tool in entry.usable.items():
        hints = tool.get("annotations") or {}
        reads = hints.get("readOnlyHint") and name in entry.approved
        kind = "read-only" if reads else "destructive" if hints.get("destructiveHint") else "asked"
        yield f"  {name:<28} {kind:<12} {first_line(tool.get('description') or '', 70)}"


def _remove(where: Locations, server: ServerConfig, *, is_last: bool) -> None:
    if server.source != str(where.settings_file):
        raise UsageError(f"{server.name} is configured in {server.source}; remove it there")
    write_settings(where.settings_file, {("mcpServers",) if is_last else ("mcpServers", server.name): None})
    PinStore(where).forget(server)
    if server.kind != "stdio":
        TokenStore(where, server).forget()
    print_line(f"{server.name} removed")


def _changes(where: Locations, server: ServerConfig) -> None:
    show_changes(PinStore(where), server, print_line)


def _approve(words: Sequence[str], where: Locations, server: ServerConfig) -> None:
    approve(PinStore(where), server, words[0] if words else "", print_line)
