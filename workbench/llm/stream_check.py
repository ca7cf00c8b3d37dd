"""Checks streamed bodies before litellm reads them, because litellm silently drops pieces that it cannot parse, and
mistakes a web page, or an answer that the provider broke off, for a complete answer.

Each piece is passed on once it is complete, as one line of JSON, which all of litellm's parsers accept. Binary streams
(Bedrock's) have checksums of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from workbench.llm.exchange import NotAnEndpoint
from workbench.llm.stream import checked, is_count
from workbench.llm.stream_decoder import BROKEN, DONE, BrokenStream, events_of, lines_of, parsed

_EVENTS = ("text/event-stream", "text/plain", "")
_JSON_LINES = (
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    "application/stream+json",
)
_COUNTS = ("prompt_tokens", "completion_tokens")
_LINE_ENDS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}
"""Characters at which httpx splits lines, with their escapes in JSON."""


def check_body(response: Any) -> None:
    """Make the body of a streamed response raise an error at a malformed piece. Raises NotAnEndpoint for a web page.

    This is a response hook of httpx.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.is_success and "html" in kind:
        raise NotAnEndpoint(kind)
    if response.is_success and (check := _check_for(kind)):
        read = response.iter_bytes
        response.iter_bytes = lambda chunk_size=None: check(read())


def _check_for(kind: str) -> Callable[[Iterable[bytes]], Iterator[bytes]] | None:
    return whole_events if kind in _EVENTS else whole_lines if kind in _JSON_LINES else None


def whole_events(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each event once it is complete; anything after the end mark is read and dropped.

    Raises BrokenStream for a malformed event, and the errors of `checked`.
    """
    for event in events_of(pieces):
        values = event.values()
        data = [f"data: {_on_one_line(_readable(text, value))}\n" for text, value in values]
        yield ("\n".join([*event.fields, *(data or [""])]) + "\n").encode()
        if any(value is DONE for _, value in values):
            break
    for _ in pieces:
        pass


def _readable(text: str, value: Any) -> str:
    """Return the JSON of a chunk, changed if litellm could not read it. Raises the errors of `checked`."""
    if not isinstance(value, dict):
        return text
    changes = dict(_changes(checked(value)))
    return json.dumps({**value, **changes}) if changes else text


def _changes(chunk: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a chunk with which litellm fails, each with a value to send instead."""
    usage, choices = chunk.get("usage"), chunk.get("choices", [])
    if isinstance(usage, dict) and not all(is_count(usage.get(name, 0)) for name in _COUNTS):
        yield "usage", None
    if not isinstance(choices, list):
        yield "choices", []
    elif any(isinstance(choice, dict) and choice.get("delta", {}) is None for choice in choices):
        yield "choices", [{**choice, "delta": choice.get("delta") or {}} for choice in choices]


def whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each line of JSON once it is complete. Raises BrokenStream for a line that is not JSON."""
    for line in lines_of(pieces):
        if line.strip() and parsed(line.strip()) is BROKEN:
            raise BrokenStream("the stream contains a line that is not JSON")
        yield (_on_one_line(line) + "\n").encode()


def _on_one_line(text: str) -> str:
    """Return the same JSON without line ends and without other characters at which httpx would split the line."""
    text = text.replace("\n", " ")
    for character, escape in _LINE_ENDS.items():
        text = text.replace(character, escape)
    return text
