"""Directories that this process hides from agents: no command in a sandbox sees them, and no tool reads them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

_hidden: set[str] = set()


def hide_directory(directory: Path) -> None:
    """Hide a directory from the tools of this process, and from programs in the sandboxes that it makes from now on."""
    _hidden.add(os.path.realpath(directory))


def hidden_directories() -> Sequence[str]:
    """Return the real paths of the directories that are hidden."""
    return sorted(_hidden)


def hidden_directory(path: str, *, or_inside: bool = False) -> str:
    """Return the hidden directory that a real path is in; empty if it is in none.

    With `or_inside`, the path may also contain a hidden directory.
    """
    for directory in _hidden:
        if _contains(directory, path) or (or_inside and _contains(path, directory)):
            return directory
    return ""


def _contains(directory: str, path: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")
