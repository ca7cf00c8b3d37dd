"""Conversion of tool schemas to the forms that individual providers accept.

Gemini's function declarations have a subset, the schema object of an older OpenAPI: one type for a value, `nullable`,
`enum` for strings, `items` for lists and `anyOf`. Anything else makes the whole request fail, so it is moved into the
description. The format is that of `Schema` in https://ai.google.dev/api/caching#Schema.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from typing import Any, Final, TypeAlias

from workbench.tools.json_schema import all_of, describe_type, flat_object, is_object

Node: TypeAlias = dict[str, Any]

_MAX_DEPTH: Final = 24
_LIMITS: Final[dict[str, tuple[str, ...]]] = {
    "string": ("minLength", "maxLength", "pattern"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_SCALARS: Final = ("string", "number", "boolean")
_FORMATS: Final = ("enum", "date-time")
_KEYWORDS_OF: Final = {"properties": "object", "items": "array", "prefixItems": "array", "pattern": "string"}
"""The type of a value that has a certain keyword but no type."""
_MISREAD: Final = {"gemini": frozenset({"", "$ref", "strict"}), "bedrock": frozenset({"$ref"})}
"""Names of properties that cannot be sent, because litellm's mapping takes them for keywords of a schema."""


def for_provider(model: str, schema: Node) -> tuple[Node, list[str]]:
    """Return the schema of a tool as the provider of this model accepts it, and the parameters that were omitted.

    Raises ValueError if a required parameter cannot be declared.
    """
    name = model.lower()
    if "gemini" in name:
        return for_gemini(schema)
    if "bedrock" in name:
        omitted: list[str] = []
        return _without_misread(schema, omitted, _MISREAD["bedrock"]), omitted
    return schema, []


def for_gemini(schema: Mapping[str, Any]) -> tuple[Node, list[str]]:
    """Return a copy of a schema without references in Gemini's form, and the parameters that were omitted.

    Raises ValueError if a required property cannot be declared.
    """
    omitted: list[str] = []
    node = {name: value for name, value in _node(dict(schema), omitted, 0).items() if name != "nullable"}
    return node, omitted


def _node(schema: Any, omitted: list[str], depth: int) -> Node:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return _anything()
    schema = _merged(schema)
    node = _typed(schema, omitted, depth)
    return _with_words(node, [schema.get("description"), _beyond(schema)])


def _with_words(node: Node, words: Sequence[Any]) -> Node:
    """Return the node with a description; a union has it in its branches, because it may have nothing beside them."""
    if "anyOf" in node:
        return {"anyOf": [_with_words(part, [*words, part.get("description")]) for part in node["anyOf"]]}
    sentences = list(dict.fromkeys(each for each in words if each))
    return (
        {**node, "description": ". ".join([each.rstrip(".") for each in sentences[:-1]] + sentences[-1:])}
        if sentences
        else node
    )


def _merged(schema: Node) -> Node:
    """Return the schema with its `allOf` merged, and with `const` replaced by an `enum` of one value."""
    if isinstance(schema.get("allOf"), list):
        beside = {name: value for name, value in schema.items() if name != "allOf"}
        schema = flat_object(schema) if is_object(schema) else all_of([*schema["allOf"], beside])
    if is_object(schema) and any(schema.get(union) for union in ("anyOf", "oneOf")):
        schema = flat_object(schema)
    if "const" in schema:
        schema = {**schema, "enum": [schema["const"]]}
    description = schema.get("description")
    return schema if isinstance(description, str | None) else {**schema, "description": str(description)}


def _typed(schema: Node, omitted: list[str], depth: int) -> Node:
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return _enum(schema["enum"], schema.get("format"))
    union = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(union, list):
        return _any_of([_node(part, omitted, depth + 1) for part in union])
    kinds = _kinds(schema)
    return _any_of([_of_type(kind, schema, omitted, depth) for kind in kinds]) if kinds else _anything()


def _kinds(schema: Node) -> list[str]:
    kind = schema.get("type")
    if isinstance(kind, str):
        return [kind]
    if isinstance(kind, list):
        return [each for each in kind if isinstance(each, str)]
    return list(dict.fromkeys(each for name, each in _KEYWORDS_OF.items() if name in schema))


def _of_type(kind: str, schema: Node, omitted: list[str], depth: int) -> Node:
    node: Node = {"type": kind}
    if schema.get("nullable") is True:
        node["nullable"] = True
    node |= {name: schema[name] for name in _LIMITS.get(kind, ()) if name in schema}
    if "format" in schema and (kind in ("integer", "number") or schema["format"] in _FORMATS):
        node["format"] = schema["format"]
    if kind == "array":
        node["items"] = _items(schema, omitted, depth)
    if kind == "object":
        node |= _properties(schema, omitted, depth)
    return node


