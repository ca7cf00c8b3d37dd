"""Former names of tools, which models still use; the package `tools` registers them for its own tools."""

from __future__ import annotations

from collections.abc import Container, Mapping

_current: dict[str, str] = {}


def register_older_names(names: Mapping[str, str]) -> None:
    """Register former names of tools; `names` maps each to the current name."""
    _current.update(names)


def current_name(name: str, tools: Container[str]) -> str:
    """Return the current name of the tool if `name` is a former one; otherwise `name` unchanged.

    `tools` are the names of the available tools: one of them always stands for itself.
    """
    current = _current.get(name, name)
    return current if name not in tools and current in tools else name
