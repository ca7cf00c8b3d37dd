"""A collection of tools, which can be given as names, classes, specifications or objects, and changed during a run."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from workbench.errors import UsageError
from workbench.tools.context import ConversationState, ToolContext
from workbench.tools.functions import tool_from_function
from workbench.tools.registry import Tool, UnknownTool, check_tool, find_tool, make_tools, resolve_alias, stands_in
from workbench.tools.schema import Observation
from workbench.tools.tool import ToolBase, ToolDefinition
from workbench.tools.user_tools import is_name

logger = logging.getLogger(__name__)
Toolish: TypeAlias = "ToolDefinition | type[ToolBase] | Tool | str | Callable[..., Any]"
"""A tool, its class, its specification, its name, or a function with type hints that becomes one."""


@dataclass(eq=False)
class _Entry:
    """A source of tools that was added to a collection: a tool, a class, a specification or a name."""

    source: Any
    removed: set[str] = field(default_factory=set)
    """The names of the source's tools that were removed from the collection."""

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


class SessionTools:
    """The tools of a collection in one session: created for the session, except for those added as instances."""

    def __init__(self, collection: ToolCollection, context: ConversationState, *, is_child: bool = False) -> None:
        """`is_child` is for a sub-agent, which does not close the tools that it shares with its parent."""
        self._collection = collection
        self._context = context
        self._is_child = is_child
        self._lock = threading.RLock()
        self._created: dict[_Entry, tuple[ToolDefinition, ...]] = {}
        self._version = collection.version

    def current(self) -> dict[str, ToolDefinition]:
        """Return the tools by name, created if necessary. Raises UsageError for one that cannot be created."""
        with self._lock:
            tools: dict[str, ToolDefinition] = {}
            for entry in self._collection.entries:
                if entry not in self._created:
                    self._created[entry] = entry.created(self._context)
                for tool in self._created[entry]:
                    if tool.name not in entry.removed:
                        _check(tool, tools)
                        tools[tool.name] = tool
            return tools

    def entry_of(self, tool: ToolDefinition) -> _Entry:
        """Return the entry of the collection from which the tool was created."""
        return next(entry for entry, tools in self._created.items() if tool in tools)

    def update(self, tools: MutableMapping[str, ToolDefinition]) -> bool:
        """Update the session's mapping of tools by name; return whether the collection changed since the last call."""
        if self._version == self._collection.version:
            return False
        with self._lock:
            self._version = self._collection.version
            before = {tool.name for each in self._created.values() for tool in each}
            current = self.current()
            for name in before - set(current):
                tools.pop(name, None)
            tools.update(current)
            entries = self._collection.entries
            for entry in [entry for entry in self._created if entry not in entries]:
                self._close(entry, self._created.pop(entry))
        return True

    def close(self) -> None:
        """Close the tools."""
        with self._lock:
            created, self._created = self._created, {}
        for entry, tools in created.items():
            self._close(entry, tools)

    def _close(self, entry: _Entry, tools: Iterable[ToolDefinition]) -> None:
        for tool in tools:
            if not (entry.is_shared and self._is_child):
                tool.close()


