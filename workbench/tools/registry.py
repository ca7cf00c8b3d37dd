"""The registry of tools by name: built-in tools from the start, others once they are registered.

`resolve_tool` turns a specification (`Tool`) from the settings into tools for a session.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, field_validator

from workbench.errors import UsageError
from workbench.suggest import nearest
from workbench.tools.context import ConversationState
from workbench.tools.exports import ALIASES
from workbench.tools.factories import call_factory
from workbench.tools.json_schema import copied
from workbench.tools.manifest import ALL_TOOLS, BUILTIN_TOOLS, manifest_of
from workbench.tools.older_names import OLDER_NAMES
from workbench.tools.tool import ToolBase, ToolDefinition

Factory: TypeAlias = Callable[..., ToolDefinition | Sequence[ToolDefinition]]
"""A function that is called with the conversation state and the parameters as keyword arguments."""
Registrable: TypeAlias = "ToolDefinition | type[ToolBase] | Factory"

logger = logging.getLogger(__name__)
_added: dict[str, Registrable] = {}
_lock = threading.RLock()


class Tool(BaseModel):
    """The specification of a tool: its name, or that of its class, and the parameters of its `create()`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(min_length=1, description="The name of the tool, or of its class.")
    params: dict[str, Any] = Field(default_factory=dict, description="The parameters with which the tool is created.")

    def __init__(self, *values: Any, **fields: Any) -> None:
        """Take name and parameters by position or by name. Raises ValidationError, which is a ValueError."""
        if len(values) > 2:
            raise TypeError(f"Tool() takes a name and parameters, but was given {len(values)} values")
        super().__init__(**dict(zip(("name", "params"), values, strict=False)), **fields)

    @field_validator("name")
    @classmethod
    def _named(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("a tool needs a name")
        return value

    @field_validator("params", mode="before")
    @classmethod
    def _own_params(cls, value: Any) -> Any:
        """Copy the parameters, so that later changes of the caller's objects do not change the specification."""
        return {} if value is None else copied(dict(value) if isinstance(value, Mapping) else value)

    def __hash__(self) -> int:
        return hash(self.name)


class UnknownTool(UsageError, KeyError):
    """No tool of that name is registered. Also a KeyError, which OpenHands' registry raises in this case."""

    def __str__(self) -> str:
        return UsageError.__str__(self) if len(self.args) != 1 else str(self.args[0])


def resolve_alias(name: str) -> str:
    """Return the name of the tool that an alias stands for, or any other name unchanged."""
    return OLDER_NAMES.get(name, name)


def builtin_names() -> dict[str, str]:
    """Return the names of the built-in tools by all names that stand for them: their own, aliases and classes."""
    return {name: name for name in ALL_TOOLS} | OLDER_NAMES | _class_names()


def register_tool(name: str, tool: Registrable) -> None:
    """Register an instance, a ToolBase subclass or a factory, replacing a tool that was registered under the name.

    Sessions that run keep the tools that they were opened with. Another tool may be registered under the name of a
    built-in tool until it is unregistered; this is logged as a warning, and `stands_in` defines which tools a session
    accepts under that name. Raises ValueError for an invalid name, TypeError for an object of another type, and
    MissingExecutor for an instance without an executor.
    """
    if not isinstance(name, str) or not name or name != name.strip():
        raise ValueError(f"A tool needs a name without spaces at its ends, not {name!r}.")
    checked = check_tool(tool)
    own = builtin_names().get(name)
    if own is not None and checked is not builtin_tool(own):
        logger.warning("%r no longer means the built-in tool %s, but the one registered by that name.", name, own)
    with _lock:
        _added[name] = checked


def unregister_tool(name: str) -> None:
    """Remove a registered tool; running sessions keep it, and the name of a built-in tool refers to that tool again.

    Raises UnknownTool if there is no tool of that name, and ValueError for a built-in tool, which stays.
    """
    with _lock:
        if _added.pop(name, None) is not None:
            return
    if own := builtin_names().get(name):
        raise ValueError(
            f"The tool {own!r} is built in and stays registered; switch it off with [tools] {own} = false."
        )
    raise _unknown(name)


def list_registered_tools() -> list[str]:
    """Return the names of all built-in and registered tools, sorted."""
    with _lock:
        return sorted({*ALL_TOOLS, *_added})


def resolve_tool(spec: Tool, conv_state: ConversationState) -> Sequence[ToolDefinition]:
    """Return the tools of a specification, ready to run. Raises UnknownTool, or UsageError for wrong parameters."""
    return make_tools(find_tool(spec.name), spec, conv_state)


def make_tools(tool: Registrable, spec: Tool, conv_state: ConversationState) -> Sequence[ToolDefinition]:
    """Return the tools of a specification whose tool is already loaded. Raises UsageError for wrong parameters."""
    if isinstance(tool, ToolDefinition):
        if spec.params:
            raise UsageError(f"The tool {spec.name!r} takes no parameters, but was given {', '.join(spec.params)}.")
        return [tool]
    make = cast(Factory, tool.create if isinstance(tool, type) and issubclass(tool, ToolBase) else tool)
    return call_factory(spec.name, make, conv_state, spec.params)


def check_tool(tool: object) -> Registrable:
    """Return the object if it can be registered. Raises TypeError if not, and MissingExecutor if it has no executor."""
    if isinstance(tool, ToolDefinition):
        return tool.as_executable()
    if not callable(tool) or (isinstance(tool, type) and not issubclass(tool, ToolBase)):
        raise TypeError(f"{tool!r} is not a ToolDefinition, a subclass of ToolBase or a factory.")
    if isinstance(tool, type) and (tool is ToolDefinition or getattr(tool.create, "__isabstractmethod__", False)):
        raise TypeError(f"{tool.__name__} is abstract: a subclass says with `create` which tools there are.")
    return tool


def find_tool(name: str) -> Registrable:
    """Return the registration of a name, an alias or the name of a class. Raises UnknownTool."""
    own = resolve_alias(name)
    with _lock:
        for each in (name, own):
            if each in _added:
                return _added[each]
    if own in ALL_TOOLS:
        return builtin_tool(own)
    registration = _of_class(name)
    if registration is None:
        raise _unknown(name)
    return registration


def builtin_tool(name: str) -> Registrable:
    """Return the built-in tool of this name, even if another tool is registered under it."""
    manifest = manifest_of(name)
    assert manifest is not None, name
    module, _, attribute = manifest.definition.partition(":")
    definition: Registrable = getattr(import_module(f"{__package__}.{name}.{module}"), attribute)
    return definition


def stands_in(tool: ToolDefinition) -> bool:
    """Return whether a session accepts a tool under its name, by which calls are rated and shown.

    The name of a built-in tool is reserved for that tool and subclasses of it, with any executor.
    """
    if tool.name not in ALL_TOOLS:
        return True
    own = builtin_tool(tool.name)
    return isinstance(own, type) and isinstance(tool, own)


def _of_class(name: str) -> Registrable | None:
    """Return the registration with this class name, if there is exactly one; registered tools come first."""
    with _lock:
        registered = {id(tool): tool for tool in _added.values() if _class_name(tool) == name}
    if registered:
        return registered.popitem()[1] if len(registered) == 1 else None
    builtin = _class_names().get(name)
    return None if builtin is None else builtin_tool(builtin)


def _class_name(tool: Registrable) -> str:
    if isinstance(tool, ToolDefinition):
        return type(tool).__name__
    return tool.__name__ if isinstance(tool, type) else ""


def _class_names() -> dict[str, str]:
    """Return the names of the built-in tools by the names of their classes."""
    manifests = {name: manifest_of(name) for name in ALL_TOOLS}
    own = {manifest.definition.partition(":")[2]: name for name, manifest in manifests.items() if manifest}
    return own | {alias: own[name] for alias, name in ALIASES.items() if name in own}


def _unknown(name: str) -> UnknownTool:
    names = list_registered_tools()
    near = nearest(name, [*names, *_class_names()]) if isinstance(name, str) else ""
    hint = f" Did you mean {near!r}?" if near else ""
    return UnknownTool(f"There is no tool {name!r}.{hint} The tools are: {', '.join(names)}.")


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
