"""Selects and opens a session's tools according to `[tools]` in the settings: its `set`, and its entries for tools."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from workbench.config.settings import Settings
from workbench.config.table import FILTER
from workbench.errors import UsageError
from workbench.suggest import nearest
from workbench.tools.coercion import error_line
from workbench.tools.context import ConversationState
from workbench.tools.factories import Hints, settable
from workbench.tools.manifest import BUILTIN_TOOLS
from workbench.tools.name_filter import NameFilter
from workbench.tools.registry import (
    Registrable,
    Tool,
    check_tool,
    find_tool,
    list_registered_tools,
    make_tools,
    resolve_alias,
    stands_in,
)
from workbench.tools.tool import ToolDefinition
from workbench.tools.user_tools import OwnTool, find_own, is_name


class Choice(msgspec.Struct, frozen=True):
    """Whether a tool is on, and why; with `only_reading`, it is on only if it is read-only."""

    name: str
    is_on: bool
    why: str
    params: Mapping[str, Any] = msgspec.field(default_factory=dict)
    only_reading: bool = False


def choose(table: Mapping[str, Any], own: Sequence[str] = ()) -> tuple[list[Choice], list[str]]:
    """Return a choice for every tool, and a message for every unknown name in `table`, which is `[tools]`.

    `own` are the names of the user's own tools. Raises UsageError for a name that seems to be misspelled.
    """
    only_reading = table.get("set") == "plan"
    by_default = (*BUILTIN_TOOLS, *own)
    names = dict.fromkeys((*BUILTIN_TOOLS, *list_registered_tools(), *own))
    lines, unknown = _lines(table, names)
    choices = [
        _chosen(name, lines[name])
        if name in lines
        else Choice(name, name in by_default, _why(name in by_default, only_reading), only_reading=only_reading)
        for name in names
    ]
    return choices, unknown


def _lines(table: Mapping[str, Any], names: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the entries of the table by the current names of the tools, and a message for every unknown name."""
    lines: dict[str, Any] = {}
    unknown = []
    for key, value in table.items():
        name = resolve_alias(key)
        if key in ("set", FILTER):
            continue
        if name in lines:
            raise UsageError(f"tools.{key} says again what to do with {name}; keep one of the lines")
        if name in names:
            lines[name] = value
        elif near := nearest(name, names, 0.8):
            raise UsageError(f"tools.{key}: there is no such tool; did you mean {near}?")
        else:  # it may be a tool of another workspace
            unknown.append(f"tools.{key}: there is no such tool here")
    return lines, unknown


def _chosen(name: str, line: bool | dict[str, Any]) -> Choice:
    params = dict(line) if isinstance(line, dict) else {}
    is_on = params.pop("on", True) if isinstance(line, dict) else line
    if not isinstance(is_on, bool):
        raise UsageError(f"tools.{name}.on must be true or false, not {is_on!r}")
    return Choice(name, is_on, "your settings", params)


def _why(is_on: bool, only_reading: bool) -> str:
    if not is_on:
        return "by default"
    return 'the set "plan"' if only_reading else "by default"


