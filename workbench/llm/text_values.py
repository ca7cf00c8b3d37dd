"""Values of parameters as plain text and back, by their JSON Schema; used by `text_calls` and `text_syntax`.

Text stands for itself, everything else is JSON. Where a schema allows both, text that would read as something else is
written as a JSON string, so that reading gives back what was written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from workbench.errors import WorkbenchError

Schema = Mapping[str, Any]
_STRING: Final = frozenset({"string"})
_ALL: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_WORDS: Final = {"true": True, "false": False, "none": None, "null": None}


class FunctionCallConversionError(WorkbenchError):
    """A message or a call has not the shape that it must have."""


class FunctionCallValidationError(WorkbenchError):
    """A call names what is not there, or its values are not what the tool takes; the text is for the model."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a tool: which JSON types it takes (`kinds`), and its allowed values if it lists them."""

    name: str
    kinds: frozenset[str]
    description: str = ""
    is_required: bool = False
    enum: tuple[Any, ...] | None = None

    @property
    def type_name(self) -> str:
        """The types as a tool description names them."""
        return "any" if self.kinds == _ALL else " or ".join(sorted(self.kinds - {"null"})) or "null"

    def read(self, text: str) -> Any:
        """The value that the text stands for; raises FunctionCallValidationError."""
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
        """Text that `read` turns into this value."""
        if not isinstance(value, str):
            return as_json(value)
        if self.kinds == _STRING or "string" not in self.kinds or kind_of(_parsed(value)) == "":
            return value
        return as_json(value)


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


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _WORDS.get(text.strip().lower(), _UNPARSED)


def kind_of(value: Any) -> str:
    """The JSON type of a value; empty for what is none."""
    return _KINDS.get(type(value), "")


_make: Final = getattr(json.encoder, "c_make_encoder", None)
_made_once: Final = _make and _make(None, None, json.encoder.encode_basestring, None, ": ", ", ", False, False, True)
"""What `JSONEncoder.encode` makes anew with each call, which is half of the time that a short value takes."""


def as_json(value: Any) -> str:
    """A value as JSON that keeps letters readable; it holds no cycle, as it came from JSON."""
    return "".join(_made_once(value, 0)) if _made_once else json.JSONEncoder(ensure_ascii=False).encode(value)


def _among(value: Any, allowed: Iterable[Any]) -> bool:
    return any(type(each) is type(value) and each == value for each in allowed)


def parameters_of(tool: Schema) -> dict[str, Parameter]:
    """The parameters of a tool in OpenAI's function shape, by name, in the order of its schema."""
    schema = tool["function"].get("parameters") or {}
    required = schema.get("required") or ()
    return {
        name: Parameter(
            name,
            _kinds(each, schema),
            str(each.get("description") or ""),
            name in required,
            tuple(each["enum"]) if isinstance(each.get("enum"), list) else None,
        )
        for name, each in (schema.get("properties") or {}).items()
    }


def _kinds(schema: Schema, root: Schema, depth: int = 0) -> frozenset[str]:
    if depth > 8:
        return _ALL
    if "$ref" in schema:
        return _kinds(_resolved(str(schema["$ref"]), root), root, depth + 1)
    given = schema.get("type")
    if given:
        return frozenset([given] if isinstance(given, str) else given)
    choices: Sequence[Schema] = schema.get("anyOf") or schema.get("oneOf") or ()
    if choices:
        return frozenset().union(*(_kinds(each, root, depth + 1) for each in choices))
    listed = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    return frozenset(kind_of(each) for each in listed) if listed else _ALL


def _resolved(reference: str, root: Schema) -> Schema:
    found: Any = root
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}
