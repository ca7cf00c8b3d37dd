"""The JSON text of a tool call's arguments read strictly; used by `responses`.

Nothing is repaired: text that is not plainly one JSON object never becomes an action, the model is told instead.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from workbench.text import visible, well_formed

MAX_ARGUMENTS = 2_000_000
"""Characters of one call; a larger file is better written in parts."""
_MAX_DEPTH = 50


class UnreadableArguments(ValueError):
    """The arguments are no JSON object; the message tells the model what is wrong and what to do."""


def read_arguments(text: str) -> dict[str, Any]:
    """The object the text holds (nothing at all counts as `{}`); raises UnreadableArguments."""
    if len(text) > MAX_ARGUMENTS:
        raise UnreadableArguments(
            f"the arguments are too large: the limit is {MAX_ARGUMENTS:,} characters. "
            "Send the work in several smaller calls."
        )
    value = _parse(text) if text.strip() else {}
    if not isinstance(value, dict):
        raise UnreadableArguments(f"the arguments must be one JSON object like {{…}}, not {_KINDS[type(value)]}.")
    return {_text(name): _clean(part, 1) for name, part in value.items()}


_KINDS = {
    list: "a list",
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_number)
    except UnreadableArguments:
        raise
    except json.JSONDecodeError as error:
        raise UnreadableArguments(_explain(text, error)) from error
    except RecursionError as error:
        raise UnreadableArguments(_TOO_DEEP) from error
    except ValueError as error:  # a whole number of thousands of digits
        raise UnreadableArguments("the arguments hold a number that is too long.") from error


_TOO_DEEP = f"the arguments are nested more than {_MAX_DEPTH} levels deep."


def _explain(text: str, error: json.JSONDecodeError) -> str:
    near = visible(text[max(0, error.pos - 20) : error.pos + 20], lines=False)
    is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
    where = "they end too early, perhaps cut off" if is_cut else f"near `{near}`"
    return f"the arguments are no valid JSON ({error.msg}, {where}). Send the call again with one valid JSON object."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UnreadableArguments(f"the arguments name {visible(twice[:80], lines=False)!r} twice; say each once.")
    return found


def _no_constant(name: str) -> NoReturn:
    raise UnreadableArguments(f"{name} is no JSON value; use a number or null.")


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise UnreadableArguments(f"the number {text[:40]} is too large.")
    return value


def _clean(value: Any, depth: int) -> Any:
    """The value with every text well formed, so that it can be stored and sent."""
    if depth > _MAX_DEPTH:
        raise UnreadableArguments(_TOO_DEEP)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return [_clean(part, depth + 1) for part in value]
    if isinstance(value, dict):
        return {_text(name): _clean(part, depth + 1) for name, part in value.items()}
    return value


def _text(value: str) -> str:
    return value if value.isascii() and "\x00" not in value else well_formed(value)
