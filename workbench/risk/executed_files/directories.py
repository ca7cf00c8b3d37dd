"""Walks a project's directories, up to a number of entries, skipping those that package managers and tools create."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final

from workbench.lazy_pattern import lazy_pattern

_PASSED_OVER: Final = lazy_pattern(r"(?:\.(?:git|hg|jj|svn)|\.venv|venv|node_modules|__pycache__|\..*cache)\Z")
_OUTPUTS: Final = frozenset({"build", "dist", "target", "out"})
"""Directories that usually contain what a build creates, but sometimes sources or the build's own program."""
_MOST_OUTPUTS: Final = 4_000
"""The number of entries to examine in such directories, after everything else."""
_STEP: Final = 200
"""If the budget runs out within a directory, the number of its files that are used is rounded down to a multiple of
this.
"""


def files_under(top: str, pending: Mapping[str, str | None], budget: Iterator[int]) -> Iterator[str]:
    """Yield the files below a directory, including those that earlier actions will write; each entry consumes the
    budget.
    """
    for directory, names in _listed(top, budget):
        yield from (f"{directory}/{name}" for name in names)
    yield from (path for path in pending if path.startswith(f"{top}/"))


def directories_under(top: str, budget: Iterator[int]) -> Iterator[str]:
    """Yield a directory and the directories below it, the nearest first."""
    return (directory for directory, _ in _listed(top, budget))


def _listed(top: str, budget: Iterator[int]) -> Iterator[tuple[str, list[str]]]:
    """Yield each directory with the names of its files; build outputs come last and have a budget of their own."""
    outputs: list[str] = []
    yield from _walk(deque([top]), budget, outputs)
    yield from _walk(deque(outputs), iter(range(_MOST_OUTPUTS)))


def _walk(
    directories: deque[str], budget: Iterator[int], outputs: list[str] | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Yield directories with their files, the nearest first; collect outputs of builds in `outputs` if it is a list."""
    while directories:
        directory = directories.popleft()
        files: list[str] = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if next(budget, None) is None:
                        # One more file anywhere moves the end by one; rounding keeps the same files in most cases.
                        yield directory, files[: len(files) // _STEP * _STEP]
                        return
                    if not entry.is_dir(follow_symlinks=False):
                        files.append(entry.name)
                    elif outputs is not None and entry.name in _OUTPUTS:
                        outputs.append(f"{directory}/{entry.name}")
                    elif not _PASSED_OVER.match(entry.name):
                        directories.append(f"{directory}/{entry.name}")
        except (OSError, ValueError):
            continue
        yield directory, files
