"""Whether a provider's stream really ended, and why; used by `client` where litellm reads the stream.

litellm makes up a finish reason where the provider sent none: at the end of every stream, and with Gemini in every
piece. An answer whose connection closed early would look whole, and half a call would run. So the pieces are watched
on their way into the library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_GEMINI = "vertex_ai_beta"
"""litellm's name for the streams of Gemini's models, on Google AI Studio as on Vertex."""
_LONGEST = 4_000_000
"""Characters of one JSON value over several lines; a longer one is no longer looked at."""


class Ending:
    """Watches one stream of litellm; `reason` is the provider's own finish reason, empty while none has come."""

    def __init__(self, stream: Any) -> None:
        self.reason = ""
        self.stream = stream
        """What to read the answer from."""
        self._is_gemini = getattr(stream, "custom_llm_provider", "") == _GEMINI
        pieces = getattr(stream, "completion_stream", stream)
        if pieces is stream:  # a bare generator, as routes to completions of texts give
            self.stream = self._watched(stream)
        elif pieces is None:
            open_stream = stream.make_call
            stream.make_call = lambda **given: self._watched(open_stream(**given))
        elif hasattr(pieces, "__next__") or hasattr(pieces, "__iter__"):
            stream.completion_stream = self._watched(pieces)

    def _watched(self, pieces: Any) -> Iterator[Any]:
        if self._is_gemini:
            pieces.streaming_response = self._gemini_lines(pieces.streaming_response)
        for piece in pieces:
            if _is_of_another_choice(piece):
                continue
            if not self._is_gemini:
                self.reason = _reason_of(piece) or self.reason
            yield piece

    def _gemini_lines(self, lines: Iterator[str]) -> Iterator[str]:
        waiting = ""
        for line in lines:
            waiting += line.removeprefix("data:").strip()
            if waiting.endswith("}"):
                answer = _object(waiting)
                self.reason = _gemini_reason(answer) or self.reason
                waiting = waiting if answer is None and len(waiting) < _LONGEST else ""
            yield line


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else {}


def _gemini_reason(answer: dict[str, Any] | None) -> str:
    """The reason of the first candidate, or that the question itself was blocked."""
    feedback = (answer or {}).get("promptFeedback")
    if isinstance(feedback, dict) and feedback.get("blockReason"):
        return "SAFETY"
    candidates = (answer or {}).get("candidates")
    for candidate in candidates if isinstance(candidates, list) else ():
        if isinstance(candidate, dict) and not candidate.get("index"):
            return str(candidate.get("finishReason") or "")
    return ""


def _reason_of(piece: Any) -> str:
    """The finish reason that a piece states: of litellm's own plain dictionaries or of OpenAI's objects."""
    if isinstance(piece, dict):
        return str(piece.get("finish_reason") or ("stop" if piece.get("is_finished") else ""))
    choices = getattr(piece, "choices", None)
    return str(getattr(choices[0], "finish_reason", None) or "") if choices else ""


def _is_of_another_choice(piece: Any) -> bool:
    """Whether all that a piece holds belongs to a second answer, which nobody asked for."""
    choices = getattr(piece, "choices", None) or ()
    return bool(choices) and all(getattr(choice, "index", 0) for choice in choices)
