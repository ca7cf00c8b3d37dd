"""The registry of tools by name: built-in tools from the start, others once they are registered.

`resolve_tool` turns a specification (`Tool`) from the settings into tools for a session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeAlias, cast

from workbench.errors import UsageError
from workbench.suggest import nearest
from workbench.tools.context import ConversationState
from workbench.tools.manifest import ALL_TOOLS, BUILTIN_TOOLS, manifest_of
from workbench.tools.older_calls import OLDER_NAMES
from workbench.tools.tool import ToolBase, ToolDefinition

Factory: TypeAlias = Callable[..., Sequence[ToolDefinition]]
"""A function that is called with the conversation state and the parameters as keyword arguments."""
Registrable: TypeAlias = "ToolDefinition | type[ToolBase] | Factory"

_added: dict[str, Registrable] = {}


@dataclass(frozen=True)
class Tool:
    """The specification of a tool: its name, and the parameters of its `create()`."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)


class UnknownTool(UsageError):
    """No tool of that name is registered."""


def resolve_alias(name: str) -> str:
    """Return the name of the tool that an alias stands for, or any other name unchanged."""
    return OLDER_NAMES.get(name, name)


def register_tool(name: str, tool: Registrable) -> None:
    """Register an instance, a ToolBase subclass or a factory. Raises ValueError for an invalid or used name.

    Raises TypeError for an object of another type, and MissingExecutor for an instance without an executor.
    """
    if not name or name != name.strip():
        raise ValueError(f"A tool needs a name without spaces at its ends, not {name!r}.")
    if name in OLDER_NAMES or name in ALL_TOOLS or _added.get(name, tool) is not tool:
        raise ValueError(f"The name {name!r} belongs to another tool; choose another one or unregister that first.")
    _added[name] = check_tool(tool)


def unregister_tool(name: str) -> None:
    """Remove a registered tool, if there is one of that name; built-in tools stay."""
    _added.pop(name, None)


def list_registered_tools() -> list[str]:
    """Return the names of all built-in and registered tools, sorted."""
    return sorted({*ALL_TOOLS, *_added})


def resolve_tool(spec: Tool, conv_state: ConversationState) -> Sequence[ToolDefinition]:
    """Return the tools of a specification, ready to run. Raises UnknownTool, or UsageError for wrong parameters."""
    return make_tools(find_tool(spec.name), spec, conv_state)


def make_tools(tool: Registrable, spec: Tool, conv_state: ConversationState) -> Sequence[ToolDefinition]:
    """Return the tools of a specification whose tool is already loaded. Raises UsageError for wrong parameters."""
    if isinstance(tool, ToolDefinition):
        if spec.params:
            raise UsageError(f"The tool {spec.name!r} takes no parameters, but was given {', '.join(spec.params)}.")
        return (tool,)
    make = cast(Factory, tool.create if isinstance(tool, type) and issubclass(tool, ToolBase) else tool)
    try:
        return make(conv_state, **spec.params)
    except TypeError as error:
        raise UsageError(f"The tool {spec.name!r} cannot be made with these parameters: {error}") from error


def check_tool(tool: object) -> Registrable:
    """Return the object if it can be registered. Raises TypeError if not, and MissingExecutor if it has no executor."""
    if isinstance(tool, ToolDefinition):
        return tool.as_executable()
    if not callable(tool) or (isinstance(tool, type) and not issubclass(tool, ToolBase)):
        raise TypeError(f"{tool!r} is no ToolDefinition, no subclass of ToolBase and no factory.")
    return tool


def find_tool(name: str) -> Registrable:
    """Return the registration of a name or alias. Raises UnknownTool."""
    name = resolve_alias(name)
    if name in _added:
        return _added[name]
    manifest = manifest_of(name)
    if manifest:
        module, _, attribute = manifest.definition.partition(":")
        definition: Registrable = getattr(import_module(f"{__package__}.{name}.{module}"), attribute)
        return definition
    near = nearest(name, list_registered_tools())
    hint = f" Did you mean {near!r}?" if near else ""
    raise UnknownTool(f"There is no tool {name!r}.{hint} The tools are: {', '.join(list_registered_tools())}.")


def open_tools(context: ConversationState, names: Sequence[str] = BUILTIN_TOOLS) -> dict[str, ToolDefinition]:
    """Return the named tools by name, ready to run; the caller closes them.

    The code of other tools is not imported.
    """
    opened: dict[str, ToolDefinition] = {}
    try:
        for name in names:
            opened |= {tool.name: tool for tool in resolve_tool(Tool(name), context)}
    except BaseException:
        for tool in opened.values():
            tool.close()
        raise
    return opened
