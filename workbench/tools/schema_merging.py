"""JSON schemas of objects taken apart by allOf, anyOf and oneOf, put together again as one list of properties.

The result accepts whatever the parts accept and, where their rules do not fit into one list, a little more.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

Node = dict[str, Any]

_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_UNIONS = ("anyOf", "oneOf")


def is_object(node: Any) -> bool:
    """Whether the schema speaks of an object."""
    return isinstance(node, dict) and (node.get("type") == "object" or isinstance(node.get("properties"), dict))


def all_of(parts: Iterable[Any]) -> Node:
    """One schema for what fits all parts."""
    return reduce(_both, (part for part in parts if isinstance(part, dict)), {})


def flat_object(node: Node) -> Node:
    """One object schema without allOf, anyOf and oneOf at its top: every property of every branch is there."""
    made = {name: value for name, value in node.items() if name not in ("allOf", *_UNIONS)}
    for branch in _branches(node, "allOf"):
        made = _both(made, flat_object(branch))
    for union in _UNIONS:
        if branches := [flat_object(branch) for branch in _branches(node, union)]:
            made = _both(made, _any_of(branches))
    return made


def _branches(node: Node, name: str) -> list[Node]:
    found = node.get(name)
    return [branch for branch in found if isinstance(branch, dict)] if isinstance(found, list) else []


def _any_of(branches: list[Node]) -> Node:
    """All properties of all branches; required is what every branch requires, closed is what every branch closes."""
    made: Node = {}
    for branch in branches:
        for name, part in _properties(branch).items():
            made[name] = part if made.get(name, part) == part else _either(made[name], part)
    required = [name for name in _required(branches[0]) if all(name in _required(branch) for branch in branches)]
    merged: Node = {"properties": made} if made else {}
    merged |= {"required": required} if required else {}
    if any(branch.get("additionalProperties", False) for branch in branches):
        merged["additionalProperties"] = True
    return merged


def _either(one: Any, other: Any) -> Node:
    known = one["anyOf"] if isinstance(one, dict) and set(one) == {"anyOf"} else [one]
    return {"anyOf": known if other in known else [*known, other]}


def _properties(node: Node) -> Node:
    found = node.get("properties")
    return found if isinstance(found, dict) else {}


def _required(node: Node) -> list[str]:
    found = node.get("required")
    return found if isinstance(found, list) else []


def _both(one: Node, other: Node) -> Node:
    made = {**one, **other}
    for name in one.keys() & other.keys():
        made[name] = _same_word(name, one[name], other[name])
    if one.get("additionalProperties") is False and _properties(other):
        del made["additionalProperties"]  # closed for its own part; the whole has the other's properties too
    return made


def _same_word(name: str, one: Any, other: Any) -> Any:
    """The value of a keyword that both parts have."""
    if name == "properties" and isinstance(one, dict) and isinstance(other, dict):
        shared = {key: _fitting(one[key], other[key]) for key in one.keys() & other.keys()}
        return {**one, **other, **shared}
    if name == "required" and isinstance(one, list) and isinstance(other, list):
        return [*one, *(key for key in other if key not in one)]
    if name == "enum" and isinstance(one, list) and isinstance(other, list):
        return [value for value in one if value in other] or other
    if name in (*_LOWER, *_UPPER) and _is_number(one) and _is_number(other):
        return max(one, other) if name in _LOWER else min(one, other)
    return other


def _fitting(one: Any, other: Any) -> Any:
    if one == other or not (isinstance(one, dict) and isinstance(other, dict)):
        return other
    return _both(one, other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
