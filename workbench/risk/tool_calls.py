"""Rate a tool call by the effects that the tool declares, or else by the tool's annotations and the arguments."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeGuard

from workbench.files.workspace_names import with_own_names
from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import OUTSIDE_SANDBOX, Risk
from workbench.risk.actions import assess_file, assess_foreign, assess_reading, assess_url
from workbench.risk.assessment import MOST_REASONS, Assessment, Part, one, summed
from workbench.risk.paths import PathContext
from workbench.risk.reason import Reason, Trait, failed
from workbench.text import first_line
from workbench.tools.effects import (
    AssessmentContext,
    CallsServer,
    Effect,
    LeavesSandbox,
    OwnWords,
    ReadsURL,
    RunsCommand,
    RunsPython,
    SelfRated,
    StartsAgent,
    TouchesFile,
    TypesInput,
    UsesPage,
)
from workbench.tools.tool import ToolDefinition

_MOVES = lazy_pattern(r"TAB|ESC|UP|DOWN|LEFT|RIGHT|HOME|END|PGUP|PGDN|BS|C-(?i:[abefhiklnptuwy])|")
_DOES: Mapping[str, str] = {
    "ENTER": "submits the input of the running program",
    **dict.fromkeys(("C-J", "C-M"), "submits the input of the running program"),
    "C-C": "interrupts the program that runs",
    "C-Z": "stops the program that runs, and leaves it waiting",
    "C-D": "ends what is typed into the program that runs, which may end or continue it",
}
"""The effect of a key; keys not listed move within or delete unsubmitted text, or depend on the program."""
_KEY = lazy_pattern(r"C-[a-zA-Z]|ENTER")
_UNKNOWN = Assessment("UNKNOWN")
_NO_RATING: Final = "the tool rates its call in a way that cannot be read"
_HEIGHT: Final[tuple[Risk, ...]] = ("LOW", "UNKNOWN", "MEDIUM", "HIGH")
"""The risks in ascending order; UNKNOWN ranks above LOW, because an unknown risk is not a low one."""


class RatingContext(NamedTuple):
    """The directories in which a call would run."""

    workspace: str
    directory: str = ""
    """The working directory of the call's shell; the workspace if empty."""

    @property
    def starts_in(self) -> str:
        """The directory in which a command starts."""
        return self.directory or self.workspace

    @property
    def for_tool(self) -> AssessmentContext:
        """The context in the form that a tool needs to declare its effects."""
        return AssessmentContext(self.workspace, self.starts_in)


def assess(tool: ToolDefinition, arguments: Mapping[str, Any], context: RatingContext) -> Assessment:
    """Return the rating of a tool call; UNKNOWN if nothing is known about it. Never raises."""
    try:
        return _assessed(tool, arguments, PathContext(context.workspace, str(Path.home())), context.starts_in)
    except Exception as error:  # noqa: BLE001 - no error here may let an action through
        return one("HIGH", failed(error))


def live_inputs(tool: ToolDefinition, arguments: Mapping[str, Any], context: RatingContext) -> str:
    """Return, as text, the inputs of a rating besides the arguments; calls with equal texts are rated equally.

    Raises whatever the tool's own code raises.
    """
    effects = tuple(tool.assess(arguments, context.for_tool))
    return repr((_is_ours(tool), tool.is_read_only, tool.annotations, effects))


def executed_by(
    rated: Assessment,
    tool: ToolDefinition,
    arguments: Mapping[str, Any],
    context: RatingContext,
    pending: Mapping[str, str | None],
) -> dict[str, str]:
    """Return the files that a call would execute or read as code, by path, with a fingerprint of each.

    A fingerprint is the hash of the file's content, or its stat if that is not read, and the real path if the path
    contains links. `rated` is the call's rating. `pending` maps paths that earlier actions will write to their future
    text, which is then hashed.
    """
    effects = _effects(tool, arguments, context)
    commands = [each for each in effects if _is_command(each)]
    lines = [each.line if isinstance(each, RunsCommand) else each.text for each in commands]
    code = [each.code for each in effects if isinstance(each, RunsPython)]
    if not lines and not code:
        return {}
    from workbench.risk.executed_files import executed_files

    text, source = "\n".join(lines), "\n".join(code)
    second = next((each.container_path for each in commands if each.container_path), "")
    text = with_own_names(text, context.workspace, second) if second else text
    return executed_files(
        rated.parts, context.workspace, context.starts_in, text=text, code=source, pending=pending, second=second
    )


