r"""Writes and parses the plain-text form of a tool call; `text_tools.calls` converts conversations with it.

    <function=NAME>
    <parameter=ONE>value</parameter>
    </function>

The format comes from OpenHands (CodeAct). One newline after an opening tag and one before a closing tag belong to the
tag. Closing tags in a value, and opening tags in the text around a call, are escaped with a backslash (`<\/parameter`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from workbench.errors import WorkbenchError

Schema = Mapping[str, Any]
_STRING: Final = frozenset({"string"})
_ALL: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_MAX_DEPTH: Final = 8
_WORDS: Final = {"true": True, "false": False, "none": None, "null": None}


class FunctionCallConversionError(WorkbenchError):
    """A message or a call is malformed."""


class FunctionCallValidationError(WorkbenchError):
    """A call names unknown functions or parameters, or has invalid values; the message is for the model."""


@dataclass(frozen=True)
class ToolParameter:
    """One parameter of a tool: its JSON types (`kinds`), and its allowed values if it lists them."""

    name: str
    kinds: frozenset[str]
    description: str = ""
    is_required: bool = False
    enum: tuple[Any, ...] | None = None

    @property
    def type_name(self) -> str:
        """The JSON types as they appear in a tool description."""
        return "any" if self.kinds == _ALL else " or ".join(sorted(self.kinds - {"null"})) or "null"

    def read(self, text: str) -> Any:
        """Convert text to a value of the parameter's types. Raises FunctionCallValidationError."""
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
    """Return the JSON type of a value; empty if it has none."""
    return _KINDS.get(type(value), "")


_make: Final = getattr(json.encoder, "c_make_encoder", None)
_encoder: Final = _make and _make(None, None, json.encoder.encode_basestring, None, ": ", ", ", False, False, True)
"""A reusable encoder: `JSONEncoder.encode` creates one per call, which takes half of the time for short values."""


def as_json(value: Any) -> str:
    """Return a value as JSON, without escaping non-ASCII characters; the value must not contain cycles."""
    return "".join(_encoder(value, 0)) if _encoder else json.JSONEncoder(ensure_ascii=False).encode(value)


def _among(value: Any, allowed: Iterable[Any]) -> bool:
    return any(type(each) is type(value) and each == value for each in allowed)


def parameters_of(tool: Schema) -> dict[str, ToolParameter]:
    """Return the parameters of a tool in OpenAI's function format, by name, in the order of its schema.

    Never raises because of a schema: a parameter whose type is not declared, or declared wrong, takes any value.
    """
    schema = tool["function"].get("parameters")
    schema = schema if isinstance(schema, Mapping) else {}
    required, properties = schema.get("required"), schema.get("properties")
    names = [each for each in required if isinstance(each, str)] if isinstance(required, list | tuple) else []
    parts = properties if isinstance(properties, Mapping) else {}
    return {name: _parameter(name, part, schema, name in names) for name, part in parts.items()}


def _parameter(name: str, part: Any, root: Schema, is_required: bool) -> ToolParameter:
    schema = part if isinstance(part, Mapping) else {}
    enum, description = schema.get("enum"), schema.get("description")
    return ToolParameter(
        name,
        _kinds(part, root),
        description if isinstance(description, str) else "",
        is_required,
        tuple(enum) if isinstance(enum, list) and enum else None,
    )


def _kinds(schema: Any, root: Schema, depth: int = 0) -> frozenset[str]:
    """Return the JSON types that a schema permits, or more of them; all if it is true or declares none."""
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


def _declared_types(declared: Any) -> frozenset[str]:
    """Return the types of a `type`; empty unless all of them are JSON types."""
    if isinstance(declared, str):
        return frozenset({declared}) & _ALL
    if not isinstance(declared, list):
        return frozenset()
    kinds = frozenset(each for each in declared if isinstance(each, str))
    return kinds if kinds <= _ALL and len(kinds) == len(declared) else frozenset()


def resolved(reference: str, root: Schema) -> Any:
    """Return the target of a reference inside the schema, or an empty schema, which permits everything."""
    if not reference.startswith("#"):
        return {}
    schema: Any = root
    for part in reference[1:].strip("/").split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        schema = schema.get(name) if isinstance(schema, Mapping) and name else schema if not name else None
    return {} if schema is None else schema


_OPEN: Final = re.compile(r"<function=([^<>\n]+)>")
_PARAMETER: Final = re.compile(r"\s*<parameter=([^<>\n]+)>")
_END_OF_VALUE: Final = re.compile(r"</parameter>(?=\s*(?:<parameter=|</function|<function=|</?tool_call>|</?\Z|\Z))")
_END_OF_CALL: Final = re.compile(r"\s*(?:</function>?|</?\Z|\Z)")
_WRAPPER: Final = re.compile(r"\s*</?tool_call>\s*")
_REASONING_TAGS: Final = r"(?i:think|thinking|thought|reasoning|reflection)\b"
_CALL_OR_TAG: Final = re.compile(rf"<function=(?P<name>[^<>\n]+)>|[<◁](?P<closing>/?){_REASONING_TAGS}[^<>◁▷\n]*[>▷]")
"""The beginning of a call, or a tag around the thinking of a model."""
_CLOSING_TAG: Final = re.compile(rf"[<◁]/{_REASONING_TAGS}")
_CLOSER: Final = re.compile(r"<(\\*/(?:parameter|function))")
_HIDDEN_CLOSER: Final = re.compile(r"<\\(\\*/(?:parameter|function))")
_OPENER: Final = re.compile(rf"([<◁])(\\*(?:function=|{_REASONING_TAGS}))")
_HIDDEN_OPENER: Final = re.compile(rf"([<◁])\\(\\*(?:function=|{_REASONING_TAGS}))")


