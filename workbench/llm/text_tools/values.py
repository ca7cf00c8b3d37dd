"""The parameters of tools, and the conversion of their values to text and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from workbench.errors import WorkbenchError

Schema = Mapping[str, Any]
RISK: Final = "security_risk"
_RISKS: Final = frozenset({"LOW", "MEDIUM", "HIGH"})
_STRING: Final = frozenset({"string"})
_ALL: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_MAX_DEPTH: Final = 8
_WORDS: Final = {"true": True, "false": False, "none": None, "null": None}


class FunctionCallConversionError(WorkbenchError):
    """A message or a call is malformed."""


class FunctionCallValidationError(WorkbenchError):
    """A call names an unknown function or parameter, or has an invalid value; the message is for the model."""


class ToolParameter(msgspec.Struct, frozen=True):
    """One parameter of a tool: its JSON types (`kinds`), and its allowed values if it lists them."""

    name: str
    kinds: frozenset[str]
    description: str = ""
    is_required: bool = False
    enum: tuple[Any, ...] | None = None

    @property
    def type_name(self) -> str:
        """The JSON types as they appear in a tool description."""
        return _type_name(self.kinds)

    def read(self, text: str) -> Any:
        """Convert text to a value of one of the parameter's types. Raises FunctionCallValidationError if it is none."""
        value = text if self.kinds == _STRING else self._read_typed(text)
        if self.enum is None or _among(value, self.enum):
            return value
        if isinstance(value, str) and value.strip() in self.enum:
            return value.strip()
        allowed = ", ".join(f"`{each}`" for each in self.enum)
        raise FunctionCallValidationError(f"Parameter `{self.name}` must be one of {allowed}, not `{text[:200]}`.")

    def _read_typed(self, text: str) -> Any:
        value = _parsed(text)
        kind = kind_of(value)
        if kind in self.kinds or (kind == "integer" and "number" in self.kinds):
            return value
        if kind == "number" and "integer" in self.kinds and value.is_integer():
            return int(value)
        if "string" in self.kinds:
            return text
        raise FunctionCallValidationError(f"Parameter `{self.name}` must be {self.type_name}, not `{text[:200]}`.")

    def write(self, value: Any) -> str:
        """Return the text that `read` converts to this value."""
        if not isinstance(value, str):
            return as_json(value)
        if self.kinds == _STRING or "string" not in self.kinds or kind_of(_parsed(value)) == "":
            return value
        return as_json(value)


def _type_name(kinds: frozenset[str]) -> str:
    return "any" if kinds == _ALL else " or ".join(sorted(kinds - {"null"})) or "null"


