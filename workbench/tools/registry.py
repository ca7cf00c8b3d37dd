"""Which tools there are by name: the built-in ones from the start, others once they are registered.

Specifications (`Tool`) come from settings; `resolve_tool` turns one into tools for a session.
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
"""Called with the conversation state and the parameters by name."""
Registrable: TypeAlias = "ToolDefinition | type[ToolBase] | Factory"

_added: dict[str, Registrable] = {}


@dataclass(frozen=True)
class Tool:
    """A tool asked for by name, with the parameters of its `create()`."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)


class UnknownTool(UsageError):
    """No tool of that name is registered."""


def resolve_alias(name: str) -> str:
    """The tool's own name for a name it is also known by; any other name as it is."""
    return OLDER_NAMES.get(name, name)


def register_tool(name: str, tool: Registrable) -> None:
    """Make a tool known: an instance, a ToolBase subclass or a factory. Another tool's name must be freed first."""
    if not name or name != name.strip():
        raise ValueError(f"A tool needs a name without blanks at its ends, not {name!r}.")
    if name in OLDER_NAMES or name in ALL_TOOLS or _added.get(name, tool) is not tool:
        raise ValueError(f"The name {name!r} belongs to another tool; choose another one or unregister that first.")
    _added[name] = check_tool(tool)


def unregister_tool(name: str) -> None:
    """Forget a registered tool; built-in ones stay. Nothing happens where there is none."""
    _added.pop(name, None)


def list_registered_tools() -> list[str]:
    """All names that `resolve_tool` knows, sorted."""
    return sorted({*ALL_TOOLS, *_added})


def resolve_tool(spec: Tool, conv_state: ConversationState) -> Sequence[ToolDefinition]:
    """The tools the specification stands for, ready to run; raises UnknownTool, or UsageError for wrong parameters."""
    return make_tools(find_tool(spec.name), spec, conv_state)


def make_tools(tool: Registrable, spec: Tool, conv_state: ConversationState) -> Sequence[ToolDefinition]:
    """The same for a tool that is at hand."""
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
    """What may stand for a tool; raises TypeError or NotImplementedError for anything else."""
    if isinstance(tool, ToolDefinition):
        return tool.as_executable()
    if not callable(tool) or (isinstance(tool, type) and not issubclass(tool, ToolBase)):
        raise TypeError(f"{tool!r} is no ToolDefinition, no subclass of ToolBase and no factory.")
    return tool


def find_tool(name: str) -> Registrable:
    """What is registered under the name or what it is also known by; raises UnknownTool."""
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
    """The named tools by their names, ready to run; whoever opens them closes them.

    A tool's code is imported only when it is among them.
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
