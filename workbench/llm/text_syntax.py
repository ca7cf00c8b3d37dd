"""The plain-text form of a tool call, written and read; `text_calls` converts whole conversations with it.

    <function=NAME>
    <parameter=ONE>value</parameter>
    </function>

The form is OpenHands' (CodeAct); one newline after an opening and before a closing tag belongs to it. Closing tags in a
value, and opening ones in what is said around a call, carry a backslash (`<\\/parameter`), so that they are no tags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from workbench.llm.text_values import FunctionCallConversionError, Parameter, as_json

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


def write_call(name: str, arguments: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> str:
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
