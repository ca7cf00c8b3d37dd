"""Paths as a person writes them: `~` for the home folder."""

from __future__ import annotations

from pathlib import Path


def from_home(path: Path) -> str:
    """The path with `~` before it where it lies in the home folder."""
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)