def files_of_start(argv: Sequence[str], directory: str, variables: Mapping[str, str]) -> Mapping[str, str]:
    """Return the files that a program started in `directory` runs or reads as code, each with its fingerprint.

    These are the files named by its command and `variables`, and the files that those files name in turn; of the other
    sources of a project, only those directly in the named directories. Without `directory`, relative words name
    nothing.
    """
    from workbench.risk.commands import assess_command
    from workbench.risk.executed_files import files_started

    line = " ".join((*(f"{name}={shlex.quote(value)}" for name, value in variables.items()), shlex.join(argv)))
    base = directory or os.devnull
    parts = assess_command(line, PathContext(base, str(Path.home())), base).parts
    return files_started(parts, base, argv, text=line)


def _effects(tool: ToolDefinition, arguments: Mapping[str, Any], context: RatingContext) -> Sequence[Effect]:
    """Return the effects that the tool declares; none if its own code fails, which `assess` rates."""
    try:
        return tuple(tool.assess(arguments, context.for_tool))
    except Exception:  # noqa: BLE001 - the tool's own code
        return ()


def _is_command(effect: Effect) -> TypeGuard[RunsCommand | TypesInput]:
    return isinstance(effect, RunsCommand | TypesInput)


def _assessed(tool: ToolDefinition, arguments: Mapping[str, Any], paths: PathContext, directory: str) -> Assessment:
    effects = tuple(tool.assess(arguments, AssessmentContext(paths.workspace, directory)))
    declared = _highest(_rated(effect, paths, directory) for effect in effects) if effects else None
    if declared is not None and _is_ours(tool):
        return declared
    unrated = assess_reading(arguments, paths) if tool.is_read_only else _by_its_hints(tool)
    return unrated if declared is None else _raised(unrated, declared)


def _is_ours(tool: ToolDefinition) -> bool:
    """Return whether the tool's code is part of this program; `workbench.tools.effects` says why that matters."""
    return type(tool).__module__.startswith("workbench.")


def _highest(rated: Iterable[Assessment]) -> Assessment:
    """Combine assessments into one with all parts, the highest risk and the reasons for it."""
    first, *others = rated
    for each in others:
        high = max(first, each, key=_height)
        reasons = (*first.reasons, *each.reasons) if first.risk == each.risk else high.reasons
        first = first._replace(
            risk=high.risk, reasons=tuple(dict.fromkeys(reasons))[:MOST_REASONS], parts=(*first.parts, *each.parts)
        )
    return first


def _raised(unrated: Assessment, declared: Assessment) -> Assessment:
    """Return the rating that a third-party tool declares, but no lower than if it had declared none."""
    # If both are equal, `max` returns the first, which does not rely on the tool. The server's name is dropped, because
    # rules use it to allow that server's tools.
    highest = max(unrated, declared, key=_height)
    return Assessment(highest.risk, highest.reasons, (*unrated.parts, *declared.parts))


def _height(rated: Assessment) -> int:
    return _HEIGHT.index(rated.risk)


def _rated(effect: Effect, paths: PathContext, directory: str) -> Assessment:
    rate = _RATERS.get(type(effect))
    return rate(effect, paths, directory) if rate else one("HIGH", _NO_RATING)


def _command(effect: RunsCommand, paths: PathContext, directory: str) -> Assessment:
    from workbench.risk.commands import assess_command  # defers loading the parser to the first command

    return assess_command(effect.line, paths.in_container(effect.container_path).granting(effect.granted), directory)


