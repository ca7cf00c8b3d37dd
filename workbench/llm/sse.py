"""Parses server-sent events from raw bytes, for streams that litellm does not parse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from workbench.llm.errors import Fault
from workbench.llm.stream import checked, choice_of
from workbench.llm.stream_decoder import BROKEN, DONE, MARK, BrokenStream, events_of, parsed, text_of


def read_chunks(pieces: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a stream.

    Comments (keep-alives) are dropped. Raises BrokenStream if the stream ends with neither an end mark nor a finish
    reason, or contains anything but complete JSON objects.
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


def whole_answer(data: bytes) -> dict[str, Any]:
    """Return the response of a server that does not stream.

    Raises BrokenStream if it is cut off or the provider failed, and Fault for an error or any other content.
    """
    text = text_of(data).removeprefix(MARK).strip()
    answer = parsed(text)
    if answer is BROKEN and text.startswith("{"):
        raise BrokenStream("the answer is cut")
    if not isinstance(answer, dict) or not ("choices" in answer or answer.get("error")):
        raise Fault("alien")
    return checked(answer)


def _has_finished(chunk: dict[str, Any]) -> bool:
    return bool(choice_of(chunk.get("choices")).get("finish_reason"))
