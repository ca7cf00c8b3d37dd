"""Simplification of JSON schemas for models, and descriptions of types for error messages.

References are inlined; titles, and null as a value of optional properties, are removed. Schemas of objects that are
composed with allOf, anyOf and oneOf become one list of properties, which accepts whatever the parts accept and, where
their rules cannot be combined, a little more.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from workbench.tools.schema_repair import repaired

Node = dict[str, Any]

_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_UNIONS = ("anyOf", "oneOf")


def is_object(node: Any) -> bool:
    """Return whether the schema describes an object."""
    return isinstance(node, dict) and (node.get("type") == "object" or isinstance(node.get("properties"), dict))


def all_of(parts: Iterable[Any]) -> Node:
    """Merge all parts of an `allOf` into one schema; where two parts conflict, the later one wins."""
    return reduce(_both, (part for part in parts if isinstance(part, dict)), {})


def flat_object(node: Node) -> Node:
    """Return one object schema with the properties of all branches of allOf, anyOf and oneOf."""
    merged = {name: value for name, value in node.items() if name not in ("allOf", *_UNIONS)}
    for branch in _branches(node, "allOf"):
        merged = _both(merged, flat_object(branch))
    for union in _UNIONS:
        if branches := [flat_object(branch) for branch in _branches(node, union)]:
            merged = _both(merged, _any_of(branches))
    return merged


def _branches(node: Node, name: str) -> list[Node]:
    branches = node.get(name)
    return [branch for branch in branches if isinstance(branch, dict)] if isinstance(branches, list) else []


def _any_of(branches: list[Node]) -> Node:
    """Merge the branches of a union.

    A property is required if every branch requires it; other properties are allowed if a branch allows them.
    """
    properties: Node = {}
    for branch in branches:
        for name, part in _properties(branch).items():
            properties[name] = part if properties.get(name, part) == part else _either(properties[name], part)
    required = [name for name in _required(branches[0]) if all(name in _required(branch) for branch in branches)]
    merged: Node = {"properties": properties} if properties else {}
    merged |= {"required": required} if required else {}
    if any(branch.get("additionalProperties", False) for branch in branches):
        merged["additionalProperties"] = True
    return merged


def _either(one: Any, other: Any) -> Node:
    branches = one["anyOf"] if isinstance(one, dict) and set(one) == {"anyOf"} else [one]
    return {"anyOf": branches if other in branches else [*branches, other]}


def _properties(node: Node) -> Node:
    properties = node.get("properties")
    return properties if isinstance(properties, dict) else {}


def _required(node: Node) -> list[str]:
    required = node.get("required")
    return required if isinstance(required, list) else []


def _both(one: Node, other: Node) -> Node:
    merged = {**one, **other}
    for name in one.keys() & other.keys():
        merged[name] = _same_word(name, one[name], other[name])
    if one.get("additionalProperties") is False and _properties(other):
        del merged["additionalProperties"]  # `one` is closed only for its own properties
    return merged


def _same_word(name: str, one: Any, other: Any) -> Any:
    """Merge a keyword that both schemas of an `allOf` have; where that is impossible, the second one wins."""
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
"""Keywords whose value maps names, not keywords, to schemas."""
_SINGLE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_LISTS = (*_UNIONS, "allOf", "prefixItems")
_MAX_NODES = 5_000
_MAX_DEPTH = 40


def inlined(schema: dict[str, Any], *, keep_null: bool = False) -> dict[str, Any]:
    """Return the schema without references; a recursive reference becomes a plain object.

    Optional properties lose the type null, which means the same as omitting them, unless `keep_null` is set.
    """
    return _Inliner(schema, keep_null).plain(schema, (), 0)


def for_models(schema: dict[str, Any], *, keep_null: bool = False) -> dict[str, Any]:
    """Return the schema of an object in the form that every provider accepts: one closed list of properties.

    A schema that names no properties stays open, because it accepts any. Never raises: invalid declarations of other
    programs are omitted. Optional properties lose the type null unless `keep_null` is set.
    """
    whole = {**flat_object(inlined(repaired(schema).schema, keep_null=keep_null)), "type": "object"}
    is_open = "properties" not in whole
    whole.setdefault("properties", {})
    if not whole.get("patternProperties"):
        whole.setdefault("additionalProperties", is_open)
    return whole


def object_schema(schema: Any) -> Any:
    """Return the object schema that a boolean schema stands for; any other value unchanged."""
    return ({"type": "object"} if schema else _CLOSED) if isinstance(schema, bool) else schema


_CLOSED: Node = {"type": "object", "properties": {}, "additionalProperties": False}


def copied(value: Any) -> Any:
    """Return a deep copy of plain JSON data; many times faster than `deepcopy`."""
    if isinstance(value, dict):
        return {name: copied(part) for name, part in value.items()}
    return [copied(part) for part in value] if isinstance(value, list) else value


def resolve(root: dict[str, Any], reference: str) -> Any:
    """Return the target of a reference inside the document (`#/…`); None if there is none."""
    if not reference.startswith("#"):
        return None
    node: Any = root
    for step in reference.lstrip("#").strip("/").split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if not name:
            continue
        if isinstance(node, list) and name.isdigit() and int(name) < len(node):
            node = node[int(name)]
        elif isinstance(node, dict) and name in node:
            node = node[name]
        else:
            return None
    return node


class _Inliner:
    """Inlines the references of one document; limits the number of nodes, so that they cannot multiply endlessly."""

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
        result = {
            name: self._value(node, name, value, opened, depth + 1)
            for name, value in node.items()
            if name not in _DROPPED
        }
        for union in (*_UNIONS, "allOf"):
            result = _collapsed(result, union)
        return result

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
        plain = self._schema(part, opened, depth)
        return plain if is_required or self._keep_null or not isinstance(plain, dict) else _without_null(plain)

    def _schema(self, value: Any, opened: tuple[str, ...], depth: int) -> Any:
        return self.plain(value, opened, depth) if isinstance(value, dict) else value


def _end_of(target: dict[str, Any]) -> dict[str, Any]:
    """Return the replacement of a recursive schema: its type, without any restriction."""
    kind = {"type": target["type"]} if "type" in target else {"type": "object"} if is_object(target) else {}
    return {**kind, **{name: target[name] for name in ("description",) if name in target}}


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    result = dict(node)
    if result.get("default", ...) is None:
        del result["default"]
    if isinstance(result.get("type"), list):
        kinds = [kind for kind in result["type"] if kind != "null"] or ["null"]
        result["type"] = kinds[0] if len(kinds) == 1 else kinds
    if isinstance(result.get("enum"), list) and len(result["enum"]) > 1:
        result["enum"] = [value for value in result["enum"] if value is not None]
    for union in _UNIONS:
        branches = [part for part in result.get(union) or () if part != {"type": "null"}]
        if branches:
            result = _collapsed({**result, union: branches}, union)
    return result


def _collapsed(node: dict[str, Any], union: str) -> dict[str, Any]:
    """Inline the only branch of a union into its node, unless their keywords conflict; return any other node
    unchanged.
    """
    branches = node.get(union)
    if not isinstance(branches, list) or len(branches) != 1 or not isinstance(branches[0], dict):
        return node
    beside = {name: value for name, value in node.items() if name != union}
    if any(name not in ("description", "default") for name in beside.keys() & branches[0].keys()):
        return node
    result: dict[str, Any] = {}
    for name, value in node.items():
        result.update(branches[0] if name == union else {name: value})
    return {**result, **beside}


def describe_type(schema: Any) -> str:
    """Return a short description of the values that the schema accepts, for error messages."""
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
    symbols = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    return "".join(f" {symbol} {schema[name]}" for name, symbol in symbols.items() if name in schema)
