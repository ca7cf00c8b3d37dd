"""Decodes streamed bodies: server-sent events and lines of JSON; used by `sse` and `stream_check`.

A piece that is not JSON, or that contains an incomplete UTF-8 character, shows that bytes are missing: the stream is
broken. Bytes that are never valid in UTF-8 are an error of the provider and become U+FFFD.

Source of the format: https://html.spec.whatwg.org/multipage/server-sent-events.html.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from workbench.lazy_pattern import lazy_pattern

DONE = "[DONE]"
"""The mark at the end of a stream in OpenAI's format."""
BROKEN: Final = object()
MARK: Final = "\ufeff"
"""The byte order mark that some servers send first."""
_FIELD = lazy_pattern(r"(?:data|event|id|retry|):|(?:data|event|id|retry)\Z")
_HEARTBEAT = lazy_pattern(r"event: ?(?:ping|heartbeat|keep-?alive)\Z")
_IN_NO_TEXT = lazy_pattern(rb"[\xc0\xc1\xf5-\xff]|\xed[\xa0-\xbf][\x80-\xbf]")
"""Bytes that never occur in UTF-8, and encoded surrogates."""
_REPLACEMENT = "\ufffd".encode()


class BrokenStream(Exception):
    """A streamed response is malformed, or ends before it is complete."""


def lines_of(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines of a body without their ends (LF, CR or CRLF) and without a byte order mark.

    Raises BrokenStream if a line contains an incomplete UTF-8 character.
    """
    lines = _raw_lines(pieces)
    for first in lines:
        yield first.removeprefix(MARK)
        yield from lines


def _raw_lines(pieces: Iterable[bytes]) -> Iterator[str]:
    waiting: list[bytes] = []
    for piece in filter(None, pieces):
        # What follows a CR at the end of a piece may be its LF.
        if waiting and waiting[-1].endswith(b"\r") and not piece.startswith(b"\n"):
            yield _line(waiting)
        *whole, last = piece.splitlines(keepends=True)
        for line in whole:
            waiting.append(line)
            yield _line(waiting)
        waiting.append(last)
        if last.endswith(b"\n"):
            yield _line(waiting)
    if waiting:
        yield _line(waiting)


def _line(waiting: list[bytes]) -> str:
    """Return the line that consists of the parts in `waiting`, and empty that list."""
    raw = b"".join(waiting).rstrip(b"\r\n")
    waiting.clear()
    return text_of(raw)


def text_of(raw: bytes) -> str:
    """Decode the bytes as UTF-8. Raises BrokenStream if a character is incomplete."""
    try:
        return _IN_NO_TEXT.sub(_REPLACEMENT, raw).decode()
    except UnicodeDecodeError as error:
        raise BrokenStream("the stream contains an incomplete character") from error


class ServerEvent(msgspec.Struct):
    """One server-sent event: the values of its `data` lines, and its other fields unchanged."""

    fields: list[str] = msgspec.field(default_factory=list)
    data: list[str] = msgspec.field(default_factory=list)

    def values(self) -> list[tuple[str, Any]]:
        """Return pairs of text and JSON value: one for all data lines together or, if that is not JSON, one per line.

        The value of an end mark is DONE; a heartbeat has no values. Raises BrokenStream if a line is not JSON either.
        """
        whole = "\n".join(self.data).strip()
        values = [(whole, parsed(whole))] if whole else []
        if any(value is BROKEN for _, value in values) and len(self.data) > 1:
            values = [(line.strip(), parsed(line.strip())) for line in self.data if line.strip()]
        if any(value is BROKEN for _, value in values):
            if any(map(_HEARTBEAT.match, self.fields)):
                return []
            raise BrokenStream("the stream contains a piece that is not JSON")
        return values


def events_of(pieces: Iterable[bytes]) -> Iterator[ServerEvent]:
    """Yield the events of a body; a line without a field name continues incomplete JSON, as Gemini sends it."""
    event, is_open = ServerEvent(), None
    for line in lines_of(pieces):
        if line.startswith("data:"):
            event.data.append(line[5:].removeprefix(" "))
        elif not line:
            yield event
            event, is_open = ServerEvent(), None
        elif event.data and not _FIELD.match(line):
            is_open = parsed("\n".join(event.data)) is BROKEN if is_open is None else is_open
            (event.data if is_open else event.fields).append(line)
        else:
            event.fields.append(line)
    if event.data or event.fields:
        yield event


def parsed(text: str) -> Any:
    """Return the JSON value, DONE for the end mark, or BROKEN if the text is neither."""
    if text == DONE:
        return DONE
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return BROKEN
