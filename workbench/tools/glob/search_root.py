"""Where to search: the folder or file that `path` names; for `glob` and `grep`."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from workbench.text import visible


class PlaceError(Exception):
    """There is nothing to search in that place; the message is for the model."""


@dataclass(frozen=True)
class Place:
    """`shown` is the absolute path as it was asked for, `real` the same without links."""

    shown: str
    real: str
    is_folder: bool

    def show(self, inside: str) -> str:
        """The absolute path of what was found there, on one line whatever its name holds."""
        return visible(f"{self.shown.rstrip('/')}/{inside}" if inside else self.shown, lines=False)


def locate(path: str | None, workspace: str) -> Place:
    """The place for a path (relative ones are below the workspace); raises PlaceError."""
    given = os.path.expanduser(path) if path and path.startswith("~") else path or "."  # noqa: PTH111
    shown = os.path.normpath(Path(workspace, given))
    try:
        real = os.path.realpath(shown, strict=True)
        mode = Path(real).stat().st_mode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise PlaceError(f"{visible(shown, lines=False)} cannot be searched: {reason}.{_hint(shown)}") from error
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise PlaceError(f"{visible(shown, lines=False)} is neither a folder nor a regular file; it is not searched.")
    return Place(shown, real, stat.S_ISDIR(mode))


def _hint(shown: str) -> str:
    """The nearest folder above that exists."""
    above = next((str(parent) for parent in Path(shown).parents if os.path.lexists(parent)), "/")
    return f" {visible(above, lines=False)} exists." if "\0" not in shown else ""
