"""The directory or file that `glob` and `grep` search, resolved from their argument `path`."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from workbench.files.hidden_directories import hidden_directory
from workbench.text import visible


class SearchRootError(Exception):
    """The path cannot be searched; the message is for the model."""


@dataclass(frozen=True)
class SearchRoot:
    """The directory or file to search: `path` is absolute, as named by the model, `real` without symbolic links."""

    path: str
    real: str
    is_directory: bool

    def show(self, relative: str) -> str:
        """Return the absolute path of an entry, or of the root for "", with control characters made visible."""
        return visible(f"{self.path.rstrip('/')}/{relative}" if relative else self.path, lines=False)


def locate(path: str | None, workspace: str) -> SearchRoot:
    """Return the root for a path; relative paths start at the workspace. Raises SearchRootError."""
    expanded = os.path.expanduser(path) if path and path.startswith("~") else path or "."  # noqa: PTH111
    absolute = os.path.normpath(Path(workspace, expanded))
    try:
        real = os.path.realpath(absolute, strict=True)
        mode = Path(real).stat().st_mode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SearchRootError(
            f"{visible(absolute, lines=False)} cannot be searched: {reason}.{_hint(absolute)}"
        ) from error
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise SearchRootError(
            f"{visible(absolute, lines=False)} is neither a directory nor a regular file; it is not searched."
        )
    if hidden := hidden_directory(real, or_inside=True):
        raise SearchRootError(
            f"{visible(absolute, lines=False)} is not searched: {visible(hidden, lines=False)} is hidden from you, and "
            "what is in there does not belong to your task."
        )
    return SearchRoot(absolute, real, stat.S_ISDIR(mode))


def _hint(absolute: str) -> str:
    """Return a sentence naming the nearest existing parent directory; empty for a path with NUL."""
    above = next((str(parent) for parent in Path(absolute).parents if os.path.lexists(parent)), "/")
    return f" {visible(above, lines=False)} exists." if "\0" not in absolute else ""
