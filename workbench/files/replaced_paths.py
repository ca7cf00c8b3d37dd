"""Paths at which nothing will be once some files are removed: a file takes the place of a directory, or the reverse."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path


def is_vacated(path: Path, removed: Collection[str]) -> bool:
    """Return whether nothing is at a path once the files with these absolute paths are removed.

    Either one of them is, as a file or link, where a directory above the path must be; or the path is a directory that
    contains at least one of them, and no other file.
    """
    if not removed or ".." in path.parts:  # nothing is known of a path that may lead elsewhere
        return False
    if any(str(parent) in removed and _is_file(parent) for parent in path.parents):
        return True
    if path.is_symlink() or not path.is_dir():
        return False
    has_files = False
    for parent, names, files in os.walk(path, onerror=_fail):
        symbolic = (name for name in names if Path(parent, name).is_symlink())
        for name in (*files, *symbolic):
            has_files = True
            if str(Path(parent, name)) not in removed:
                return False
    return has_files


def directories_in(path: Path) -> list[Path]:
    """Return a directory and those in it, the innermost first."""
    return [Path(parent) for parent, _, _ in os.walk(path, topdown=False)]


def _is_file(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _fail(error: OSError) -> None:
    raise error
