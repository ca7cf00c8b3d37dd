"""Resolves the type hints of functions of other programs, also if some names exist for type checkers only."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, get_type_hints


def hints_of(function: object) -> dict[str, Any]:
    """Return the hints by name; one that cannot be resolved is left out. Raises TypeError for an object without any."""
    try:
        return get_type_hints(function, include_extras=True)
    except NameError:
        names = getattr(function, "__globals__", {})
        hints: dict[str, Any] = {}
        for name, written in getattr(function, "__annotations__", {}).items():
            try:
                hints |= get_type_hints(SimpleNamespace(__annotations__={name: written}), names, include_extras=True)
            except NameError:
                continue
        return hints
