"""Finds links that a pattern of the shell matches or that are below a directory: reading one reads its target."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import count
from typing import Final

from workbench.files import recorded_stat

MOST: Final = 500
"""The number of links and directories that are examined for one pattern; if there are more, it may lead outside."""
_WILDCARDS: Final = "*?["
_ENTRIES: Final = recorded_stat.DirectoryReader(lambda path: True)


class TooManyMatches(Exception):
    """There are more links, directories or files than this module examines."""


def is_pattern(path: str) -> bool:
    """Return whether the shell may expand the path to several paths."""
    return any(character in path for character in _WILDCARDS)


def symlinked_paths(pattern: str) -> Iterator[str]:
    """Yield each absolute path that matches the pattern and is a link or leads through one; hidden names match too.

    The part of the pattern after a link is not expanded. Raises TooManyMatches.
    """
    yield from _walk("", pattern.strip("/").split("/"), count())


def _walk(directory: str, parts: list[str], steps: Iterator[int]) -> Iterator[str]:
    at = next((number for number, part in enumerate(parts) if is_pattern(part)), len(parts))
    directory = "/".join([directory, *parts[:at]])
    if at == len(parts):
        if recorded_stat.real_path(directory) != directory:
            yield directory
        return
    part, rest = parts[at].replace("[^", "[!"), parts[at + 1 :]
    for entry in recorded_stat.ask(_ENTRIES, directory or "/").split("\0"):
        name = entry.removesuffix("/")
        is_directory = name != entry
        if not name or (is_directory and not rest) or not ("(" in part or fnmatchcase(name, part)):
            continue
        if next(steps) == MOST:
            raise TooManyMatches
        if is_directory:
            yield from _walk(f"{directory}/{name}", rest, steps)
        else:
            yield "/".join([directory, name, *rest])


def descendant_symlinks(directory: str, workspace: str) -> Iterator[str]:
    """Yield each link below a real directory, also below directories inside the workspace to which such links lead.

    Raises TooManyMatches.
    """
    waiting, visited = [directory], set[str]()
    while waiting:
        top = waiting.pop()
        if any(top == each or top.startswith(f"{each}/") for each in visited):
            continue
        visited.add(top)
        names = recorded_stat.list_symlinks(top)
        if names is None or len(names) > MOST or len(visited) > MOST:
            raise TooManyMatches
        for name in names:
            path = f"{top}/{name}"
            real = recorded_stat.real_path(path)
            if (real == workspace or real.startswith(f"{workspace}/")) and recorded_stat.is_directory(real):
                waiting.append(real)
            yield path
