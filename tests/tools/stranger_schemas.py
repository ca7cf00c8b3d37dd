"""Schemas as other programs declare them: valid but rare, of older drafts, and wrong."""

from __future__ import annotations

from typing import Any


def with_properties(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def nested(depth: int) -> dict[str, Any]:
    schema = with_properties(a={"type": "string"})
    for _ in range(depth):
        schema = with_properties(a=schema)
    return schema


def _a(schema: Any) -> dict[str, Any]:
    return with_properties(a=schema)


STRING: dict[str, Any] = {"type": "string"}
NODE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/N"}}}}
ODD_NAMES = (
    "a b",
    "é",
    "",
    "a<b>",
    "self",
    "model_config",
    "copy",
    "__class__",
    "_x",
    "class",
    'q"q',
    "a=b",
    "\n",
    " x ",
)
KEYWORDS = [
    *("$ref", "$defs", "$id", "type", "properties", "items", "anyOf", "oneOf", "allOf", "not", "const", "enum"),
    *("required", "strict", "additionalProperties", "default", "title", "description", "format", "nullable"),
    *("pattern", "examples", "prefixItems", "security_risk", "summary"),
]

SCHEMAS: dict[str, Any] = {
    "any-true": _a(True),
    "any-false": _a(False),
    "items-true": _a({"type": "array", "items": True}),
    "items-false": _a({"type": "array", "items": False}),
    "items-list": _a({"type": "array", "items": [STRING, {"type": "integer"}]}),
    "items-list-closed": _a({"type": "array", "items": [STRING, True], "additionalItems": False}),
    "prefix-items": _a({"type": "array", "prefixItems": [STRING, {"type": "integer"}], "items": False}),
    "prefix-booleans": _a({"type": "array", "prefixItems": [True, False]}),
    "any-of-boolean": _a({"anyOf": [True, {"type": "null"}]}),
    "any-of-null": _a({"anyOf": [STRING, {"type": "null"}]}),
    "one-of-only-null": _a({"oneOf": [{"type": "null"}]}),
    "any-of-empty": _a({"anyOf": []}),
    "any-of-object": _a({"anyOf": {"type": "string"}}),
    "all-of-boolean": _a({"allOf": [True, STRING]}),
    "all-of-false": _a({"allOf": [False]}),
    "not": _a({"not": STRING}),
    "not-boolean": _a({"not": True}),
    "if-boolean": _a({"if": True, "then": STRING, "else": False}),
    "const": _a({"const": 5}),
    "const-null": _a({"const": None}),
    "const-object": _a({"const": {"x": 1}}),
    "const-list": _a({"const": [1]}),
    "const-float": _a({"const": 1.5}),
    "enum-mixed": _a({"enum": ["a", 1, None, True, 1.5, ""]}),
    "enum-objects": _a({"enum": [{"x": 1}, [1]]}),
    "enum-empty": _a({"enum": []}),
    "enum-one-and-true": _a({"enum": [1, True]}),
    "enum-none": _a({"type": "string", "enum": None}),
    "no-type": _a({"description": "d"}),
    "empty": _a({}),
    "root-no-type": {"properties": {"a": {}}},
    "root-empty": {},
    "root-true": True,
    "root-nullable": {"type": ["object", "null"]},
    "type-list": _a({"type": ["string", "null"]}),
    "type-empty": _a({"type": []}),
    "type-unknown": _a({"type": "date"}),
    "type-any": _a({"type": "any"}),
    "type-number": _a({"type": 5}),
    "type-other-language": _a({"type": "STRING"}),
    "recursive": {**_a({"$ref": "#/$defs/N"}), "$defs": {"N": NODE}},
    "recursive-root": _a({"$ref": "#"}),
    "refers-to-itself": _a({"$ref": "#/properties/a"}),
    "refers-nowhere": _a({"$ref": "#/$defs/none"}),
    "refers-elsewhere": _a({"$ref": "http://example.invalid/y.json"}),
    "refers-to-true": {**_a({"$ref": "#/$defs/T"}), "$defs": {"T": True}},
    "refers-to-number": _a({"$ref": 5}),
    "root-reference": {"$ref": "#/$defs/R", "$defs": {"R": _a(STRING)}},
    "open": {**_a(STRING), "additionalProperties": True},
    "open-with-type": {**_a(STRING), "additionalProperties": {"type": "integer"}},
    "open-inside": _a({"type": "object", "additionalProperties": True}),
    "pattern-properties": {**_a(STRING), "patternProperties": {"^x": True, "[": True}},
    "property-names": {**_a(STRING), "propertyNames": True},
    "dependent": {**_a(STRING), "dependentRequired": {"a": ["b"]}, "dependencies": {"a": ["b"], "c": True}},
    "thousand": with_properties(**{f"p{number}": STRING for number in range(1000)}),
    "thousand-inside": _a(with_properties(**{f"p{number}": STRING for number in range(1000)})),
    "deep": nested(100),
    "properties-list": {"type": "object", "properties": []},
    "properties-none": {"type": "object", "properties": None},
    "required-text": {**_a({}), "required": "a"},
    "required-inside": _a({"type": "string", "required": True}),
    "required-none": {**_a({}), "required": None},
    "required-unknown": {**_a({}), "required": ["zzz"]},
    "required-false-property": {**_a(False), "required": ["a"]},
    "default-of-another-type": _a({"type": "integer", "default": "x"}),
    "description-list": _a({"type": "string", "description": ["a"]}),
    "minimum-text": _a({"type": "integer", "minimum": "x"}),
    "exclusive-draft-4": _a({"type": "integer", "minimum": 1, "exclusiveMinimum": True}),
    "pattern-wrong": _a({"type": "string", "format": "email", "pattern": "[a-"}),
    "format-number": _a({"format": 5}),
    "examples-true": _a({"type": "string", "examples": True}),
    "nullable": _a({"type": "string", "nullable": True}),
    "contains": _a({"type": "array", "contains": True}),
    "discriminator": _a({"oneOf": [with_properties(k={"const": "a"}), with_properties(k={"const": "b"})]}),
    "root-any-of": {"type": "object", "anyOf": [_a(STRING), True]},
    "root-any-of-string": {"anyOf": [_a(STRING), {"type": "string"}]},
    "odd-names": with_properties(**dict.fromkeys(ODD_NAMES, STRING)),
    "odd-names-true": with_properties(**dict.fromkeys(ODD_NAMES, True)),
    **{f"named-{name}": with_properties(**{name: STRING}) for name in KEYWORDS},
    **{f"named-{name}-true": with_properties(**{name: True}) for name in KEYWORDS},
    **{f"named-{name}-inside": _a(with_properties(**{name: {"type": "array", "items": STRING}})) for name in KEYWORDS},
}
"""All of them describe an object, or can be read as if they did."""
