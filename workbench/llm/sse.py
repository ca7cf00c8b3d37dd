"""Server-sent events parsed from raw bytes, for streams that `client` reads itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from workbench.llm.errors import Fault, fault_from_text
from workbench.llm.stream import choice_of
from workbench.llm.stream_decoder import BROKEN, DONE, BrokenStream, events_of, parsed, text_of

_FAILED = ("error", "network_error")
"""Finish reasons of a response that the provider failed to complete: OpenRouter's and Zhipu's."""


def read_chunks(pieces: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a stream.

    Comments (keep-alives) are dropped. Raises BrokenStream if the stream ends without the end mark or a finish reason,
    or holds anything but whole JSON objects.
    """
    finished = False
    for chunk in (value for event in events_of(pieces) for _, value in event.values()):
        if chunk is DONE:
            return
        if not isinstance(chunk, dict):
            raise BrokenStream("the stream contains a piece that is not a JSON object")
        finished = finished or _has_finished(chunk)
        yield chunk
    if not finished:
        raise BrokenStream("the stream ended in the middle of the answer")


def checked(chunk: Any) -> dict[str, Any]:
    """Return the chunk. Raises Fault for an error within the stream, and BrokenStream if the provider failed or the
    value is not a chunk.
    """
    if not isinstance(chunk, dict):
        raise BrokenStream("the answer is not a JSON object")
    error = chunk.get("error")
    if error:
        fields = error if isinstance(error, dict) else {"message": error}
        raise fault_from_text(str(fields.get("message") or error), _status(fields.get("code")))
    if choice_of(chunk.get("choices")).get("finish_reason") in _FAILED:
        raise BrokenStream("the provider failed in the middle of the answer")
    return chunk


def whole_answer(data: bytes) -> dict[str, Any]:
    """Return the response of a server that does not stream. Raises Fault for any other content, and BrokenStream if the
    response is cut or the provider failed.
    """
    text = text_of(data).strip()
    answer = parsed(text)
    if answer is BROKEN and text.startswith("{"):
        raise BrokenStream("the answer is cut")
    if not isinstance(answer, dict) or not ("choices" in answer or answer.get("error")):
        raise Fault("alien")
    return checked(answer)


def _status(code: object) -> int | None:
    """Return the HTTP status that an error names, or None; other codes are the provider's own."""
    number = int(code) if isinstance(code, str) and re.fullmatch(r"[45]\d\d", code) else code
    return number if isinstance(number, int) and 400 <= number < 600 else None


def _has_finished(chunk: dict[str, Any]) -> bool:
    return bool(choice_of(chunk.get("choices")).get("finish_reason"))