@dataclass
class TextCall:
    """One parsed call: values as text; `is_cut` if the text ended inside the call."""

    name: str
    values: dict[str, str] = field(default_factory=dict)
    is_cut: bool = False


def write_call(name: str, arguments: Mapping[str, Any], parameters: Mapping[str, ToolParameter]) -> str:
    """Return the call as text."""
    lines = [f"<function={name}>"]
    for key, value in arguments.items():
        parameter = parameters.get(key)
        text = parameter.write(value) if parameter else value if isinstance(value, str) else as_json(value)
        text = _CLOSER.sub(r"<\\\1", text) if "<" in text else text
        end = "\n" if "\n" in text else ""
        lines.append(f"<parameter={key}>{end}{text}{end}</parameter>")
    return "\n".join([*lines, "</function>"])


def write_words(text: str) -> str:
    """Escape the text around calls, so that none of it parses as a call."""
    return _OPENER.sub(r"\1\\\2", text) if "<" in text or "◁" in text else text


def read_words(text: str) -> str:
    """Undo `write_words`."""
    return _HIDDEN_OPENER.sub(r"\1\2", text) if "<\\" in text or "◁\\" in text else text


def read_calls(text: str) -> tuple[str, list[TextCall]]:
    """Return the text of a message without its calls, and the calls. Raises FunctionCallConversionError if one is
    malformed.

    What a model writes while it thinks is text: nothing between its tags is a call, nor what precedes a closing tag
    without an opening one, nor what follows an opening tag that is never closed.
    """
    first = _end_of_reasoning(text)
    start = _next_call(text, first)
    if start is None:
        return read_words(text), []
    parts, calls = [_before(text[: start.start()])], []
    while start is not None:
        call, end = _read_call(text, start)
        calls.append(call)
        start = _next_call(text, end)
        between = text[end : start.start() if start else len(text)].strip()
        if between:
            parts.append(_WRAPPER.sub("\n", between).strip())
    return read_words("\n".join(filter(None, parts))), calls


def _next_call(text: str, at: int) -> re.Match[str] | None:
    """Return the beginning of the next call from `at` on that is not inside the model's thinking."""
    depth = 0
    for match in _CALL_OR_TAG.finditer(text, at):
        if match["name"] is None:
            depth = max(0, depth - 1) if match["closing"] else depth + 1
        elif not depth:
            return _OPEN.match(text, match.start())
    return None


def _end_of_reasoning(text: str) -> int:
    """Return the end of the last closing tag without an opening one, outside calls; 0 if there is none.

    Templates that write the opening tag into the prompt leave such a tag in the response.
    """
    if not _CLOSING_TAG.search(text):
        return 0
    end = at = depth = 0
    while match := _CALL_OR_TAG.search(text, at):
        at = match.end()
        if match["name"] is not None:
            at = at if depth else _end_of_call(text, match.start())
        elif not match["closing"]:
            depth += 1
        elif depth:
            depth -= 1
        else:
            end = at
    return end


def _end_of_call(text: str, start: int) -> int:
    opening = _OPEN.match(text, start)
    if opening is None:
        return start + 1
    try:
        return _read_call(text, opening)[1]
    except FunctionCallConversionError:
        return opening.end()


def _before(text: str) -> str:
    if text.endswith(("<tool_call>", "<tool_call>\n")):
        text = text.removesuffix("\n").removesuffix("<tool_call>")
    return text.removesuffix("\n\n") if text.endswith("\n\n") else text.removesuffix("\n")


def _read_call(text: str, start: re.Match[str]) -> tuple[TextCall, int]:
    call, at = TextCall(start[1].strip()), start.end()
    while opening := _PARAMETER.match(text, at):
        end = _END_OF_VALUE.search(text, opening.end())
        if end is None:
            return _open_value(call, opening, text)
        call.values[opening[1].strip()] = _value(text[opening.end() : end.start()])
        at = end.end()
    closed = _END_OF_CALL.match(text, at)
    if closed is None:
        stray = text[at:].partition("</function")[0].strip()[:80]
        raise FunctionCallConversionError(
            f"The call of `{call.name}` holds text outside its parameters: `{stray}`. Write each value inside "
            "<parameter=NAME>value</parameter>, and nothing between."
        )
    return call, closed.end()


def _open_value(call: TextCall, opening: re.Match[str], text: str) -> tuple[TextCall, int]:
    """Add a last value without a closing tag; if the call is not closed either, the text was truncated."""
    end = text.find("</function", opening.end())
    call.is_cut = end < 0
    stop = len(text) if end < 0 else end
    call.values[opening[1].strip()] = _value(text[opening.end() : stop])
    return call, len(text) if end < 0 else end + len("</function>")


def _value(text: str) -> str:
    text = text.removeprefix("\n").removesuffix("\n")
    return _HIDDEN_CLOSER.sub(r"<\1", text) if "<\\" in text else text
