"""Repair of JSON schemas from other programs: invalid and older forms are converted to draft 2020-12.

Booleans in place of schemas, lists of `items`, exclusive limits of draft 4, `required` inside a property and unknown
types have one meaning and are converted. Keywords with a value of the wrong type are removed. For a valid schema
without any of these, an equal copy is returned.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from workbench.text import well_formed

Node: TypeAlias = dict[str, Any]

MAX_DEPTH: Final = 40
_MAX_NOTICES: Final = 20
_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_TYPE_ALIASES: Final = {
    **{name: name for name in (*_TYPES, "any")},
    **dict.fromkeys(("str", "text", "date", "datetime", "date-time", "time", "uri", "url", "uuid", "email"), "string"),
    **dict.fromkeys(("file", "path", "binary", "bytes", "char", "enum", "password"), "string"),
    **dict.fromkeys(("int", "long", "int32", "int64", "uint", "short"), "integer"),
    **dict.fromkeys(("float", "double", "decimal", "numeric", "float32", "float64"), "number"),
    **dict.fromkeys(("list", "tuple", "set", "sequence"), "array"),
    **dict.fromkeys(("dict", "map", "record", "struct", "dictionary"), "object"),
    **dict.fromkeys(("mixed", "json", "unknown", "*", ""), "any"),
    "bool": "boolean",
    "none": "null",
    "nil": "null",
    "undefined": "null",
}
"""The JSON type, or "any", that a declared name means, such as a type of another language or a format of strings."""
_MAPS: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
"""Keywords whose value maps names to schemas."""
_SINGLE: Final = ("items", "not", "contains", "propertyNames", "if", "then", "else", "unevaluatedItems")
_OPEN: Final = ("additionalProperties", "unevaluatedProperties")
"""Keywords that are more often a boolean than a schema."""
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS: Final = (
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
)
_STRINGS: Final = ("title", "description", "format", "$comment", "contentEncoding", "contentMediaType")
_IDENTIFIERS: Final = (
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$vocabulary",
    "$recursiveRef",
)
"""Keywords that mean something only where several documents are resolved together."""
_BOOLEANS: Final = ("uniqueItems", "deprecated", "readOnly", "writeOnly")


class RepairedSchema(NamedTuple):
    """A repaired schema, a line about each part that was omitted, and why its meaning is unknown, if it is."""

    schema: Node
    notices: list[str]
    fault: str


def repaired(schema: Any) -> RepairedSchema:
    """Return the repaired schema of a tool's arguments. Never raises; values that are not schemas are omitted."""
    if not isinstance(schema, dict):
        is_open = schema is True or schema is None
        return RepairedSchema({}, [], "" if is_open else "it describes no object")
    repair = _Repair(is_json=_is_json(schema))
    node = repair.node(schema, "", 0)
    if node.get("required") is True:
        del node["required"]
    kind = node.get("type")
    if isinstance(kind, list) and "object" in kind:
        node["type"] = "object"
    return RepairedSchema(node, repair.notices, repair.fault)


