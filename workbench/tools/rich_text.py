"""Prints the Rich renderables of tools as safe text for the log, a terminal, a pipe or a file.

Rich takes 0.1 s to import, so this happens only for tools that bring a renderable of their own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from workbench.text import counted, visible
from workbench.tools.pydantic_schema import json_fields
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolDefinition

if TYPE_CHECKING:
    from rich.console import RenderableType

logger = logging.getLogger(__name__)
RECORDED_WIDTH: Final = 64
"""The columns of a rendering in the log: the width of a card on the smallest screen that shows panels beside it."""
RECORDED_CHARACTERS: Final = 10_000
"""The most characters of a rendering in the log, without the line that says how many lines are missing."""


def renderable_of(kind: type[Observation], observation: Mapping[str, Any]) -> RenderableType | None:
    """Return the renderable of a result, given as plain data; None for an error, if `kind` defines no renderable, or if
    the tool's code fails.
    """
    if observation.get("is_error") or kind.visualize is Observation.visualize:
        return None
    try:
        return kind.model_validate(observation).visualize
    except (Exception, SystemExit):  # the tool's own code
        logger.exception("a %s cannot be rendered", kind.__name__)
        return None


def renderable_of_call(tool: ToolDefinition, arguments: Mapping[str, Any]) -> RenderableType | None:
    """Return the renderable of a proposed call; None if its action defines none, or if the tool's code fails."""
    if tool.action_type.visualize is Action.visualize:
        return None
    try:
        action: Action = tool.action_from_arguments(dict(arguments))
        return action.visualize
    except (Exception, SystemExit):  # the tool's own code
        logger.exception("a call of the tool %s cannot be rendered", tool.name)
        return None


def recorded_call(tool: ToolDefinition, arguments: Mapping[str, Any], masked: Callable[[Any], Any]) -> str:
    """Return a tool's own rendering of a call as text for the log; empty if it has none.

    `masked` masks the secrets of plain data. It is applied before rendering, because a line break may divide a secret.
    """
    if tool.action_type.visualize is Action.visualize:
        return ""
    return _recorded(renderable_of_call(tool, masked(arguments)))


def recorded_result(observation: Observation, masked: Callable[[Any], Any]) -> str:
    """Return a tool's own rendering of a result as text for the log, as `recorded_call` does for a call."""
    kind = type(observation)
    if kind.visualize is Observation.visualize:
        return ""
    return _recorded(renderable_of(kind, masked(json_fields(observation))))


def _recorded(renderable: RenderableType | None) -> str:
    """Return a renderable as text that is already escaped; text that is too long is cut after a whole line."""
    if renderable is None:
        return ""
    lines = rendered_lines(renderable, width=RECORDED_WIDTH)
    size = 0
    for count, line in enumerate(lines):
        size += len(line) + 1
        if size > RECORDED_CHARACTERS:
            return "\n".join([*lines[:count], f"… and {counted(len(lines) - count, 'more line')}"])
    return "\n".join(lines)


def rendered_lines(renderable: RenderableType, *, width: int, color: bool = False) -> list[str]:
    """Return the lines of a renderable, with every control character of its text escaped; colors only if `color`.

    Text is wrapped into the width and never cut off; links are printed as their text. Empty if it cannot be rendered.
    """
    from rich.console import Console

    console = Console(width=max(1, width), color_system="standard" if color else None, force_terminal=color)
    try:
        segments = [segment for segment in console.render(renderable) if not segment.control]
    except (Exception, SystemExit):  # a renderable of a tool's own
        logger.exception("a renderable of a tool failed")
        return []
    printed = []
    for text, style, _ in segments:
        plain = style.update_link(None) if style is not None and color else None
        pieces = [visible(piece, lines=False) if piece else "" for piece in text.split("\n")]
        printed.append("\n".join(plain.render(piece) if plain and piece else piece for piece in pieces))
    return [line.rstrip() for line in "".join(printed).rstrip("\n").split("\n")]
