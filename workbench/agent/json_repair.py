"""Repair of a call's arguments that are not valid JSON but can be read in only one way.

A text that ends early is never completed: only a complete object is repaired. Ambiguous text is not repaired, and
neither is syntax outside JSON (single quotes, NaN). All repairs take linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from workbench.lazy_pattern import lazy_pattern

Parse: TypeAlias = Callable[[str], Any]
"""Parses JSON and accepts raw control characters in strings; raises ValueError if the text is invalid."""

_LONGEST: Final = 2_000_000
_FENCE: Final = lazy_pattern(r"\s*```[\w-]{0,20}\s*")
_CLOSERS: Final = lazy_pattern(r"(?:\s*(?:```|</[A-Za-z][\w:.-]{0,40}>|<\|[\w/]{1,40}\|>)){1,9}\s*\Z")
_ESCAPE: Final = lazy_pattern(r"\\(.)", re.DOTALL)
_JSON_ESCAPES: Final = frozenset('"\\/bfnrtu')
_SPACES: Final = lazy_pattern(r"\s*")
_MOST_OBJECTS: Final = 4


class AmbiguousArguments(ValueError):
    """The arguments can be read in more than one way; the error's message tells the model what to send."""


def repaired_json(text: str, parse: Parse) -> tuple[Any, str] | None:
    """Return the only value that the text can mean, and a note on what was repaired; None if it cannot be repaired.

    Raises AmbiguousArguments if the text can mean several values.
    """
    if len(text) > _LONGEST:
        return None
    plain, wrapping = _unwrapped(text.removeprefix("\ufeff"))
    if text.startswith("\ufeff"):
        wrapping = ", ".join(filter(None, ["a byte order mark ignored", wrapping]))
    for candidate, note in _candidates(plain):
        try:
            value = parse(candidate)
        except RecursionError:
            return None
        except ValueError:
            continue
        return value, ", ".join(filter(None, [wrapping, note]))
    return _several(plain, parse)


def _unwrapped(text: str) -> tuple[str, str]:
    """Return the text without a surrounding code fence and closing tags, and a note about what was removed."""
    fence = _FENCE.match(text)
    plain = text[fence.end() :] if fence else text
    tail = max(0, len(plain) - 400)
    closers = _CLOSERS.search(plain, tail)
    if closers and plain[: closers.start()].rstrip()[-1:] in ("}", "]", '"'):
        return plain[: closers.start()], f"`{closers[0].strip()[:60]}` after it ignored"
    return (plain, "a code fence ignored") if fence else (text, "")


def _candidates(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text and a repaired form of it, each with a note on how it is read."""
    yield text, "line breaks and tabs in strings kept unchanged" if _has_control(text) else ""
    escaped = _with_doubled_backslashes(text)
    if escaped != text:
        yield escaped, "backslashes that are not escapes kept as backslashes"


def _has_control(text: str) -> bool:
    return any(character in text for character in "\n\r\t")


def _with_doubled_backslashes(text: str) -> str:
    r"""Return the text with each backslash doubled that does not start a JSON escape, as in `\d`.

    If the text also contains escapes such as `\b` or `\n`, these may be meant literally too. As this cannot be known,
    the text is then returned unchanged.
    """
    letters = {match[1] for match in _ESCAPE.finditer(text)}
    if letters <= _JSON_ESCAPES or letters & (_JSON_ESCAPES - set('"\\/')):
        return text
    return _ESCAPE.sub(lambda match: match[0] if match[1] in _JSON_ESCAPES else f"\\{match[0]}", text)


def _several(text: str, parse: Parse) -> tuple[Any, str] | None:
    """Return the object of a text that consists of two to four objects, each equal to it or empty, and a note.

    Returns None if the text is anything else. Raises AmbiguousArguments if the objects differ.
    """
    decoder, parts = json.JSONDecoder(strict=False), []
    position = _skip_spaces(text, 0)
    while position < len(text):
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return None
        parts.append((value, text[position:end]))
        position = _skip_spaces(text, end)
        if len(parts) > _MOST_OBJECTS:
            return None
    objects = [part for value, part in parts if value != {}]
    if len(parts) < 2 or not all(isinstance(value, dict) for value, _ in parts):
        return None
    if len({json.dumps(value, sort_keys=True) for value, _ in parts if value != {}}) > 1:
        raise AmbiguousArguments(
            f"the arguments contain {len(objects)} different objects. Send one call for each, with one JSON object."
        )
    return parse(objects[0] if objects else "{}"), f"one object read for the {len(parts)} that were sent"


def _skip_spaces(text: str, position: int) -> int:
    spaces = _SPACES.match(text, position)
    return spaces.end() if spaces else position
