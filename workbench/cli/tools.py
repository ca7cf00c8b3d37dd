"""`ohw tools` lists the tools, as text or as JSON with the keys of both OpenAI and MCP."""

from __future__ import annotations

import json
import textwrap
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from workbench.agent.agent_kinds import BUILT_IN, AgentKinds, agent_kinds
from workbench.cli.common import print_error, print_line, settings_of, workspace_of
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import WorkbenchError
from workbench.mcp.toolsets import ListedServers
from workbench.text import visible
from workbench.tools.context import NoModel, ToolContext
from workbench.tools.delegate import AGENTS
from workbench.tools.delegate import NAME as DELEGATE
from workbench.tools.json_schema import describe_type
from workbench.tools.registry import Tool, list_registered_tools, resolve_tool
from workbench.tools.selection import ToolState, select_tools
from workbench.tools.tool import ToolDefinition

_WIDTH = 100


def tools(arguments: Namespace) -> int:
    """Print the tools, including those of MCP servers."""
    where, settings = settings_of(arguments)
    workspace = workspace_of(arguments)
    servers = ListedServers(where, settings, workspace)
    try:
        if arguments.mcp:
            servers.ask()
        more = servers.states()
        page, notices = _page(
            where, servers.settings(settings), workspace, as_json=arguments.json, more=more, with_unread=arguments.all
        )
    finally:
        servers.close()
    for line in (*notices, *servers.notices):
        print_error(visible(line, lines=False))
    print_line(page)
    return 0


def _page(
    where: Locations,
    settings: Settings,
    workspace: Path,
    *,
    as_json: bool,
    more: Sequence[ToolState] = (),
    with_unread: bool = False,
) -> tuple[str, tuple[str, ...]]:
    """Return the list as text or JSON, and lines about omitted tools; `more` are the tools of MCP servers.

    With `with_unread`, the JSON includes tools whose schema was not loaded, and kinds of sub-agents. Raises UsageError
    if the settings of tools are invalid.
    """
    context = ToolContext(str(workspace), complete=NoModel())
    selection = select_tools(settings, where.settings_file, context)
    try:
        rows = [(state, tool) for state in selection.states for tool in _tools_of(state, context)]
        rows += [(state, tool) for state in more for tool in state.tools or (None,)]
        kinds, is_on = agent_kinds(where, settings, workspace), DELEGATE in selection.tools
        if as_json:
            listed = [*_entries(rows, with_unread=with_unread), *(_agents(kinds, is_on) if with_unread else ())]
            page = json.dumps(listed, indent=2)
        else:
            page = "\n\n".join((*_lines(rows), *_agent_lines(kinds, is_on)))
    finally:
        selection.close()
    names = {*selection.names, *(tool.name for _, tool in rows if tool is not None)}
    return page, (*selection.notices, *kinds.notices(names, settings.models))


def _tools_of(state: ToolState, context: ToolContext) -> list[ToolDefinition | None]:
    """Return the tools of an entry of the list, or `[None]` if they cannot be loaded.

    Disabled tools are loaded only if they are built in, because loading those runs no third-party code.
    """
    if state.tools or state.name not in list_registered_tools():
        return list(state.tools) or [None]
    try:
        resolved = list(resolve_tool(Tool(state.name), context))
    except (WorkbenchError, ImportError):
        return [None]
    for tool in resolved:
        tool.close()
    return [*resolved] or [None]


def _entries(rows: list[tuple[ToolState, ToolDefinition | None]], *, with_unread: bool) -> list[dict[str, Any]]:
    return [_entry(state, tool) for state, tool in rows if tool is not None or with_unread]


def _agents(kinds: AgentKinds, is_on: bool) -> Iterator[dict[str, Any]]:
    for kind in kinds:
        description = "\n\n".join(filter(None, (kind.description, kind.prompt)))
        is_builtin = kind.source == BUILT_IN
        why = f"{BUILT_IN} · {kind.facts}" if is_builtin else kind.facts
        entry = {"name": kind.name, "description": description, "on": is_on, "why": why, "from": AGENTS}
        yield {**entry, "source": "" if is_builtin else kind.source}


def _agent_lines(kinds: AgentKinds, is_on: bool) -> Iterator[str]:
    for kind in kinds:
        about = textwrap.fill(kind.description, _WIDTH, initial_indent="  ", subsequent_indent="  ")
        heading = f"{kind.name:<22} {'on' if is_on else 'off'}: a kind of sub-agent, {kind.source}"
        yield "\n".join(map(visible, (heading, f"  {kind.facts}", about)))


def _entry(state: ToolState, tool: ToolDefinition | None) -> dict[str, Any]:
    shapes = {**tool.to_openai_tool(), **tool.to_mcp_tool()} if tool else {"name": state.name}
    return {**shapes, "on": state.is_on, "why": state.why, "from": _origin(state, tool), "source": state.source}


def _origin(state: ToolState, tool: ToolDefinition | None) -> str:
    """Return the origin of a tool: built-in, OpenAPI, an MCP server, a package or a directory."""
    if server := str(getattr(tool, "server", "")):
        return f"MCP server {server}"
    if tool is None and state.name.startswith("MCP server "):
        return state.name
    if state.name == "openapi":
        return "OpenAPI"
    return state.source or "built-in"


def _lines(rows: list[tuple[ToolState, ToolDefinition | None]]) -> Iterator[str]:
    for state, tool in rows:
        name = tool.name if tool else state.name
        heading = f"{name:<22} {'on' if state.is_on else 'off'}: {state.why}"
        lines = [heading, *_source(state), *(_about(tool) if tool else ())]
        yield "\n".join(visible(row) for row in lines)


def _source(state: ToolState) -> list[str]:
    return [f"  from {state.source}"] if state.source else []


def _about(tool: ToolDefinition) -> Iterator[str]:
    yield f"  {_hints(tool)}"
    for paragraph in tool.short_description.split("\n\n"):
        yield textwrap.fill(" ".join(paragraph.split()), _WIDTH, initial_indent="  ", subsequent_indent="  ")
    schema = tool.schema
    for name, part in schema.get("properties", {}).items():
        yield from _parameter(name, part, name in schema.get("required", ()))


def _hints(tool: ToolDefinition) -> str:
    hints = tool.annotations
    words = ["read-only"] if hints.readOnlyHint else ["destructive" if hints.destructiveHint else "changes things"]
    words += ["idempotent"] if hints.idempotentHint else []
    words += ["network access"] if hints.openWorldHint else []
    return f"{hints.title}: {', '.join(words)}" if hints.title else ", ".join(words)


def _parameter(name: str, part: Any, is_required: bool) -> Iterator[str]:
    schema = part if isinstance(part, dict) else {}
    facts = [describe_type(part), "required" if is_required else "optional"]
    facts += [f"default {json.dumps(schema['default'])}"] if "default" in schema else []
    yield f"    {name} ({'; '.join(facts)})"
    if words := " ".join(str(schema.get("description", "")).split()):
        yield textwrap.fill(words, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
