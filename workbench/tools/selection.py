"""The tools of one session: those the settings choose, opened, and what there is to tell about the others.

Used when a session is opened and by `ohw tools`. A wrong setting stops with one line; a tool that fails is left out.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.config.load import Settings
from workbench.errors import UsageError
from workbench.tools.choosing import Choice, choose
from workbench.tools.context import ConversationState
from workbench.tools.own_tools import OwnTool, find_own, is_name
from workbench.tools.parameters import checked_params
from workbench.tools.registry import Registrable, Tool, check_tool, find_tool, list_registered_tools, make_tools
from workbench.tools.tool import ToolDefinition, said

_PLAN = ("task_tracker",)
"""In the set "plan" beside the tools that only read."""


@dataclass(frozen=True)
class ToolState:
    """A tool by the name it is chosen by: on or off, why, and where it comes from; `tools` is empty when it is off."""

    name: str
    is_on: bool
    why: str
    source: str = ""
    tools: tuple[ToolDefinition, ...] = ()


@dataclass(frozen=True)
class Selection:
    """All tools there are; `notices` says in a line each what was left out against the person's wish."""

    states: tuple[ToolState, ...]
    notices: tuple[str, ...]

    @property
    def tools(self) -> dict[str, ToolDefinition]:
        """Those that are on, by the names models call them."""
        return {tool.name: tool for state in self.states for tool in state.tools}

    @property
    def names(self) -> set[str]:
        """The names of all tools there are, also of those that are off."""
        return {*list_registered_tools(), *(state.name for state in self.states), *self.tools}

    @property
    def secrets(self) -> dict[str, str]:
        """The keys that tools were given by the settings, by the variables they come from."""
        executors = [tool.executor for tool in self.tools.values()]
        return {name: key for each in executors for name, key in getattr(each, "secrets", {}).items()}

    def close(self) -> None:
        """Close all of them."""
        _close(self.tools.values())


def select_tools(settings: Settings, file: Path, context: ConversationState) -> Selection:
    """Open what the settings (of that file) choose; raises UsageError that names the file and the key."""
    own, notices = find_own(Path(context.workspace), settings.trusted, file, list_registered_tools())
    try:
        choices, unknown = choose(settings.tools, [tool.name for tool in own])
        opener = _Opener(context, {tool.name: tool for tool in own})
        states = opener.open_all(choices)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error
    told = getattr(context, "notices", ())
    return Selection(tuple(states), (*notices, *opener.notices, *told, *(f"{file}: {line}" for line in unknown)))


class _Opener:
    """Opens one tool after the other; keeps what went wrong."""

    def __init__(self, context: ConversationState, own: Mapping[str, OwnTool]) -> None:
        self._context = context
        self._own = own
        self._names = set(list_registered_tools())
        self.notices: list[str] = []

    def open_all(self, choices: Iterable[Choice]) -> list[ToolState]:
        """A state for each; when a setting is wrong, what is open already is closed again."""
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
                tools = self._made(choice, own)
        except _WrongSetting as error:
            raise UsageError(str(error)) from error
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the tool's own code runs here
            why = str(error) if isinstance(error, UsageError) else said(error)
            self.notices.append(f"the tool {choice.name}{f' of {source}' if source else ''} is left out: {why}")
            return ToolState(choice.name, False, f"it failed: {why}", source)
        if not tools:
            return ToolState(choice.name, False, "it cannot be offered here", source)
        if choice.only_reading and not all(tool.is_read_only or tool.name in _PLAN for tool in tools):
            _close(tools)
            return ToolState(choice.name, False, 'it can change things, and the set is "plan"', source)
        return ToolState(choice.name, True, choice.why, source, tools)

    def _made(self, choice: Choice, own: OwnTool | None) -> tuple[ToolDefinition, ...]:
        tool: Registrable = check_tool(own.load()) if own else find_tool(choice.name)
        try:
            params = checked_params(tool, choice.params)
        except UsageError as error:
            raise _WrongSetting(f"tools.{choice.name}.{error}") from error
        made = tuple(make_tools(tool, Tool(choice.name, params), self._context))
        if not made:
            raise UsageError("it has nothing here to work with")
        if own:
            with contextlib.ExitStack() as undo:
                undo.callback(_close, made)
                self._check(made)
                undo.pop_all()
        return made

    def _check(self, made: Sequence[object]) -> None:
        """What an own tool gives must be tools, under free names, whose schemas can be sent."""
        for tool in made:
            if not isinstance(tool, ToolDefinition):
                raise TypeError(f"it gave a {type(tool).__name__} where a ToolDefinition belongs")
            if tool.name in self._names or not is_name(tool.name):
                raise UsageError(f"it calls itself {tool.name!r}, which is another tool's name or none")
            json.dumps(tool.as_executable().to_openai_tool())
            self._names.add(tool.name)


def _close(tools: Iterable[object]) -> None:
    for tool in tools:
        if isinstance(tool, ToolDefinition):
            tool.close()


class _WrongSetting(UsageError):
    """A parameter that does not fit: the person's to mend, so nothing starts."""
