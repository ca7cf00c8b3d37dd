"""Converts the arguments of an agent to settings and locations, and to overrides for its session."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from workbench.config.locations import Locations
from workbench.config.setting_kinds import RegularExpression, declared
from workbench.config.settings import Settings, load_settings
from workbench.config.table import FILTER
from workbench.errors import UsageError
from workbench.llm.factory import NO_MODEL_MESSAGE
from workbench.llm.model import Cancel, Model, ModelRequest, ModelResponse
from workbench.llm.signatures import signed_for
from workbench.mcp.config import by_name
from workbench.session.model_keys import SessionModels
from workbench.session.toolset import Overrides
from workbench.suggest import near
from workbench.tools.collection import SessionTools, ToolCollection
from workbench.tools.context import ToolContext
from workbench.tools.manifest import kind_of
from workbench.tools.name_filter import NameFilter
from workbench.tools.registry import resolve_alias
from workbench.tools.selection import Selection, ToolState
from workbench.tools.tool import ToolDefinition

ALIASES: Final = {
    "available_tools": "tools",
    "callbacks": "on_event",
    "llm": "model",
    "mcp_config": "mcp",
    "special_tool_names": "special_tools",
    "system_prompt": "instructions",
    "tool_choices": "tool_choice",
}
"""Argument names of OpenHands and OpenManus, with the names that the arguments have here."""
_keys: dict[str, str] = {}


def settings_for(
    locations: Locations, model: object, options: Mapping[str, Any], mcp: Any, *, has_tools: bool
) -> Settings:
    """Return the user's settings, overridden by the agent's arguments.

    `has_tools` says whether tools were passed, in which case the settings' own tools and servers are not used. Raises
    UsageError for an invalid value, TypeError for an unknown name.
    """
    for name in options:
        if name not in declared(Settings) and name != FILTER:
            raise TypeError(f"an agent has no argument {name!r}{near(name, [*declared(Settings), *ALIASES, FILTER])}")
    flags = {name: value for name, value in options.items() if value is not None}
    if "tool_choice" in flags:
        flags["tool_choice"] = str(getattr(flags["tool_choice"], "value", flags["tool_choice"])).lower()
    if "max_observe" in options:
        flags["max_observe"] = options["max_observe"] or 0
    names = _filter_in(flags)
    settings = load_settings(locations, **{**flags, **_flags_of(model)})
    if not settings.model:
        raise UsageError(NO_MODEL_MESSAGE)
    if mcp is not None or has_tools:
        settings = replace(settings, mcpServers=servers_in(mcp))
    return replace(settings, tools={**({} if has_tools else settings.tools), **names})


def _filter_in(flags: dict[str, Any]) -> dict[str, str]:
    """Remove the filter for tool names from the arguments and return it. Raises UsageError if it is
    not a valid pattern.
    """
    pattern = flags.pop(FILTER, None)
    return {FILTER: RegularExpression().check(FILTER, pattern)} if pattern else {}


def checked(name: str, value: Any) -> Any:
    """Return the value converted to that of the setting `name`. Raises UsageError if it is invalid."""
    return declared(Settings)[name].kind.check(name, value)


def _flags_of(model: Any) -> dict[str, str]:
    """Return the settings for a `model` argument: a name, an object with name, API key and URL, or a model object.

    Raises TypeError for anything else.
    """
    if isinstance(model, str):
        return {"model": model}
    if _is_model(model):
        return {"model": model.name}
    names = {"model": "model", "api_key": "api_key", "api_base": "base_url"}
    flags = {name: _plain(getattr(model, attribute, None)) for name, attribute in names.items()}
    if model is not None and not isinstance(flags["model"], str):
        raise TypeError(f"{model!r} is not a model: give a name, an LLM, or an object with `name` and `respond`")
    return {name: value for name, value in flags.items() if value}


def _plain(value: Any) -> Any:
    """Return the content of a secret that hides its value, such as pydantic's, and any other value unchanged."""
    reveal = getattr(value, "get_secret_value", None)
    return reveal() if callable(reveal) else value


def class_options(kind: type, base: type) -> dict[str, Any]:
    """Return the arguments that subclasses of the agent class `base` set as class attributes, as in OpenManus."""
    names = {*ALIASES, *declared(Settings), FILTER, "instructions", "system_prompt"} - {"tools"}
    options: dict[str, Any] = {}
    for each in reversed(kind.__mro__):
        if issubclass(each, base) and each is not base:
            options |= {name: value for name, value in vars(each).items() if name in names}
    return options


def servers_in(mcp: Any) -> dict[str, Any]:
    """Return the table of MCP servers in a configuration, which may be nested under `mcpServers`. Raises UsageError."""
    table = mcp.get("mcpServers", mcp) if isinstance(mcp, Mapping) else mcp
    if table is not None and not isinstance(table, Mapping):
        raise UsageError("mcp must be a table of servers, or one with mcpServers")
    by_server = by_name(dict(table or {}), "mcp")
    checked: dict[str, Any] = declared(Settings)["mcpServers"].kind.check("mcpServers", by_server)
    return checked


