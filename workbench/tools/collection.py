"""A collection of tools, named in any of the ways in which programs name them, which may change while an agent runs."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from workbench.errors import UsageError
from workbench.tools.context import ConversationState, ToolContext
from workbench.tools.functions import tool_from_function
from workbench.tools.manifest import ALL_TOOLS
from workbench.tools.registry import Tool, UnknownTool, check_tool, find_tool, make_tools, resolve_alias
from workbench.tools.schema import Observation
from workbench.tools.tool import ToolBase, ToolDefinition
from workbench.tools.user_tools import is_name

Toolish: TypeAlias = "ToolDefinition | type[ToolBase] | Tool | str | Callable[..., Any]"
"""A tool, its class, its specification, its name, or a function with type hints that becomes one."""


@dataclass(eq=False)
class _Entry:
    """One thing that was added, and its tools once they are created."""

    source: Any
    tools: tuple[ToolDefinition, ...] | None = None

    @property
    def is_shared(self) -> bool:
        """Whether the tool itself was added, so that every session uses the same one."""
        return isinstance(self.source, ToolDefinition)

    def created(self, context: ConversationState) -> tuple[ToolDefinition, ...]:
        """Return new tools for a session. Raises UsageError."""
        source = self.source
        if self.is_shared:
            return (source.as_executable(),)
        if isinstance(source, str):
            source = Tool(source)
        if isinstance(source, Tool):
            return tuple(make_tools(find_tool(source.name), source, context))
        return tuple(make_tools(check_tool(source), Tool(source.__name__), context))


class ToolCollection:
    """Tools by name; `add_tools` and `remove_tool` change what the agent that uses the collection may call next.

    Tools that are named by a string, a specification or a class are created for the session of the agent; without an
    agent they work in the current directory.
    """

    def __init__(self, *tools: Toolish) -> None:
        self._lock = threading.RLock()
        self._context: ConversationState | None = None
        self._entries: list[_Entry] = []
        self._discarded: list[ToolDefinition] = []
        self._version = 0
        self.add_tools(*tools)

    def __iter__(self) -> Iterator[ToolDefinition]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __contains__(self, name: object) -> bool:
        return name in self.tool_map

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools in the order in which they were added."""
        return tuple(self.tool_map.values())

    @property
    def tool_map(self) -> dict[str, ToolDefinition]:
        """The tools by name, created if necessary. Raises UsageError for one that cannot be created."""
        with self._lock:
            context = self._context or ToolContext(str(Path.cwd()))
            tools: dict[str, ToolDefinition] = {}
            for entry in self._entries:
                if entry.tools is None:
                    entry.tools = entry.created(context)
                for tool in entry.tools:
                    _check(tool, tools)
                    tools[tool.name] = tool
            return tools

    @property
    def version(self) -> int:
        """A number that grows with each change."""
        return self._version

    def get_tool(self, name: str) -> ToolDefinition | None:
        """Return the tool of that name or alias, or None."""
        tools = self.tool_map
        return tools.get(name) or tools.get(resolve_alias(name))

    def add_tool(self, tool: Toolish) -> ToolCollection:
        """Add a tool, a class, a specification, a name or a function. Raises UsageError, TypeError or ValueError."""
        return self.add_tools(tool)

    def add_tools(self, *tools: Toolish) -> ToolCollection:
        """Add several; if one cannot be added, none is. Tools that are there already stay."""
        sources = [_source(tool) for tool in tools]
        with self._lock:
            before = list(self._entries)
            present = [entry.source for entry in before]
            self._entries += [_Entry(source) for source in sources if not any(source is each for each in present)]
            try:
                _ = self.tool_map if self._context is not None else None
                _check_names(self._entries)
            except BaseException:
                self._entries = before
                raise
            self._version += 1
        return self

    def remove_tool(self, name: str) -> ToolDefinition:
        """Remove a tool and return it; a call that has begun still ends. Raises UnknownTool."""
        with self._lock:
            tool = self.get_tool(name)
            if tool is None:
                raise UnknownTool(f"There is no tool {name!r} here. The tools are: {', '.join(self.tool_map)}.")
            for entry in self._entries:
                if tool in (entry.tools or ()):
                    entry.tools = tuple(each for each in entry.tools or () if each is not tool)
                    self._discarded += [] if entry.is_shared else [tool]
            self._entries = [entry for entry in self._entries if entry.tools != ()]
            self._version += 1
            return tool

    def to_params(self) -> list[dict[str, Any]]:
        """Return the function definitions of all tools for a chat request."""
        return [tool.to_openai_tool() for tool in self.tools]

    async def execute(self, *, name: str, tool_input: dict[str, Any] | None = None) -> Observation:
        """Run a tool directly, without an agent and so without approval; an unknown name is an error observation."""
        import asyncio

        tool = self.get_tool(name)
        if tool is None:
            return Observation.from_text(f"There is no tool {name!r}.", is_error=True)
        return await asyncio.to_thread(tool, tool_input or {})

    async def execute_all(self) -> list[Observation]:
        """Run every tool without arguments, one after the other."""
        return [await self.execute(name=tool.name) for tool in self.tools]

    def open(self, context: ConversationState) -> dict[str, ToolDefinition]:
        """Create the tools for a session, which closes them. Raises UsageError."""
        with self._lock:
            for entry in self._entries:
                if self._context is not None and not entry.is_shared:
                    entry.tools = None  # those of the session before are closed
            self._context = context
            return self.tool_map

    def copies(self, context: ConversationState) -> dict[str, ToolDefinition]:
        """Return tools for another session, such as a sub-agent's: new ones, and copies of shared ones, which it does
        not close.
        """
        with self._lock:
            entries = list(self._entries)
        created = [_borrowed(tool) if entry.is_shared else tool for entry in entries for tool in entry.created(context)]
        return {tool.name: tool for tool in created}

    def update(self, tools: MutableMapping[str, ToolDefinition], version: int) -> int:
        """Bring the mapping of a session up to date if it is not at the current version; return that."""
        with self._lock:
            if self._version != version:
                current = self.tool_map
                for name in [name for name, tool in tools.items() if tool in self._discarded or name not in current]:
                    if not tools[name].is_remote:
                        del tools[name]
                tools.update(current)
                discarded, self._discarded = self._discarded, []
                for tool in discarded:
                    tool.close()
            return self._version

    def close(self) -> None:
        """Close all tools that exist; they cannot be used again."""
        with self._lock:
            tools = [*self._discarded, *(tool for entry in self._entries for tool in entry.tools or ())]
        for tool in tools:
            tool.close()