class ToolCollection:
    """Tools by name, given one by one or in lists; `add_tools` and `remove_tool` change what agents with the collection
    may call next.

    Tools that are named by a string, a specification or a class are created for each session; without an agent they
    work in the current directory.
    """

    def __init__(self, *tools: Toolish | Sequence[Toolish]) -> None:
        self._lock = threading.RLock()
        self._view: SessionTools | None = None
        self._entries: tuple[_Entry, ...] = ()
        self._version = 0
        self.add_tools(*tools)

    def __iter__(self) -> Iterator[ToolDefinition]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __contains__(self, name: object) -> bool:
        return name in self.tool_map

    @property
    def entries(self) -> tuple[_Entry, ...]:
        """The entries that were added, in order."""
        return self._entries

    @property
    def version(self) -> int:
        """A number that grows with each change."""
        return self._version

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools in the order in which they were added."""
        return tuple(self.tool_map.values())

    @property
    def tool_map(self) -> dict[str, ToolDefinition]:
        """The tools by name, in the session that opened the collection last. Raises UsageError."""
        return self._current_view().current()

    def _current_view(self) -> SessionTools:
        with self._lock:
            if self._view is None:
                self._view = SessionTools(self, ToolContext(str(Path.cwd())))
            return self._view

    def get_tool(self, name: str) -> ToolDefinition | None:
        """Return the tool of that name or alias, or None."""
        tools = self.tool_map
        return tools.get(name) or tools.get(resolve_alias(name))

    def add_tool(self, tool: Toolish) -> ToolCollection:
        """Add a tool, a class, a specification, a name or a function. Raises UsageError, TypeError or ValueError."""
        return self.add_tools(tool)

    def add_tools(self, *tools: Toolish | Sequence[Toolish]) -> ToolCollection:
        """Add several tools, or none if one of them cannot be added. Tools that the collection already has are skipped;
        another tool with the name of one of them is skipped too, with a warning.
        """
        sources = [_source(tool) for tool in _flat(tools)]
        with self._lock:
            before = self._entries
            self._entries = (*before, *_new_entries(before, sources))
            try:
                if self._view is not None:
                    self._view.current()
            except BaseException:
                self._entries = before
                raise
            self._version += 1
        return self

    def remove_tool(self, name: str) -> ToolDefinition:
        """Remove a tool and return it; a call that is already running continues. Raises UnknownTool."""
        with self._lock:
            tool = self.get_tool(name)
            if tool is None:
                raise UnknownTool(f"There is no tool {name!r} here. The tools are: {', '.join(self.tool_map)}.")
            view = self._current_view()
            entry = view.entry_of(tool)
            entry.removed.add(tool.name)
            if not any(view.entry_of(each) is entry for each in self.tools):
                self._entries = tuple(each for each in self._entries if each is not entry)
            self._version += 1
            return tool

    def to_params(self) -> list[dict[str, Any]]:
        """Return the function definitions of all tools for a chat request."""
        return [tool.to_openai_tool() for tool in self.tools]

    async def execute(self, name: str, tool_input: dict[str, Any] | None = None) -> Observation:
        """Run a tool directly, without an agent and so without approval; an unknown name is an error observation."""
        import asyncio

        tool = self.get_tool(name)
        if tool is None:
            return Observation.from_text(f"There is no tool {name!r}.", is_error=True)
        return await asyncio.to_thread(tool, tool_input or {})

    async def execute_all(self) -> list[Observation]:
        """Run every tool without arguments, one after the other."""
        return [await self.execute(name=tool.name) for tool in self.tools]

    def open(self, context: ConversationState, *, is_child: bool = False) -> SessionTools:
        """Create the tools of a session; the caller closes them. `is_child` is for a sub-agent. Raises UsageError."""
        opened = SessionTools(self, context, is_child=is_child)
        opened.current()
        if not is_child:
            with self._lock:
                self._view = opened
        return opened

    def close(self) -> None:
        """Close the tools that were created without an agent, or for the agent that opened the collection last."""
        if self._view is not None:
            self._view.close()


def _flat(tools: Iterable[Any]) -> Iterator[Any]:
    """Yield the tools, and those in lists, tuples and other collections among them."""
    for tool in tools:
        if isinstance(tool, list | tuple | ToolCollection):
            yield from _flat(tool)
        else:
            yield tool


def _source(tool: Any) -> Any:
    """Return what the collection stores for an object that is added: a tool for a function, else the object itself.

    Raises TypeError, ValueError, or UnknownTool.
    """
    if isinstance(tool, str | Tool):
        find_tool(tool if isinstance(tool, str) else tool.name)
        return tool
    if isinstance(tool, ToolDefinition | type):
        return check_tool(tool)
    if not callable(tool):
        raise TypeError(f"{tool!r} is not a tool: give a ToolDefinition, its class, a name, a Tool or a function.")
    return tool_from_function(tool)


def _name(source: Any) -> str | None:
    if isinstance(source, str | Tool):
        return resolve_alias(source if isinstance(source, str) else source.name)
    return str(name) if (name := getattr(source, "name", None)) else None


def _new_entries(entries: Iterable[_Entry], sources: Iterable[Any]) -> list[_Entry]:
    """Return entries for those sources that are not in the collection yet, and whose names are not in use."""
    present = [entry.source for entry in entries if not entry.removed]
    names = {_name(entry.source) for entry in entries if _name(entry.source) not in entry.removed} - {None}
    added = []
    for source in sources:
        if any(source is each for each in present):
            continue
        name = _name(source)
        if name in names:
            logger.warning("the collection has a tool %r already; the other one is ignored", name)
            continue
        names |= {name} - {None}
        present.append(source)
        added.append(_Entry(source))
    return added


def _check(tool: ToolDefinition, others: MutableMapping[str, ToolDefinition]) -> None:
    """Raise UsageError unless the tool has a free and usable name, an executor and a schema that can be sent."""
    tool.as_executable()
    if tool.name in others:
        raise UsageError(f"Two tools are called {tool.name!r}; a name belongs to one tool.")
    if not is_name(tool.name):
        raise UsageError(f"{tool.name!r} is not a name for a tool: letters, digits, `_` and `-`, at most 64.")
    if not stands_in(tool):
        raise UsageError(f"The name {tool.name!r} belongs to a built-in tool, which is rated by it; choose another.")
    json.dumps(tool.to_openai_tool())