def checked_params(tool: object, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters converted to their type hints.

    Raises a UsageError whose message starts with the parameter's name.
    """
    if not params:
        return {}  # without a look at the signature, which takes longer than all else about most tools
    hints, takes_any = settable(tool)
    checked = {}
    for name, value in params.items():
        if name in hints:
            checked[name] = _checked(name, value, hints[name])
        elif takes_any:
            checked[name] = value
        else:
            raise UsageError(f"{name} is not a parameter{_instead(name, hints)}")
    return checked


def _checked(name: str, value: Any, hint: Any) -> Any:
    try:
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        message = error.errors(include_url=False, include_context=False)[0]["msg"]
        raise UsageError(f"{name} cannot be {value!r}: {message[:1].lower()}{message[1:]}") from error
    except PydanticUserError:  # a type that a settings file cannot express
        raise UsageError(f"{name} cannot be set here") from None


def _instead(name: str, hints: Hints) -> str:
    near = nearest(name, hints)
    if near:
        return f"; did you mean {near}?"
    return f"; it takes {', '.join(sorted(hints))}" if hints else "; the tool takes none"


FILTERED = f"excluded by tools.{FILTER}"
_PLAN = ("task_tracker",)
"""Tools that are in the set "plan" even if they are not read-only."""


@dataclass(frozen=True)
class ToolState:
    """The state of a name in the settings: on or off, the reason, its source, and its tools (empty if it is off)."""

    name: str
    is_on: bool
    why: str
    source: str = ""
    tools: tuple[ToolDefinition, ...] = ()


@dataclass(frozen=True)
class Selection:
    """All tools with their state; `notices` has a line for each that was omitted although the settings enable it."""

    states: tuple[ToolState, ...]
    notices: tuple[str, ...]

    @property
    def tools(self) -> dict[str, ToolDefinition]:
        """The tools that are on, by the names that models use."""
        return {tool.name: tool for state in self.states for tool in state.tools}

    @property
    def names(self) -> set[str]:
        """The names of all tools, including disabled ones."""
        return {*list_registered_tools(), *(state.name for state in self.states), *self.tools}

    @property
    def secrets(self) -> dict[str, str]:
        """The keys that tools got from the settings, by the name of their environment variable."""
        executors = [tool.executor for tool in self.tools.values()]
        return {name: key for each in executors for name, key in getattr(each, "secrets", {}).items()}

    def close(self) -> None:
        """Close all tools."""
        _close(self.tools.values())


def select_tools(settings: Settings, file: Path, context: ConversationState) -> Selection:
    """Open the tools that the settings, read from `file`, select. Raises a UsageError that names the file
    and the key.
    """
    own, notices = find_own(Path(context.workspace), settings.trusted, file, list_registered_tools())
    try:
        choices, unknown = choose(settings.tools, [tool.name for tool in own])
        opener = _Opener(context, {tool.name: tool for tool in own}, NameFilter.of(settings.tools))
        states = opener.open_all(choices)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error
    context_notices = getattr(context, "notices", ())
    return Selection(
        tuple(states), (*notices, *opener.notices, *context_notices, *(f"{file}: {line}" for line in unknown))
    )


class _Opener:
    """Opens tools one after the other; collects a notice for each that fails."""

    def __init__(self, context: ConversationState, own: Mapping[str, OwnTool], names: NameFilter) -> None:
        self._context = context
        self._own = own
        self._filter = names
        self._names = set(list_registered_tools())
        self.notices: list[str] = []

    def open_all(self, choices: Iterable[Choice]) -> list[ToolState]:
        """Return a state for each choice. Raises UsageError for an invalid setting, after closing all tools."""
        with contextlib.ExitStack() as undo:
            states = []
            for choice in choices:
                state = self._open(choice)
                for tool in state.tools:
                    undo.callback(tool.close)
                states.append(state)
            undo.pop_all()
        return states

    def _open(self, choice: Choice) -> ToolState:
        own = self._own.get(choice.name)
        source = own.source if own else ""
        if not choice.is_on:
            return ToolState(choice.name, False, choice.why, source)
        try:
            with contextlib.redirect_stdout(sys.stderr):  # stdout belongs to the workbench
                tools = self._create(choice, own)
        except _WrongSetting as error:
            raise UsageError(str(error)) from error
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the tool's own code runs here
            why = str(error) if isinstance(error, UsageError) else error_line(error)
            self.notices.append(f"the tool {choice.name}{f' of {source}' if source else ''} is ignored: {why}")
            return ToolState(choice.name, False, f"it failed: {why}", source)
        if not tools:
            return ToolState(choice.name, False, "it cannot be offered here", source)
        if choice.only_reading and not all(tool.is_read_only or tool.name in _PLAN for tool in tools):
            _close(tools)
            return ToolState(choice.name, False, 'it can change things, and the set is "plan"', source)
        return self._filtered(ToolState(choice.name, True, choice.why, source, tools))

    def _filtered(self, state: ToolState) -> ToolState:
        """Return the state with the tools that the filter allows; the others are closed."""
        allowed = tuple(tool for tool in state.tools if self._filter.allows(tool))
        _close(tool for tool in state.tools if tool not in allowed)
        if not allowed:
            return replace(state, is_on=False, why=FILTERED, tools=())
        return replace(state, tools=allowed)

    def _create(self, choice: Choice, own: OwnTool | None) -> tuple[ToolDefinition, ...]:
        tool: Registrable = check_tool(own.load()) if own else find_tool(choice.name)
        try:
            params = checked_params(tool, choice.params)
        except UsageError as error:
            raise _WrongSetting(f"tools.{choice.name}.{error}") from error
        tools = tuple(make_tools(tool, Tool(choice.name, params), self._context))
        if not tools:
            raise UsageError("it has nothing here to work with")
        with contextlib.ExitStack() as undo:
            undo.callback(_close, tools)
            self._check(tools, is_own=own is not None)
            undo.pop_all()
        return tools

    def _check(self, tools: Sequence[ToolDefinition], *, is_own: bool) -> None:
        """Raise an error if a tool has the name of a built-in tool. The user's own tools (`is_own`) must also have
        valid names that no other tool has, and schemas that can be sent.
        """
        for tool in tools:
            if not stands_in(tool):
                raise UsageError(
                    f"it calls itself {tool.name!r}, but calls of that built-in tool are rated by its name"
                )
            if not is_own:
                continue
            if tool.name in self._names or not is_name(tool.name):
                raise UsageError(f"it calls itself {tool.name!r}, which is another tool's name or none")
            json.dumps(tool.as_executable().to_openai_tool())
            self._names.add(tool.name)


def _close(tools: Iterable[ToolDefinition]) -> None:
    for tool in tools:
        tool.close()


class _WrongSetting(UsageError):
    """An invalid parameter, which the user must correct before anything starts."""
