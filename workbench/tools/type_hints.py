"""Resolves the type hints of functions of other programs, also if some names exist for type checkers only."""

from __future__ import annotations

import sys
from functools import reduce
from operator import or_
from types import GenericAlias, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    NotRequired,
    Required,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import typing_extensions


def hints_of(function: object) -> dict[str, Any]:
    """Return the hints by name; unresolvable ones are omitted. Raises TypeError for an object that can have none."""
    return {name: _readable(hint, {}) for name, hint in _hints(function).items()}


def _hints(function: object) -> dict[str, Any]:
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


def _readable(hint: Any, converted: dict[Any, Any]) -> Any:
    """Return the hint with each `typing.TypedDict` as one of typing_extensions.

    Before Python 3.12 a `typing.TypedDict` does not record all that pydantic needs, so pydantic rejects it.
    """
    if sys.version_info >= (3, 12):
        return hint
    if is_typeddict(hint) and type(hint).__module__ == "typing":
        return converted[hint] if hint in converted else _dictionary(hint, converted)
    args = get_args(hint)
    parts = tuple(_readable(each, converted) for each in args)
    if all(part is each for part, each in zip(parts, args, strict=True)):
        return hint
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return reduce(or_, parts)
    if origin is Annotated:
        return Annotated[parts]
    return GenericAlias(origin, parts) if isinstance(hint, GenericAlias) else hint.copy_with(parts)


def _dictionary(kind: Any, converted: dict[Any, Any]) -> Any:
    """Return the same TypedDict, made with typing_extensions; where it contains itself, any dictionary is accepted."""
    converted[kind] = dict[str, Any]
    fields: dict[str, Any] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        is_marked = get_origin(hint) in (Required, NotRequired)
        mark = get_origin(hint) if is_marked else Required if name in kind.__required_keys__ else NotRequired
        fields[name] = cast(Any, mark)[_readable(get_args(hint)[0] if is_marked else hint, converted)]
    converted[kind] = cast(Any, typing_extensions.TypedDict)(kind.__name__, fields)
    converted[kind].__doc__, converted[kind].__module__ = kind.__doc__, kind.__module__
    return converted[kind]
