"""Parses calls with JSON arguments, as some models are trained to write them: in `<tool_call>`, or in the format of the
gpt-oss models.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple, TypeVar

from workbench.lazy_pattern import lazy_pattern
from workbench.llm.text_tools.values import FunctionCallConversionError, Table
from workbench.protocol.tool_names import current_name

JsonT = TypeVar("JsonT", dict[str, Any], list[Any])

_TAGGED: Final = r"<tool_call>\s{0,99}(?=[\[{])"
_TAG_END: Final = lazy_pattern(r"\s{0,99}</tool_call>", re.IGNORECASE)
_RECIPIENT: Final = r"\s{1,9}to=functions\.[\w.-]{1,128}\s{0,9}"
_CHANNEL: Final = r"<\|channel\|>commentary"
_HARMONY: Final = (
    rf"(?:<\|start\|>assistant{_RECIPIENT}{_CHANNEL}|(?:<\|start\|>assistant)?{_CHANNEL}{_RECIPIENT})"
    r"(?:json|code)?\s{0,9}(?:<\|constrain\|>\w{0,20}\s{0,9})?<\|message\|>\s{0,99}(?=\{)"
)
"""A pattern for the start of a call in the format that OpenAI documents for its gpt-oss models."""
_HARMONY_NAME: Final = lazy_pattern(r"to=functions\.([\w.-]+)", re.IGNORECASE)
_HARMONY_END: Final = lazy_pattern(r"\s{0,9}<\|(?:call|end|return)\|>", re.IGNORECASE)
OPENING: Final = rf"{_TAGGED}|{_HARMONY}"
"""A pattern for the start of a call with JSON arguments, up to the JSON."""


class JsonCall(NamedTuple):
    """One call; `end` is the position after it in the text."""

    name: str
    arguments: dict[str, Any]
    end: int


def is_json_call(opening: str) -> bool:
    """Return whether the start of a call is that of a JSON call, which `OPENING` matches."""
    return opening[:10].lower() == "<tool_call" or opening.startswith("<|")


def json_call_at(text: str, opening: re.Match[str], table: Table) -> JsonCall | None:
    """Return the call that starts with this match of `OPENING`; None if it has no valid JSON or names no known tool.

    Raises FunctionCallConversionError for a list of several calls, or an argument that occurs twice.
    """
    read = _harmony_call if opening["call"].startswith("<|") else _tagged_call
    call, closing = read(text, opening, table)
    if call is None or call.name not in table:
        return None
    end = closing.match(text, call.end)
    return call._replace(end=end.end()) if end else call


def _harmony_call(text: str, opening: re.Match[str], table: Table) -> tuple[JsonCall | None, re.Pattern[str]]:
    name = _HARMONY_NAME.search(opening["call"])
    arguments, end = json_at(text, opening.end(), dict)
    if name is None or arguments is None:
        return None, _HARMONY_END
    return JsonCall(current_name(name[1], table), arguments, end), _HARMONY_END


def _tagged_call(text: str, opening: re.Match[str], table: Table) -> tuple[JsonCall | None, re.Pattern[str]]:
    value, end = _object_at(text, opening.end(), table)
    name, arguments = (value or {}).get("name"), (value or {}).get("arguments", (value or {}).get("parameters"))
    if isinstance(arguments, str):
        inside, length = json_at(arguments, len(arguments) - len(arguments.lstrip()), dict)
        arguments = inside if not arguments[length:].strip() else arguments
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None, _TAG_END
    return JsonCall(current_name(name, table), arguments, end), _TAG_END


def _object_at(text: str, at: int, table: Table) -> tuple[dict[str, Any] | None, int]:
    """Return the object at position `at`, or the only call of a list there, and the position after it.

    The object is None if there is none. Raises FunctionCallConversionError if a list contains several calls.
    """
    if text[at] == "{":
        return json_at(text, at, dict)
    value, end = json_at(text, at, list)
    calls = [each for each in value or () if isinstance(each, dict) and each.get("name") in table]
    if len(calls) > 1:
        raise FunctionCallConversionError("One <tool_call> contains several calls. Write one <tool_call> for each.")
    return (calls[0] if calls and len(value or ()) == 1 else None), end


def json_at(text: str, at: int, kind: type[JsonT]) -> tuple[JsonT | None, int]:
    """Return the JSON object or list at position `at`, and the position after it; `(None, at)` if there is none."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at
    return (value, end) if isinstance(value, kind) else (None, at)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise FunctionCallConversionError(
            f"The JSON of a call names `{twice[:80]}` twice. Send the call again with each name once."
        )
    return value


_DECODER: Final = json.JSONDecoder(strict=False, object_pairs_hook=_each_once)