def _items(schema: Node, omitted: list[str], depth: int) -> Node:
    parts = [*(schema.get("prefixItems") or ()), *([schema["items"]] if schema.get("items") else [])]
    return _any_of([_node(part, omitted, depth + 1) for part in parts]) if parts else _anything(_SCALARS)


def _properties(schema: Node, omitted: list[str], depth: int) -> Node:
    required = [name for name in schema.get("required") or () if isinstance(name, str)]
    sendable = _sendable(schema.get("properties") or {}, required, omitted, _MISREAD["gemini"])
    if not sendable:
        return {}
    properties = {name: _node(part, omitted, depth + 1) for name, part in sendable.items()}
    needed = [name for name in required if name in properties]
    return {"properties": properties, **({"required": needed} if needed else {})}


def _sendable(properties: Node, required: Container[str], omitted: list[str], misread: frozenset[str]) -> Node:
    """Return the properties that can be sent; adds the others to `omitted`. Raises ValueError if one is required."""
    for name in misread & properties.keys():
        if name in required:
            raise ValueError(f"its required parameter `{name}` cannot be sent to this provider")
        omitted.append(name)
    return {name: part for name, part in properties.items() if name not in misread}


def _without_misread(node: Any, omitted: list[str], misread: frozenset[str]) -> Any:
    if isinstance(node, list):
        return [_without_misread(part, omitted, misread) for part in node]
    if not isinstance(node, dict):
        return node
    result: Node = {}
    for name, value in node.items():
        if name == "properties" and isinstance(value, dict):
            sendable = _sendable(value, node.get("required") or (), omitted, misread)
            result[name] = {key: _without_misread(part, omitted, misread) for key, part in sendable.items()}
        else:
            is_data = name in ("enum", "const", "default", "examples")
            result[name] = value if is_data else _without_misread(value, omitted, misread)
    return result


def _enum(values: list[Any], format_name: Any) -> Node:
    """Return the declaration of fixed values; they are listed only if they are strings and none is empty."""
    strings = [value for value in values if isinstance(value, str)]
    others = list(
        dict.fromkeys(_type_of(value) for value in values if value is not None and not isinstance(value, str))
    )
    listed: Node = {"type": "string"}
    if "" not in strings:
        listed["enum"] = strings
    if format_name in _FORMATS:
        listed["format"] = format_name
    parts = [*([listed] if strings else []), *(_bare(kind) for kind in others)]
    return _any_of([*parts, *([{"type": "null"}] if None in values else [])])


def _bare(kind: str) -> Node:
    return {"type": kind, "items": _anything(_SCALARS)} if kind == "array" else {"type": kind}


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) else "number"
    return "array" if isinstance(value, list) else "object"


def _any_of(branches: list[Node]) -> Node:
    """Return a union without null and without equal branches; null makes the others nullable."""
    flat = [part for branch in branches for part in _branches(branch)]
    nullable = any(part.get("type") == "null" or part.get("nullable") for part in flat)
    parts: list[Node] = []
    for part in flat:
        plain = {name: value for name, value in part.items() if name != "nullable"}
        if plain.get("type") != "null" and plain not in parts:
            parts.append(plain)
    if not parts:
        return {"type": "null"}
    if nullable:
        parts = [{**part, "nullable": True} for part in parts]
    return parts[0] if len(parts) == 1 else {"anyOf": parts}


def _branches(branch: Node) -> list[Node]:
    return branch["anyOf"] if "anyOf" in branch and set(branch) <= {"anyOf"} else [branch]


def _anything(kinds: tuple[str, ...] = (*_SCALARS, "object", "array")) -> Node:
    return {"anyOf": [_bare(kind) for kind in kinds]}


def _beyond(schema: Node) -> str:
    """Return the restrictions that Gemini's form cannot express, as a sentence for the description."""
    values = schema.get("enum")
    if isinstance(values, list) and values and not all(isinstance(value, str) and value for value in values):
        return "One of: " + ", ".join(json.dumps(value, ensure_ascii=False) for value in values[:50])
    if isinstance(schema.get("prefixItems"), list):
        return "In order: " + ", ".join(describe_type(part) for part in schema["prefixItems"][:10])
    more = schema.get("additionalProperties")
    if is_object(schema) and not schema.get("properties") and isinstance(more, dict) and more:
        return f"Names of your choice, each with: {describe_type(more)}"
    return ""
