"""JSON schemas made plain: what models get to read of a tool's parameters, and words for it in error messages.

References are put in place, "or null" of what may be left out goes, titles go; everything a model can use stays.
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


_DROPPED = {"title", "$defs", "definitions", "$schema", "$id", "$comment", "discriminator"}
_BY_NAME = {"properties", "patternProperties", "dependentSchemas"}
"""Keywords whose value maps names (not keywords) to schemas."""
_SINGLE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_LISTS = (*_UNIONS, "allOf", "prefixItems")
_MAX_NODES = 5_000
_MAX_DEPTH = 40


def inlined(schema: dict[str, Any], *, keep_null: bool = False) -> dict[str, Any]:
    """The schema without references; one that leads back into itself ends in a plain object there.

    A property that may be left out loses "or null", unless `keep_null`: null says the same as leaving it out.
    """
    return _Inliner(schema, keep_null).plain(schema, (), 0)


def for_models(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object as every provider takes it: one list of properties at the top, others are refused."""
    made = {"type": "object", **flat_object(inlined(schema))}
    made.setdefault("properties", {})
    if not made.get("patternProperties"):
        made.setdefault("additionalProperties", False)
    return made


def copied(value: Any) -> Any:
    """A copy of plain JSON data that shares nothing; many times faster than `deepcopy`."""
    if isinstance(value, dict):
        return {name: copied(part) for name, part in value.items()}
    return [copied(part) for part in value] if isinstance(value, list) else value


def without_defaults(schema: Any) -> Any:
    """A copy as Gemini takes it: no `default`, and no string format but enum and date-time."""
    if isinstance(schema, list):
        return [without_defaults(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {}
    for name, value in schema.items():
        if name in _BY_NAME and isinstance(value, dict):
            made[name] = {key: without_defaults(part) for key, part in value.items()}
        elif name in ("enum", "const", "examples"):
            made[name] = copied(value)
        elif name != "default" and not _is_odd_format(name, value, schema):
            made[name] = without_defaults(value)
    return made


def _is_odd_format(name: str, value: Any, schema: dict[str, Any]) -> bool:
    kinds = schema.get("type", "string")
    return name == "format" and "string" in kinds and value not in ("enum", "date-time")


def resolve(root: dict[str, Any], reference: str) -> Any:
    """What a reference inside the document (`#/…`) points at; None where it points at nothing."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference.lstrip("#").strip("/").split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if not name:
            continue
        if isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict) and name in found:
            found = found[name]
        else:
            return None
    return found


class _Inliner:
    """One pass over one document; counts what it made, so that references cannot multiply without end."""

    def __init__(self, root: dict[str, Any], keep_null: bool) -> None:
        self._root = root
        self._keep_null = keep_null
        self._nodes = 0

    def plain(self, node: dict[str, Any], opened: tuple[str, ...], depth: int) -> dict[str, Any]:
        self._nodes += 1
        if depth > _MAX_DEPTH:
            return {}
        if isinstance(node.get("$ref"), str):
            return self._reference(node, opened, depth)
        made = {
            name: self._value(node, name, value, opened, depth + 1)
            for name, value in node.items()
            if name not in _DROPPED
        }
        for union in (*_UNIONS, "allOf"):
            made = _collapsed(made, union)
        return made

    def _reference(self, node: dict[str, Any], opened: tuple[str, ...], depth: int) -> dict[str, Any]:
        reference = node["$ref"]
        beside = {name: value for name, value in node.items() if name != "$ref"}
        target = resolve(self._root, reference)
        if not isinstance(target, dict):
            target = {}
        elif reference in opened or self._nodes > _MAX_NODES:
            target = _end_of(target)
            beside = {name: value for name, value in beside.items() if name in ("description", "default")}
        return self.plain(all_of([target, beside]), (*opened, reference), depth + 1)

    def _value(self, node: dict[str, Any], name: str, value: Any, opened: tuple[str, ...], depth: int) -> Any:
        if name in _BY_NAME and isinstance(value, dict):
            required = node.get("required") or ()
            return {key: self._property(part, key in required, opened, depth) for key, part in value.items()}
        if name in _SINGLE:
            return self._schema(value, opened, depth)
        if name in _LISTS and isinstance(value, list):
            return [self._schema(part, opened, depth) for part in value]
        return value

    def _property(self, part: Any, is_required: bool, opened: tuple[str, ...], depth: int) -> Any:
        made = self._schema(part, opened, depth)
        return made if is_required or self._keep_null or not isinstance(made, dict) else _without_null(made)

    def _schema(self, value: Any, opened: tuple[str, ...], depth: int) -> Any:
        return self.plain(value, opened, depth) if isinstance(value, dict) else value


def _end_of(target: dict[str, Any]) -> dict[str, Any]:
    """What stands for a schema where it would begin again: its kind, with everything allowed in it."""
    kind = {"type": target["type"]} if "type" in target else {"type": "object"} if is_object(target) else {}
    return {**kind, **{name: target[name] for name in ("description",) if name in target}}


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    made = dict(node)
    if made.get("default", ...) is None:
        del made["default"]
    if isinstance(made.get("type"), list):
        kinds = [kind for kind in made["type"] if kind != "null"] or ["null"]
        made["type"] = kinds[0] if len(kinds) == 1 else kinds
    if isinstance(made.get("enum"), list) and len(made["enum"]) > 1:
        made["enum"] = [value for value in made["enum"] if value is not None]
    for union in _UNIONS:
        branches = [part for part in made.get(union) or () if part != {"type": "null"}]
        if branches:
            made = _collapsed({**made, union: branches}, union)
    return made


def _collapsed(node: dict[str, Any], union: str) -> dict[str, Any]:
    """A union with one branch left: the branch takes its place, unless both speak about the same."""
    branches = node.get(union)
    if not isinstance(branches, list) or len(branches) != 1 or not isinstance(branches[0], dict):
        return node
    beside = {name: value for name, value in node.items() if name != union}
    if any(name not in ("description", "default") for name in beside.keys() & branches[0].keys()):
        return node
    made: dict[str, Any] = {}
    for name, value in node.items():
        made.update(branches[0] if name == union else {name: value})
    return {**made, **beside}


def describe_type(schema: Any) -> str:
    """A few words for what the schema accepts, as they stand in an error message."""
    if not isinstance(schema, dict):
        return "anything"
    if isinstance(schema.get("enum"), list):
        values = [str(value) for value in schema["enum"]]
        return "one of " + ", ".join(values[:20]) + (" …" if len(values) > 20 else "")
    for union in _UNIONS:
        if schema.get(union):
            return " or ".join(dict.fromkeys(describe_type(part) for part in schema[union]))
    return _describe_kind(schema, schema.get("type", "anything"))


def _describe_kind(schema: dict[str, Any], kind: Any) -> str:
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    if kind == "array":
        return f"list of {describe_type(schema['items'])}" if schema.get("items") else "list"
    if kind == "object" and schema.get("properties"):
        return "object with " + ", ".join(schema["properties"])
    return f"{kind}{_limits(schema)}"


def _limits(schema: dict[str, Any]) -> str:
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    return "".join(f" {sign} {schema[name]}" for name, sign in signs.items() if name in schema)