_UNPARSED: Final = object()
_KINDS: Final[dict[type, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    type(None): "null",
}


_read_value: Final = json.JSONDecoder().raw_decode
"""Used instead of `json.loads`, which takes three times as long for short values."""
_BLANKS: Final = " \t\n\r"
"""The whitespace that JSON permits around a value."""


def _parsed(text: str) -> Any:
    alone = text.strip(_BLANKS)
    try:
        value, end = _read_value(alone)
    except (ValueError, RecursionError):
        end = -1
    return value if end == len(alone) else _WORDS.get(text.strip().lower(), _UNPARSED)


def kind_of(value: Any) -> str:
    """Return the JSON type of a value, such as `integer`; empty if it is not a JSON value."""
    return _KINDS.get(type(value), "")


_make: Final = getattr(json.encoder, "c_make_encoder", None)
_encoder: Final = _make and _make(None, None, json.encoder.encode_basestring, None, ": ", ", ", False, False, True)
"""A reusable encoder: `JSONEncoder.encode` creates one per call, which takes half of the time for short values."""


def as_json(value: Any) -> str:
    """Return a value as JSON, without escaping non-ASCII characters; the value must not contain cycles."""
    return "".join(_encoder(value, 0)) if _encoder else json.JSONEncoder(ensure_ascii=False).encode(value)


def _among(value: Any, allowed: Iterable[Any]) -> bool:
    return any(_equal(each, value) for each in allowed)


def _equal(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; 1 equals 1.0 but not true."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def untyped(name: str) -> ToolParameter:
    """Return a parameter that accepts any value."""
    return ToolParameter(name, _ALL)


class Parameters(dict[str, ToolParameter]):
    """The parameters of one tool by name; if `is_open`, the tool accepts other parameters too, with any value."""

    is_open = False
    required: tuple[str, ...] = ()

    def is_risk(self, name: str) -> bool:
        """Return whether this parameter is the model's own rating of a call; an invalid rating is no error."""
        return name == RISK and (name not in self or frozenset(self[name].enum or ()) == _RISKS)

    def parameter(self, name: str) -> ToolParameter | None:
        """Return the parameter of that name; None if the tool does not accept one."""
        return self.get(name) or (untyped(name) if self.is_open else None)


Table: TypeAlias = Mapping[str, Parameters]
"""The parameters of each tool, by the tool's name."""


def tool_name(tool: Any) -> str:
    """Return the name of a tool in OpenAI's function format. Raises FunctionCallConversionError if it has none."""
    function = tool.get("function") if isinstance(tool, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise FunctionCallConversionError("A tool needs a `function` with its `name`.")
    return str(function["name"])


def parameters_of(tool: Schema) -> Parameters:
    """Return the parameters of a tool in OpenAI's function format, by name, in the order of its schema.

    A faulty schema raises no error: a parameter whose type is missing or invalid accepts any value.
    """
    schema = tool["function"].get("parameters")
    schema = schema if isinstance(schema, Mapping) else {}
    required, properties = schema.get("required"), schema.get("properties")
    names = [each for each in required if isinstance(each, str)] if isinstance(required, list | tuple) else []
    parts = properties if isinstance(properties, Mapping) else {}
    # A parameter with the schema `false` accepts no value.
    parts = {name: part for name, part in parts.items() if part is not False}
    parameters = Parameters({name: _parameter(name, part, schema, name in names) for name, part in parts.items()})
    parameters.required = tuple(each.name for each in parameters.values() if each.is_required)
    more = schema.get("additionalProperties")
    parameters.is_open = more is True or isinstance(more, Mapping) or bool(schema.get("patternProperties"))
    return parameters


def _parameter(name: str, part: Any, root: Schema, is_required: bool) -> ToolParameter:
    schema = part if isinstance(part, Mapping) else {}
    enum, description = schema.get("enum", [schema["const"]] if "const" in schema else None), schema.get("description")
    return ToolParameter(
        name,
        _kinds(part, root),
        description if isinstance(description, str) else "",
        is_required,
        tuple(enum) if isinstance(enum, list) and enum else None,
    )


def _kinds(schema: Any, root: Schema, depth: int = 0) -> frozenset[str]:
    """Return the JSON types that a schema permits (perhaps too many); all types if it does not say which."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return _ALL
    if isinstance(schema.get("$ref"), str):
        return _kinds(resolved(schema["$ref"], root), root, depth + 1)
    declared = _declared_types(schema.get("type"))
    if declared:
        return declared
    choices = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(choices, list):
        return frozenset().union(*(_kinds(each, root, depth + 1) for each in choices))
    listed = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    return frozenset(map(kind_of, listed)) if listed and isinstance(listed, list) else _ALL


def type_name_of(schema: Any, root: Schema) -> str:
    """Return the JSON types that a schema permits, as they appear in a tool description."""
    return _type_name(_kinds(schema, root))


def _declared_types(declared: Any) -> frozenset[str]:
    """Return the types that a schema's `type` declares; empty unless all of them are JSON types."""
    if isinstance(declared, str):
        return frozenset({declared}) & _ALL
    if not isinstance(declared, list):
        return frozenset()
    kinds = frozenset(each for each in declared if isinstance(each, str))
    return kinds if kinds <= _ALL and len(kinds) == len(declared) else frozenset()


def resolved(reference: str, root: Schema) -> Any:
    """Return the target of a `$ref` inside the schema `root`; if there is none, an empty schema, which permits
    everything.
    """
    if not reference.startswith("#"):
        return {}
    schema: Any = root
    for part in reference[1:].strip("/").split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        schema = schema.get(name) if isinstance(schema, Mapping) and name else schema if not name else None
    return {} if schema is None else schema
