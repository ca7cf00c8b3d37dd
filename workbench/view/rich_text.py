"""Prints what a tool shows as a renderable of Rich, as safe text for a terminal, a pipe or a file.

Rich takes 0.1 s to import, so this happens only for tools that bring a renderable of their own.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, Final

from workbench.text import visible
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolDefinition

if TYPE_CHECKING:
    from rich.console import RenderableType

logger = logging.getLogger(__name__)
WIDTH: Final = 200
"""Columns off a terminal."""


def uses_color(stream: IO[str]) -> bool:
    """Return whether the stream is a terminal that shows colors, and the user has not switched them off (NO_COLOR)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width_of(stream: IO[str]) -> int:
    """Return the columns of a terminal, and `WIDTH` for anything else."""
    return shutil.get_terminal_size().columns if stream.isatty() else WIDTH


def renderable_of(tool: ToolDefinition | None, observation: Mapping[str, Any]) -> RenderableType | None:
    """Return the renderable of a recorded result; None if the tool has none of its own, or its code fails."""
    if tool is None or tool.observation_type.visualize is Observation.visualize:
        return None
    try:
        return tool.observation_type.model_validate(observation).visualize
    except Exception:  # the tool's own code
        logger.exception("the result of the tool %s cannot be rendered", tool.name)
        return None


def renderable_of_call(tool: ToolDefinition | None, arguments: Mapping[str, Any]) -> RenderableType | None:
    """Return the renderable of a proposed call; None if its action has none of its own, or its code fails."""
    if tool is None or tool.action_type.visualize is Action.visualize:
        return None
    try:
        action: Action = tool.action_from_arguments(dict(arguments))
        return action.visualize
    except Exception:  # the tool's own code
        logger.exception("a call of the tool %s cannot be rendered", tool.name)
        return None


def rendered_lines(renderable: RenderableType, *, width: int = WIDTH, color: bool = False) -> list[str]:
    """Return the lines of a renderable, with every control character of its text escaped; colors only if `color`.

    Text is wrapped into the width and never cut off; links are printed as their text. Empty if it cannot be rendered.
    """
    from rich.console import Console

    console = Console(width=max(1, width), color_system="standard" if color else None, force_terminal=color)
    try:
        segments = [segment for segment in console.render(renderable) if not segment.control]
    except Exception:  # a renderable of a tool's own
        logger.exception("a renderable of a tool failed")
        return []
    printed = []
    for text, style, _ in segments:
        plain = style.update_link(None) if style is not None and color else None
        pieces = [visible(piece, lines=False) if piece else "" for piece in text.split("\n")]
        printed.append("\n".join(plain.render(piece) if plain and piece else piece for piece in pieces))
    return [line.rstrip() for line in "".join(printed).rstrip("\n").split("\n")]