def _source(tool: Any) -> Any:
    """Return what is kept of something that is added; a function becomes a tool. Raises TypeError or ValueError."""
    if isinstance(tool, str | Tool):
        find_tool(tool if isinstance(tool, str) else tool.name)
        return tool
    if isinstance(tool, ToolDefinition | type):
        return check_tool(tool)
    if not callable(tool):
        raise TypeError(f"{tool!r} is no tool: give a ToolDefinition, its class, a name, a Tool or a function.")
    return tool_from_function(tool)


def _name(source: Any) -> str | None:
    if isinstance(source, str | Tool):
        return resolve_alias(source if isinstance(source, str) else source.name)
    return str(name) if (name := getattr(source, "name", None)) else None


def _check_names(entries: list[_Entry]) -> None:
    names = [name for entry in entries if (name := _name(entry.source)) is not None]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"Two tools are called {twice!r}; a name belongs to one tool.")


def _check(tool: ToolDefinition, others: MutableMapping[str, ToolDefinition]) -> None:
    """Raise UsageError unless the tool has a free and usable name, an executor and a schema that can be sent."""
    tool.as_executable()
    if tool.name in others:
        raise UsageError(f"Two tools are called {tool.name!r}; a name belongs to one tool.")
    if not is_name(tool.name):
        raise UsageError(f"{tool.name!r} is no name for a tool: letters, digits, `_` and `-`, at most 64.")
    if tool.name in ALL_TOOLS:
        own = find_tool(tool.name)
        if not (isinstance(own, type) and isinstance(tool, own)):
            raise UsageError(
                f"The name {tool.name!r} belongs to a built-in tool, which is rated by it; choose another."
            )
    json.dumps(tool.to_openai_tool())


def _borrowed(tool: ToolDefinition) -> ToolDefinition:
    borrowed = copy.copy(tool)
    vars(borrowed)["close"] = lambda: None
    return borrowed
