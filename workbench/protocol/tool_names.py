"""Older names by which models still call tools; the tools package registers the older names of its own."""

from __future__ import annotations

from collections.abc import Container, Mapping

_current: dict[str, str] = {}


def register_older_names(names: Mapping[str, str]) -> None:
    """Add older names of tools, each with the current one."""
    _current.update(names)


def current_name(name: str, tools: Container[str]) -> str:
    """Return the name of the tool that a name stands for, if it is an older name of one of the tools."""
    current = _current.get(name, name)
    return current if name not in tools and current in tools else name
