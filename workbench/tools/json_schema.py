"""JSON schemas made plain: what models get to read of a tool's parameters, and words for it in error messages.

References are put in place, a union with null loses the null, titles go; everything a model can use stays.
"""

from __future__ import annotations

from typing import Any

_DROPPED = {"title", "$defs", "definitions", "$schema", "$id", "$comment", "discriminator"}
_BY_NAME = {"properties", "patternProperties", "dependentSchemas"}
"""Keywords whose value maps names (not keywords) to schemas."""
_UNIONS = ("anyOf", "oneOf")
_MAX_NODES = 5_000
_MAX_DEPTH = 40


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without references; one that leads back into itself ends in a plain object there."""
    return _Inliner(schema).plain(schema, (), 0)


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

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def plain(self, node: dict[str, Any], opened: tuple[str, ...], depth: int) -> dict[str, Any]:
        self._nodes += 1
        if depth > _MAX_DEPTH:
            return {}
        if isinstance(node.get("$ref"), str):
            return self._reference(node, opened, depth)
        made = {
            name: self._value(name, value, opened, depth + 1) for name, value in node.items() if name not in _DROPPED
        }
        return _without_null(made)

    def _reference(self, node: dict[str, Any], opened: tuple[str, ...], depth: int) -> dict[str, Any]:
        reference = node["$ref"]
        beside = {name: value for name, value in node.items() if name != "$ref"}
        target = resolve(self._root, reference)
        if not isinstance(target, dict):
            target = {}
        elif reference in opened or self._nodes > _MAX_NODES:
            target = {name: target[name] for name in ("type", "description") if name in target} or {"type": "object"}
        return self.plain({**target, **beside}, (*opened, reference), depth + 1)

    def _value(self, name: str, value: Any, opened: tuple[str, ...], depth: int) -> Any:
        if name in _BY_NAME and isinstance(value, dict):
            return {key: self._schema(part, opened, depth) for key, part in value.items()}
        if name in ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"):
            return self._schema(value, opened, depth)
        if name in (*_UNIONS, "allOf", "prefixItems") and isinstance(value, list):
            return [self._schema(part, opened, depth) for part in value]
        return value

    def _schema(self, value: Any, opened: tuple[str, ...], depth: int) -> Any:
        return self.plain(value, opened, depth) if isinstance(value, dict) else value


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    made = dict(node)
    if made.get("default", ...) is None:
        del made["default"]
    if isinstance(made.get("type"), list):
        kinds = [kind for kind in made["type"] if kind != "null"] or ["null"]
        made["type"] = kinds[0] if len(kinds) == 1 else kinds
    if isinstance(made.get("enum"), list) and len(made["enum"]) > 1:
        made["enum"] = [value for value in made["enum"] if value is not None]
    for union in (*_UNIONS, "allOf"):
        made = _merged(made, union)
    return made


def _merged(node: dict[str, Any], union: str) -> dict[str, Any]:
    """Null taken out of the union; with one branch left, that branch takes the union's place."""
    if not isinstance(node.get(union), list):
        return node
    branches = [part for part in node[union] if part != {"type": "null"}]
    if len(branches) != 1 or not isinstance(branches[0], dict):
        return {**node, union: branches} if branches else node
    made: dict[str, Any] = {}
    for name, value in node.items():
        made.update(branches[0] if name == union else {name: value})
    return {**made, **{name: value for name, value in node.items() if name != union}}


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
