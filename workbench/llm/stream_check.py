"""Checks streamed bodies before litellm reads them, because it silently drops pieces that it cannot parse.

Each piece is passed on once it is complete, as one line of JSON, which all of litellm's parsers accept. Binary streams
(Bedrock's) have checksums of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from workbench.llm.stream_decoder import BROKEN, DONE, BrokenStream, events_of, lines_of, parsed

_EVENTS = ("text/event-stream", "text/plain", "")
_JSON_LINES = (
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    "application/stream+json",
)
_LINE_ENDS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}
"""Characters at which httpx splits lines, with their escapes in JSON."""


def check_body(response: Any) -> None:
    """Make the body of a streamed response raise BrokenStream at a piece that is broken; a response hook of httpx."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.is_success and (check := _check_for(kind)):
        read = response.iter_bytes
        response.iter_bytes = lambda chunk_size=None: check(read())


def _check_for(kind: str) -> Callable[[Iterable[bytes]], Iterator[bytes]] | None:
    return whole_events if kind in _EVENTS else whole_lines if kind in _JSON_LINES else None


def whole_events(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each event once it is complete; anything after the end mark is read and dropped."""
    for event in events_of(pieces):
        values = event.values()
        data = [f"data: {_on_one_line(text)}\n" for text, _ in values]
        yield ("\n".join([*event.fields, *(data or [""])]) + "\n").encode()
        if any(value is DONE for _, value in values):
            break
    for _ in pieces:
        pass


def whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each line of JSON once it is complete."""
    for line in lines_of(pieces):
        if line.strip() and parsed(line.strip()) is BROKEN:
            raise BrokenStream("the stream contains a line that is not JSON")
        yield (_on_one_line(line) + "\n").encode()


def _on_one_line(text: str) -> str:
    """Return JSON without line ends, which are whitespace in JSON, and without characters that are taken for them."""
    text = text.replace("\n", " ")
    for character, escape in _LINE_ENDS.items():
        text = text.replace(character, escape)
    return text