def _typed(effect: TypesInput, paths: PathContext, directory: str) -> Assessment:
    """Return the rating of typing into the running programs; a single key is rated by its effect."""
    key = effect.text.strip()
    if _MOVES.fullmatch(key):
        return Assessment("LOW")
    if _KEY.fullmatch(key):
        return one("MEDIUM", _DOES.get(key.upper(), "a key with a meaning in the program that runs"), key)
    from workbench.risk.terminal_input import Waiting, assess_typed

    paths = paths.in_container(effect.container_path)
    return assess_typed(effect.text, [Waiting(*each) for each in effect.programs], paths, paths.placed(directory))


def _code(effect: RunsPython, paths: PathContext, directory: str) -> Assessment:
    """Return the rating of Python code, and also of the interpreter if the workspace provides it."""
    from workbench.risk.cells import assess_cell, assess_python

    rated = (assess_cell if effect.is_cell else assess_python)(effect.code, paths, directory)
    if not effect.starts:
        return rated
    program = Part(effect.starts, "MEDIUM", f"starts {effect.starts}, a program from this directory")
    return summed([*rated.parts, program])


def _page(effect: UsesPage, paths: PathContext, directory: str) -> Assessment:
    from workbench.risk.browser import assess_calls

    return assess_calls(effect.calls, paths, effect.url, effect.elements)


def _server(effect: CallsServer, paths: PathContext, directory: str) -> Assessment:
    return assess_foreign(
        {
            "tool": effect.tool,
            "server": effect.server,
            "description": effect.description,
            "args": effect.arguments,
            "call": effect.call,
            "annotations": effect.annotations,
            "pinned": effect.is_approved,
        }
    )


def _self_rated(effect: SelfRated, paths: PathContext, directory: str) -> Assessment:
    if effect.risk not in _HEIGHT:
        return one("HIGH", _NO_RATING)
    return one(effect.risk, f"the tool says: {effect.reason}")


def _agent(effect: StartsAgent) -> Assessment:
    """Return the rating of starting another agent, which asks only about what it chooses to ask about."""
    if not effect.is_contained:
        return one("HIGH", _STARTS_FREE, "another agent")
    if effect.only_reads:
        return Assessment("LOW")
    return one("MEDIUM", _STARTS_CONFINED, "another agent")


_STARTS_FREE: Final = Reason("starts a program that acts on its own, with no sandbox around it", Trait.STARTS_AGENT)
_STARTS_CONFINED: Final = Reason("starts a program that acts on its own inside the sandbox", Trait.STARTS_AGENT)
_OWN_WORDS: Final = Reason("only the agent's own words say what it would do", Trait.SELF_DESCRIBED)


def _reason_to_leave(effect: LeavesSandbox) -> str:
    why = first_line(effect.why, _LONGEST_REASON)
    return f"runs outside the sandbox: {why}" if why else "runs outside the sandbox, for no given reason"


_LONGEST_REASON: Final = 200
_RATERS: Final[Mapping[type, Callable[[Any, PathContext, str], Assessment]]] = {
    RunsCommand: _command,
    TypesInput: _typed,
    RunsPython: _code,
    TouchesFile: lambda effect, paths, _: assess_file(effect.operation, effect.path, paths),
    ReadsURL: lambda effect, *_: assess_url(effect.url),
    UsesPage: _page,
    CallsServer: _server,
    SelfRated: _self_rated,
    StartsAgent: lambda effect, *_: _agent(effect),
    OwnWords: lambda *_: one("MEDIUM", _OWN_WORDS, "a call of another agent"),
    LeavesSandbox: lambda effect, paths, _: one("HIGH", _reason_to_leave(effect), OUTSIDE_SANDBOX),
}


def _by_its_hints(tool: ToolDefinition) -> Assessment:
    """Return HIGH if the tool declares itself destructive, otherwise UNKNOWN; a protocol default does not count."""
    hints = tool.annotations
    if hints.destructiveHint and "destructiveHint" in hints.model_fields_set:
        return one("HIGH", "the tool is marked as destructive")
    return _UNKNOWN
