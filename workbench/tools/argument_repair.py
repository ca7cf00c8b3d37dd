"""Repair of single arguments that do not fit a tool's schema but can be read in only one way.

Each repair returns a note for the model. A value that fits stays as it is, except that a stray closing tag is removed
from a path or a command, and that objects which a list has as JSON text are decoded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from workbench.lazy_pattern import lazy_pattern
from workbench.tools.literals import literal

Arguments: TypeAlias = dict[str, Any]
Schema: TypeAlias = Mapping[str, Any]

_CLOSERS: Final = lazy_pattern(r"(?:\s{0,99}</[A-Za-z][\w:.-]{0,40}>){1,9}\s{0,99}\Z")
_LINES: Final = frozenset({"file_text", "old_str", "new_str"})
"""Parameters that contain text; a list of strings for one of them means the lines of the text."""
_COMMANDS: Final = frozenset({"command", "code"})
_PATHS: Final = ("path", "_path", "directory")
_NOTHING: Final = frozenset({"", "null", "none", "undefined"})
_INTEGERS: Final = lazy_pattern(r"\s*[\[(]?\s*(-?\d{1,9}(?:\s*,\s*-?\d{1,9}){0,99})\s*[\])]?\s*")
_RANGE: Final = lazy_pattern(r"\s*(\d{1,9})\s*-\s*(\d{1,9})\s*")
_DURATION: Final = lazy_pattern(
    r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(ms|s|secs?|seconds?|m|mins?|minutes?)\s*", re.IGNORECASE
)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_SEPARATORS: Final = lazy_pattern(r"[\s_-]{1,9}")
_MISSING: Final = object()
_FENCE: Final = lazy_pattern(r"\A\s{0,99}```[\w-]{0,20}\s{0,99}|\s{0,99}```\s{0,99}\Z")


def repaired_arguments(arguments: Arguments, schema: Schema) -> tuple[Arguments, list[str]]:
    """Return the arguments with invalid values repaired where only one reading is possible, and a note on each.

    `schema` must not contain references; `ToolDefinition.schema` has none.
    """
    properties, required = schema.get("properties", {}), schema.get("required", ())
    repaired: Arguments = {}
    notes: list[str] = []
    for name, value in arguments.items():
        part = properties.get(name)
        result = value if not isinstance(part, dict) else _repaired(name, value, part, is_required=name in required)
        if isinstance(part, dict) and result is not _MISSING:
            result = _inside(result, part)
        if result is value:
            repaired[name] = value
            continue
        if result is not _MISSING:
            repaired[name] = result
        notes.append(_note(name, value, result))
    return repaired, notes


def _inside(value: Any, part: Schema) -> Any:
    """Return a copy of a list or an object with repaired elements; the value itself if no element is repaired."""
    if isinstance(value, list) and isinstance(items := part.get("items"), dict):
        parts = [_nested("", each, items, is_required=True) for each in value]
        return value if all(one is other for one, other in zip(parts, value, strict=True)) else parts
    properties = part.get("properties")
    if not (isinstance(value, dict) and isinstance(properties, dict)):
        return value
    required = part.get("required") or ()
    fields = {
        name: _nested(name, each, properties[name], is_required=name in required)
        if isinstance(properties.get(name), dict)
        else each
        for name, each in value.items()
    }
    if all(fields[name] is each for name, each in value.items()):
        return value
    return {name: each for name, each in fields.items() if each is not _MISSING}


def _nested(name: str, value: Any, part: Schema, *, is_required: bool) -> Any:
    """Return the intended value of an element of a list or an object; unlike in arguments, a fitting string is kept."""
    kinds = kinds_of(part)
    if isinstance(part.get("enum"), list) or (kinds and not _fits(value, kinds)):
        value = _repaired(name, value, part, is_required=is_required)
    return value if value is _MISSING else _inside(value, part)


def _note(name: str, value: Any, result: Any) -> str:
    meaning = "as omitted" if result is _MISSING else f"as {_excerpt(result)}"
    return f"`{name}` {_excerpt(value)} {meaning}"


def _excerpt(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:28]} … {text[-28:]}"


def _repaired(name: str, value: Any, part: Schema, *, is_required: bool) -> Any:
    """Return the intended value: `_MISSING` if the argument is to be omitted, `value` itself if it stays as it is."""
    if isinstance(part.get("enum"), list):
        return _of_enum(value, part["enum"])
    kinds = kinds_of(part)
    if not kinds or _fits(value, kinds):
        return _without_tag(name, value) if "string" in kinds else _with_objects(value, part)
    if isinstance(value, str):
        text = _CLOSERS.sub("", value)
        text = text.rstrip()[:-1] if text.rstrip()[-2:-1].strip() and text.rstrip().endswith(">") else text
        if not is_required and text.strip().lower() in _NOTHING:
            return _MISSING
        for kind in sorted(kinds):
            result = _READERS[kind](name, text, part) if kind in _READERS else None
            if result is not None:
                return result
    if isinstance(value, list):
        return _of_list(name, value, part, kinds)
    return value


def kinds_of(part: Schema) -> frozenset[str]:
    """Return the JSON types that a schema without references allows; empty if it does not restrict the type."""
    declared = part.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, list):
        return frozenset(declared)
    kinds = [kinds_of(each) for each in part.get("anyOf") or part.get("oneOf") or () if isinstance(each, dict)]
    return frozenset().union(*kinds) if all(kinds) else frozenset()


def _fits(value: Any, kinds: frozenset[str]) -> bool:
    types = tuple(each for kind in kinds for each in _TYPES.get(kind, ()))
    return isinstance(value, types) and (not isinstance(value, bool) or "boolean" in kinds)


def _without_tag(name: str, value: Any) -> Any:
    """Return a path or a command without the closing tag of its parameter, which a shell would read as a redirect."""
    if not isinstance(value, str) or not (name.endswith(_PATHS) or name in _COMMANDS):
        return value
    closers = _CLOSERS.search(value, max(0, len(value) - 400))
    tags = (f"</{name}>", "</parameter>", "</function>", "</invoke>", "</tool_call>")
    is_meant = closers and all(tag in tags for tag in re.findall(r"</[^>]*>", closers[0]))
    if closers is None or not is_meant or not closers.start():
        return value
    # In a here-document, or with its opening tag, the closing tag may be a part of the command.
    opening = [f"<{tag[2:-1]}" for tag in tags]
    is_part = name in _COMMANDS and ("<<" in value or any(tag in value for tag in opening))
    return value if is_part else value[: closers.start()]


def _with_objects(value: Any, part: Schema) -> Any:
    """Return a list of objects, decoded if they are JSON text; any other value unchanged."""
    if not isinstance(value, list) or not _takes_objects(part):
        return value
    decoded = [_json(each, dict) if isinstance(each, str) else each for each in value]
    return value if decoded == value or any(each is None for each in decoded) else decoded


def _of_enum(value: Any, allowed: list[Any]) -> Any:
    if value in allowed:
        return value
    if isinstance(value, bool):
        return str(value).lower() if str(value).lower() in allowed else value
    if not isinstance(value, str):
        return value
    plain = _plain(_CLOSERS.sub("", value).strip().strip("\"'`"))
    matches = [each for each in allowed if isinstance(each, str) and _plain(each) == plain]
    return matches[0] if len(matches) == 1 else value


def _plain(text: str) -> str:
    """Return a name in lower case, with `_` between its words."""
    return _SEPARATORS.sub("_", text.casefold())


def _of_list(name: str, value: list[Any], part: Schema, kinds: frozenset[str]) -> Any:
    """Return the string that a list stands for: its only string, or its lines joined; any other list unchanged."""
    if "string" in kinds and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    if "string" not in kinds or name not in _LINES or not all(isinstance(line, str) for line in value):
        return value
    has_ends = bool(value) and all(line.endswith("\n") for line in value[:-1]) and len(value) > 1
    return ("" if has_ends else "\n").join(value)


def _read_list(name: str, text: str, part: Schema) -> Any:
    value = _json(text, list)
    if value is not None:
        return _with_objects(value, part)
    if _takes_objects(part) and (objects := _objects(text)):
        return objects
    items = part.get("items") or next((each["items"] for each in part.get("anyOf", ()) if "items" in each), None)
    if not isinstance(items, dict) or items.get("type") != "integer":
        return None
    numbers, span = _INTEGERS.fullmatch(text), _RANGE.fullmatch(text)
    if span:
        return [int(span[1]), int(span[2])]
    return [int(number) for number in numbers[1].split(",")] if numbers and "," in numbers[1] else None


def _takes_objects(part: Schema) -> bool:
    items = part.get("items")
    return isinstance(items, dict) and kinds_of(items) == {"object"}


def _objects(text: str) -> list[Any] | None:
    """Return the objects in a text that contains one object, or one per line (JSON Lines); None for any other text."""
    one = _json(text, dict)
    if one is not None:
        return [one]
    lines = [line.rstrip().removesuffix(",") for line in text.split("\n") if line.strip()]
    objects = [_json(line, dict) for line in lines]
    return objects if objects and all(each is not None for each in objects) else None


def _read_object(name: str, text: str, part: Schema) -> Any:
    return _json(text, dict)


def _read_number(name: str, text: str, part: Schema) -> Any:
    """Return the number that a text contains, perhaps in quotes; a time limit may have a unit, and is in seconds."""
    duration = _DURATION.fullmatch(text) if "timeout" in name else None
    if duration:
        unit = duration[2].lower()
        return float(duration[1]) * _UNITS["ms" if unit == "ms" else unit[0]]
    return _json(text.strip().strip("\"'"), (int, float))


def _read_boolean(name: str, text: str, part: Schema) -> Any:
    return {"true": True, "false": False}.get(text.strip().lower())


_READERS: Final[dict[str, Callable[[str, str, Schema], Any]]] = {
    "array": _read_list,
    "object": _read_object,
    "number": _read_number,
    "integer": _read_number,
    "boolean": _read_boolean,
}


def _json(text: str, kind: type | tuple[type, ...]) -> Any:
    """Return the value of a text in JSON, or in the notation of Python or JavaScript; None if it is not a `kind`."""
    try:
        value = json.loads(text, strict=False)
    except RecursionError:
        return None
    except ValueError:
        try:
            value = literal(_FENCE.sub("", text))
        except ValueError:
            return None
    return value if isinstance(value, kind) and not isinstance(value, bool) else None