def locations_for(data_dir: str | os.PathLike[str] | None) -> Locations:
    """Return the user's locations; with a `data_dir`, sessions and logs are stored in that directory."""
    usual = Locations.from_environment()
    if data_dir is None:
        return usual
    directory = Path(data_dir).expanduser().absolute()
    return replace(usual, data=directory, state=directory / "state-files")


def _is_model(model: object) -> bool:
    return callable(getattr(model, "respond", None))


class _SharedModel:
    """A wrapper of a model that the caller passed; closing it does not close the model."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def respond(self, request: ModelRequest, on_delta: Any, cancel: Cancel) -> ModelResponse:
        """Call the model with the request, without the signatures that other models left in its messages."""
        own = replace(request, messages=signed_for(request.messages))
        return self._model.respond(own, on_delta, cancel)

    def close(self) -> None:
        """Do nothing: the caller closes the model."""


class CallerModels(SessionModels):
    """The models in the settings, and the model object that the caller passed, if any."""

    def __init__(self, settings: Settings, model: Model | None) -> None:
        _restore_keys(settings)
        super().__init__(settings)
        self._own = model

    def open_alone(self, name: str | None) -> Model:
        """Open the model with this name, without its fallback models. Raises ModelError."""
        if self._own is not None and name == self._own.name:
            return _SharedModel(self._own)
        return super().open_alone(name)

    def check_name(self, name: str) -> None:
        """Raise ModelError if no provider is known for a model that is not the caller's."""
        if self._own is None or name != self._own.name:
            super().check_name(name)


def _restore_keys(settings: Settings) -> None:
    """Restore the API keys that an earlier agent in this process removed from the environment."""
    variables = {settings.api_key_env, *(table.get("api_key_env") for table in settings.models.values())}
    for name in filter(None, variables):
        if name in os.environ:
            _keys[name] = os.environ[name]
        elif name in _keys:
            os.environ[name] = _keys[name]


class AgentTools:
    """Opens the tools of an agent for its session; a successful call of a special tool, such as
    `finish`, ends the run.
    """

    def __init__(self, collection: ToolCollection, special: frozenset[str], names: NameFilter) -> None:
        self._collection = collection
        self._filter = names
        self._special = special
        self._opened: SessionTools | None = None

    def open(self, context: ToolContext, is_child: bool) -> Selection:
        """Create the tools of a session; a sub-agent (`is_child`) gets its own, without the tool
        that starts sub-agents.
        """
        opened = self._collection.open(context, is_child=is_child)
        tools = opened.current()
        if is_child:
            tools = {name: tool for name, tool in tools.items() if kind_of(name) != "sub_agent"}
        else:
            self._opened = opened
        return _OpenedTools(_states(self._marked(self._allowed(tools))), (), opened)

    def update(self, tools: MutableMapping[str, ToolDefinition]) -> bool:
        """Update the session's tools, `tools`, before a model call; return whether they changed."""
        if self._opened is None or not self._opened.update(tools):
            return False
        for name in self._opened.current().keys() - self._allowed(self._opened.current()).keys():
            del tools[name]
        tools.update(self._marked({name: tools[name] for name in self._special if name in tools}))
        return True

    def _allowed(self, tools: Mapping[str, ToolDefinition]) -> dict[str, ToolDefinition]:
        return {name: tool for name, tool in tools.items() if self._filter.allows(tool)}

    def _marked(self, tools: Mapping[str, ToolDefinition]) -> dict[str, ToolDefinition]:
        return {name: ending(tool) if name in self._special else tool for name, tool in tools.items()}


@dataclass(frozen=True)
class _OpenedTools(Selection):
    """The tools with which a session started; closing them also closes tools that were added later."""

    opened: SessionTools

    def close(self) -> None:
        """Close all tools of the session."""
        self.opened.close()


def _states(tools: Mapping[str, ToolDefinition]) -> tuple[ToolState, ...]:
    return tuple(ToolState(name, True, "the program", "", (tool,)) for name, tool in tools.items())


def special_names(tools: Any) -> tuple[frozenset[str], list[Any]]:
    """Return the names of all special tools, and those of them that were passed as objects."""
    names, others = set(), []
    for each in (tools,) if isinstance(tools, str) else tools:
        if isinstance(each, str):
            names |= {each, resolve_alias(each)}
        else:
            names.add(str(each.name))
            others.append(each)
    return frozenset(names), others


def ending(tool: ToolDefinition) -> ToolDefinition:
    """Return a copy of the tool that ends the run if a call succeeds."""
    if tool.ends_run:
        return tool
    marked = copy.copy(tool)
    marked.ends_run = True
    return marked


def overrides_for(settings: Settings, model: object, tools: AgentTools | None, instructions: str) -> Overrides:
    """Return the models, tools and instructions that replace those of the settings in a session. Raises ModelError."""
    own: Any = model if _is_model(model) else None
    return Overrides(
        models=CallerModels(settings, own),
        open_tools=tools.open if tools else None,
        instructions=instructions,
        update_tools=tools.update if tools else None,
    )
