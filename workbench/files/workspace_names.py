"""Replaces the second path that a workspace has in a container with the workspace's own path.

In the container both paths lead to the same files, on this machine only the own path does.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_BEFORE: Final = r"(?:(?<=^-\w)|(?<![\w./~*?\]}\0-]))"
"""Matches where a path may start: at the start of a word, after a one-letter flag, or after a separator such as `=`."""


def by_own_name(path: str, workspace: str, container_path: str) -> str:
    """Return an absolute path with the workspace's own path in place of `container_path`.

    A path with `..` is returned as it is, because where it leads depends on links.
    """
    if not container_path or is_at(path, workspace) or not is_at(path, container_path) or ".." in path.split("/"):
        return path
    return workspace + path[len(container_path) :]


def with_own_names(text: str, workspace: str, container_path: str) -> str:
    """Return a word or a text with the workspace's own path in place of every `container_path`."""
    return _pattern(container_path).sub(lambda _: workspace, text) if container_path in text else text


def is_at(path: str, directory: str) -> bool:
    """Return whether a path is the directory or below it, judged by the strings alone."""
    return path == directory or path.startswith(f"{directory}/")


@lru_cache(maxsize=4)
def _pattern(container_path: str) -> re.Pattern[str]:
    return re.compile(rf"{_BEFORE}{re.escape(container_path)}(?![\w.-])")
