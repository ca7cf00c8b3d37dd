"""Walk directories of a project within a budget of entries, leaving out what builds and package managers create."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Final

_PASSED_OVER: Final = re.compile(
    r"(?:\.git|\.hg|\.venv|venv|node_modules|__pycache__|build|dist|target|out|\..*cache)\Z"
)


def files_under(top: str, pending: Mapping[str, str | None], budget: Iterator[int]) -> Iterator[str]:
    """Yield the files below a directory, including those that earlier actions will write."""
    for directory, names in _listed(top, budget):
        yield from (f"{directory}/{name}" for name in names)
    yield from (path for path in pending if path.startswith(f"{top}/"))


def directories_under(top: str, budget: Iterator[int]) -> Iterator[str]:
    """Yield a directory and the directories below it, the nearest first."""
    return (directory for directory, _ in _listed(top, budget))


def _listed(top: str, budget: Iterator[int]) -> Iterator[tuple[str, list[str]]]:
    """Yield each directory with the names of its files; stop when the budget is used up."""
    directories = [top]
    while directories:
        directory = directories.pop(0)
        files: list[str] = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if next(budget, None) is None:
                        yield directory, files
                        return
                    if not entry.is_dir(follow_symlinks=False):
                        files.append(entry.name)
                    elif not _PASSED_OVER.match(entry.name):
                        directories.append(f"{directory}/{entry.name}")
        except (OSError, ValueError):
            continue
        yield directory, files
