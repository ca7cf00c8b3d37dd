"""Long strings of a payload kept once, by hash; used by the store on writing and on reading.

A row of the log keeps `null` in the place of each long string, and a list of [path, hash] beside its JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

LIMIT = 16_000
"""Strings of more characters than this are kept apart."""

Path: TypeAlias = list[str | int]
Parts: TypeAlias = list[tuple[Path, str]]


def take_out(payload: dict[str, Any]) -> tuple[Parts, dict[str, str]]:
    """Replace every long string of the payload by None; returns where they stood, and the texts by hash."""
    parts: Parts = []
    texts: dict[str, str] = {}
    for path, text in list(_long_strings(payload, [])):
        name = _name_of(text)
        _put(payload, path, None)
        parts.append((path, name))
        texts[name] = text
    return parts, texts


def put_back(row: str, parts: str, text_of: Callable[[str], str]) -> str:
    """The JSON of a row with its long strings in their places; `text_of` raises KeyError for a missing one."""
    payload = json.loads(row)
    for path, name in json.loads(parts):
        _put(payload, path, text_of(name))
    return json.dumps(payload, ensure_ascii=False)


def is_named(text: object, name: object) -> bool:
    """Whether the text is the one that was stored under that hash."""
    return isinstance(text, str) and _name_of(text) == name


def _name_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _long_strings(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        if len(value) > LIMIT:
            yield path, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _long_strings(part, [*path, name])
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _long_strings(part, [*path, number])


def _put(payload: Any, path: Path, value: str | None) -> None:
    for name in path[:-1]:
        payload = payload[name]
    payload[path[-1]] = value
