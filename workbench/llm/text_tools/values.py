r"""The plain-text form of a tool call, written and read; `text_calls` converts whole conversations with it.

    <function=NAME>
    <parameter=ONE>value</parameter>
    </function>

The form is OpenHands' (CodeAct); one newline after an opening and before a closing tag belongs to it. Closing tags in a
value, and opening ones in what is said around a call, carry a backslash (`<\/parameter`), so that they are no tags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
class ToolParameter:
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


def parameters_of(tool: Schema) -> dict[str, ToolParameter]:
    """The parameters of a tool in OpenAI's function shape, by name, in the order of its schema."""
    schema = tool["function"].get("parameters") or {}
    required = schema.get("required") or ()
    return {
        name: ToolParameter(
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


_OPEN: Final = re.compile(r"<function=([^<>\n]+)>")
_PARAMETER: Final = re.compile(r"\s*<parameter=([^<>\n]+)>")
_END_OF_VALUE: Final = re.compile(r"</parameter>(?=\s*(?:<parameter=|</function|<function=|</?tool_call>|</?\Z|\Z))")
_END_OF_CALL: Final = re.compile(r"\s*(?:</function>?|</?\Z|\Z)")
_WRAPPER: Final = re.compile(r"\s*</?tool_call>\s*")
_THINKING: Final = re.compile(r"<think>.*?</think>", re.DOTALL)
_CLOSER: Final = re.compile(r"<(\\*/(?:parameter|function))")
_HIDDEN_CLOSER: Final = re.compile(r"<\\(\\*/(?:parameter|function))")
_OPENER: Final = re.compile(r"<(\\*(?:function=|think>))")
_HIDDEN_OPENER: Final = re.compile(r"<\\(\\*(?:function=|think>))")


@dataclass
class TextCall:
    """One call as it was read: values still as text; `is_cut` when the text ended inside it."""

    name: str
    values: dict[str, str] = field(default_factory=dict)
    is_cut: bool = False


def write_call(name: str, arguments: Mapping[str, Any], parameters: Mapping[str, ToolParameter]) -> str:
    """The call as text."""
    lines = [f"<function={name}>"]
    for key, value in arguments.items():
        parameter = parameters.get(key)
        text = parameter.write(value) if parameter else value if isinstance(value, str) else as_json(value)
        text = _CLOSER.sub(r"<\\\1", text) if "<" in text else text
        end = "\n" if "\n" in text else ""
        lines.append(f"<parameter={key}>{end}{text}{end}</parameter>")
    return "\n".join([*lines, "</function>"])


def write_words(text: str) -> str:
    """What is said beside calls, with nothing in it that reads as one."""
    return _OPENER.sub(r"<\\\1", text) if "<" in text else text


def read_words(text: str) -> str:
    """The way back."""
    return _HIDDEN_OPENER.sub(r"<\1", text) if "<\\" in text else text


def read_calls(text: str) -> tuple[str, list[TextCall]]:
    """What a message says, and the calls in it; raises FunctionCallConversionError for a call without its shape."""
    start = _first_call(text)
    if start is None:
        return read_words(text), []
    said, calls = [_before(text[: start.start()])], []
    while start is not None:
        call, end = _read_call(text, start)
        calls.append(call)
        start = _OPEN.search(text, end)
        between = text[end : start.start() if start else len(text)].strip()
        if between:
            said.append(_WRAPPER.sub("\n", between).strip())
    return read_words("\n".join(filter(None, said))), calls


def _first_call(text: str) -> re.Match[str] | None:
    """The first call that is not part of the model's thinking."""
    if "<think>" not in text:
        return _OPEN.search(text)
    thinking = [found.span() for found in _THINKING.finditer(text)]
    for found in _OPEN.finditer(text):
        if not any(start <= found.start() < end for start, end in thinking):
            return found
    return None


def _before(text: str) -> str:
    if text.endswith(("<tool_call>", "<tool_call>\n")):
        text = text.removesuffix("\n").removesuffix("<tool_call>")
    return text.removesuffix("\n\n") if text.endswith("\n\n") else text.removesuffix("\n")


def _read_call(text: str, start: re.Match[str]) -> tuple[TextCall, int]:
    call, at = TextCall(start[1].strip()), start.end()
    while found := _PARAMETER.match(text, at):
        end = _END_OF_VALUE.search(text, found.end())
        if end is None:
            return _open_value(call, found, text)
        call.values[found[1].strip()] = _value(text[found.end() : end.start()])
        at = end.end()
    closed = _END_OF_CALL.match(text, at)
    if closed is None:
        stray = text[at:].partition("</function")[0].strip()[:80]
        raise FunctionCallConversionError(
            f"The call of `{call.name}` holds text outside its parameters: `{stray}`. Write each value inside "
            "<parameter=NAME>value</parameter>, and nothing between."
        )
    return call, closed.end()


def _open_value(call: TextCall, found: re.Match[str], text: str) -> tuple[TextCall, int]:
    """A last value without its end belongs to a whole call when that has one; otherwise the text was cut."""
    end = text.find("</function", found.end())
    call.is_cut = end < 0
    stop = len(text) if end < 0 else end
    call.values[found[1].strip()] = _value(text[found.end() : stop])
    return call, len(text) if end < 0 else end + len("</function>")


def _value(text: str) -> str:
    text = text.removeprefix("\n").removesuffix("\n")
    return _HIDDEN_CLOSER.sub(r"<\1", text) if "<\\" in text else text