class _Repair:
    """One pass over a schema; `notices` names the omitted parts."""

    def __init__(self, *, is_json: bool) -> None:
        """`is_json` means that the whole schema can be sent as JSON, so its values need no check."""
        self._is_json = is_json
        self.notices: list[str] = []
        self.fault = ""

    def node(self, schema: Node, path: str, depth: int) -> Node:
        """Return a repaired copy of one schema; `required: true` is kept, because the enclosing schema evaluates it."""
        if depth > MAX_DEPTH and schema:
            self._omit(path, "it is nested too deep")
            return {}
        result: Node = {}
        for name, value in schema.items():
            repair = _REPAIRS.get(name)
            if not self._is_json and (value := self._sendable(name, value, path)) is _NOTHING:
                continue
            part = repair(self, name, value, path, depth + 1) if repair else value
            if part is not _NOTHING:
                result[name] = part
        _draft_4_limits(schema, result)
        self._lists_of_items(result)
        self._required(result, path)
        return result

    def _omit(self, path: str, why: str) -> Any:
        if len(self.notices) < _MAX_NOTICES:
            self.notices.append(f"`{path[-60:] or 'the schema'}` is ignored: {why}")
        return _NOTHING

    def _sendable(self, name: str, value: Any, path: str) -> Any:
        """Return the value of a keyword without what strict JSON lacks: NaN, infinity and lone surrogates."""
        if repair := _REPAIRS.get(name):
            if repair == _Repair.string and isinstance(value, str):
                return well_formed(value)
            if repair in (_Repair.values, _Repair.required) and isinstance(value, list):
                return [each for each in value if _is_json(each)]
            if repair in _OF_SCHEMAS:
                return value
        return value if _is_json(name) and _is_json(value) else self._omit(_join(path, well_formed(name)), _NOT_JSON)

    def type(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Repair `type`: names of other languages are converted, unknown ones omitted."""
        names = [_type_name(each) for each in (value if isinstance(value, list) else [value])]
        if "any" in names or not names:
            return _NOTHING
        unknown = next((each for each in names if each not in _TYPES), "")
        if unknown != "":
            self.fault = self.fault or (f"{unknown!r} is not a type" if isinstance(unknown, str) else "")
            # The unknown type may be any, which the others would forbid.
            return self._omit(_join(path, name), "the type is unknown")
        kinds = list(dict.fromkeys(names))
        return kinds if isinstance(value, list) else kinds[0]

    def map(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Repair a map of names to schemas."""
        if value == []:
            return {}  # as PHP writes an empty object
        if not isinstance(value, dict):
            return self._omit(_join(path, name), "it is not an object")
        result: Node = {}
        for key, part in value.items():
            where = _join(path, key if name == "properties" else f"{name}.{key}")
            if not self._is_json and not _is_json(key):
                self._omit(well_formed(where), _NOT_JSON)
            elif name == "patternProperties" and not _is_pattern(key):
                self._omit(where, "it is not a regular expression")
            elif part is False and name in ("properties", "patternProperties"):
                self._omit(where, "no value is allowed there")
            else:
                result[key] = self.schema(part, where, depth, is_property=name == "properties")
        return result

    def schema(self, part: Any, path: str, depth: int, *, is_property: bool = False) -> Node:
        """Return the repaired schema; for true, one that every value matches, and for false, one that none matches."""
        if isinstance(part, dict):
            node = self.node(part, path, depth)
            if node.get("required") is True and not is_property:
                del node["required"]
            return node
        if part is False:
            return {"not": {}}
        if part is not True:
            self._omit(path, "it is not a schema")
        return {}

    def single(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Repair a keyword that has one schema."""
        if name == "items" and isinstance(value, list):
            return [self.schema(part, f"{path}[{at}]", depth) for at, part in enumerate(value)]
        if name == "items" and isinstance(value, bool):
            return _NOTHING if value else False
        return self.schema(value, _join(path, name), depth)

    def open(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Repair a keyword that has a boolean or one schema."""
        return value if isinstance(value, bool) else self.schema(value, _join(path, name), depth)

    def list(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Repair a keyword that has a list of schemas; a list that restricts nothing is omitted without a notice."""
        parts = [value] if isinstance(value, dict) else value
        if not isinstance(parts, list):
            return self._omit(_join(path, name), "it is not a list")
        if name == "prefixItems":
            return [self.schema(part, f"{path}[{at}]", depth) for at, part in enumerate(parts)] or _NOTHING
        if name != "allOf" and any(part is True or part == {} for part in parts):
            return _NOTHING
        if name == "allOf" and False in [part for part in parts if isinstance(part, bool)]:
            self._omit(_join(path, name), "no value is allowed there")
        where = _join(path, name)
        return [self.schema(part, where, depth) for part in parts if not isinstance(part, bool)] or _NOTHING

    def number(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Repair a numeric limit; booleans are the exclusive limits of draft 4."""
        if isinstance(value, bool) and name.startswith("exclusive"):
            return _NOTHING
        return value if _is_number(value) else self._omit(_join(path, name), "it is not a number")

    def count(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Repair a limit for a length or a number of entries, which is a whole number from 0."""
        if _is_number(value) and 0 <= value <= _MOST_COUNT and value == int(value):
            return int(value)
        return self._omit(_join(path, name), "it is not a number")

    def nothing(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Leave the keyword out without a notice."""
        return _NOTHING

    def string(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Keep a string."""
        return value if isinstance(value, str) else self._omit(_join(path, name), "it is not text")

    def boolean(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Keep a boolean."""
        return value if isinstance(value, bool) else self._omit(_join(path, name), "it is not true or false")

    def pattern(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Keep a valid regular expression."""
        is_valid = isinstance(value, str) and _is_pattern(value)
        return value if is_valid else self._omit(_join(path, name), "it is not a regular expression")

    def values(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Keep a list of values that is not empty."""
        if isinstance(value, list):
            return value or _NOTHING
        return _NOTHING if value is None else self._omit(_join(path, name), "it is not a list")

    def required(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Keep the names; keep true, as in drafts 3 and 4, for the enclosing schema."""
        if isinstance(value, str):
            return [value]
        if isinstance(value, list):
            return [each for each in value if isinstance(each, str)]
        return True if value is True else _NOTHING

    def dependencies(self, name: str, value: Any, path: str, depth: int) -> Any:
        """Keep a map of names, each with the list of names that it requires."""
        if isinstance(value, dict) and all(isinstance(names, list) for names in value.values()):
            return value
        return self._omit(_join(path, name), "it does not list names")

    def _required(self, node: Node, path: str) -> None:
        """Collect `required: true` of the properties in the list `required` of their object."""
        properties = node.get("properties")
        if not isinstance(properties, dict):
            return
        inside = [name for name, part in properties.items() if part.get("required") is True]
        for name in inside:
            del properties[name]["required"]
        if inside:
            listed = node.get("required")
            listed = listed if isinstance(listed, list) else []
            node["required"] = [*listed, *(name for name in inside if name not in listed)]

    def _lists_of_items(self, node: Node) -> None:
        """Convert `items` as a list or false, of earlier drafts, to `prefixItems` and a maximum."""
        items = node.get("items")
        if isinstance(items, list):
            del node["items"]
            more = node.pop("additionalItems", None)
            if items:
                node["prefixItems"] = items
            if isinstance(more, dict):
                node["items"] = more
            items = False if more is False else None
        if items is False:
            node.pop("items", None)
            most = len(node.get("prefixItems", ()))
            node["maxItems"] = min(most, node.get("maxItems", most))


_NOTHING: Final = object()
_NOT_JSON: Final = "JSON cannot represent it"
_MOST_COUNT: Final = 2**53
_OF_SCHEMAS: Final = (_Repair.map, _Repair.schema, _Repair.single, _Repair.open, _Repair.list)
_Method: TypeAlias = Callable[[_Repair, str, Any, str, int], Any]
_REPAIRS: Final[dict[str, _Method]] = {
    "type": _Repair.type,
    "required": _Repair.required,
    "enum": _Repair.values,
    "examples": _Repair.values,
    "pattern": _Repair.pattern,
    "$ref": _Repair.string,
    "dependentRequired": _Repair.dependencies,
    "dependencies": _Repair.dependencies,
    "additionalItems": _Repair.open,
    **dict.fromkeys(_IDENTIFIERS, _Repair.nothing),
    **dict.fromkeys(_MAPS, _Repair.map),
    **dict.fromkeys(_SINGLE, _Repair.single),
    **dict.fromkeys(_OPEN, _Repair.open),
    **dict.fromkeys(_LISTS, _Repair.list),
    **dict.fromkeys(_NUMBERS, _Repair.number),
    **dict.fromkeys(_COUNTS, _Repair.count),
    **dict.fromkeys(_STRINGS, _Repair.string),
    **dict.fromkeys(_BOOLEANS, _Repair.boolean),
}


def _draft_4_limits(schema: Node, result: Node) -> None:
    """Convert the exclusive limits of draft 4, such as `minimum` with `exclusiveMinimum: true`."""
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(exclusive) is True and limit in result:
            result[exclusive] = result.pop(limit)


def _type_name(value: Any) -> Any:
    """Return the JSON type that a name means, or "any"; an unknown name as it is; None for a value of another type."""
    if not isinstance(value, str):
        return None
    lower = value.strip().lower()
    return _TYPE_ALIASES.get(lower, value.strip()[:40])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _is_pattern(text: str) -> bool:
    # `regex` knows more of the syntax of JavaScript than `re` does, such as \\p{L}.
    import regex

    try:
        regex.compile(text)
    except (regex.error, OverflowError, RecursionError, ValueError):
        return False
    return True


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
