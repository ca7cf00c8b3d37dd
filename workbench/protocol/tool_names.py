"""Older names of tools that models still use; the package `tools` registers those of its own tools."""

from __future__ import annotations

from collections.abc import Container, Mapping

_current: dict[str, str] = {}


def register_older_names(names: Mapping[str, str]) -> None:
    """Register older names of tools, each with the current name."""
    _current.update(names)


def current_name(name: str, tools: Container[str]) -> str:
    """Return the current name of the tool if this is one of its older names, otherwise the name itself."""
    current = _current.get(name, name)
    return current if name not in tools and current in tools else name
