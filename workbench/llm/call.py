"""One model call: joins the streamed response and resends a rejected request in another form; masks keys in error
texts.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import msgspec.structs

from workbench.lazy_pattern import lazy_pattern
from workbench.llm.errors import Fault
from workbench.llm.exchange import Chunk, Exchange
from workbench.llm.model import Cancel, Delta, Message, Model, ModelError, ModelRequest, ModelResponse
from workbench.llm.pricing import cost_of, window_of
from workbench.llm.retry import Cancelled
from workbench.llm.signatures import unsigned
from workbench.llm.stream import Joiner
from workbench.text import first_line, well_formed


def has_calls(messages: Sequence[Message]) -> bool:
    """Return whether the messages contain tool calls or results."""
    return any(message.get("tool_calls") or message["role"] == "tool" for message in messages)


def in_words(messages: Sequence[Message]) -> list[Message]:
    """Return the conversation with tool calls and results as text, and consecutive messages of the same role merged."""
    merged: list[Message] = []
    for message in _without_calls(messages):
        if merged and merged[-1]["role"] == message["role"] != "system":
            merged[-1] = {**merged[-1], "content": _joined(merged[-1]["content"], message["content"])}
        else:
            merged.append(message)
    return merged


def _without_calls(messages: Sequence[Message]) -> Iterator[Message]:
    names: dict[str, str] = {}
    for message in unsigned(messages):
        calls = message.get("tool_calls") or ()
        names |= {call["id"]: call["function"]["name"] for call in calls}
        if message["role"] == "tool":
            tool = names.get(message["tool_call_id"], "a tool")
            yield {"role": "user", "content": f"[What {tool} gave back:]\n{message['content']}"}
        elif calls:
            called = [f"[I called {call['function']['name']} with {call['function']['arguments']}]" for call in calls]
            text = [message["content"]] if message.get("content") else []
            yield {"role": "assistant", "content": "\n".join([*text, *called])}
        else:
            yield message


def _joined(first: str | list[Any], second: str | list[Any]) -> str | list[Any]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_content_parts(first), *_content_parts(second)]


def _content_parts(content: str | list[Any]) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


_LIKE_A_KEY = lazy_pattern(r"(?i)\b(?:sk|pk|key|token|gsk|xai|AIza)[-_][\w*.-]{6,}|AIza[\w-]{10,}|bearer\s+\S+")
_NAMES_A_SECRET = lazy_pattern(
    r"(?i)(?:keys?|token|secret|pass(?:word|wd|phrase)?|pwd|bearer|cookie|auth|credentials?)$"
)
_SHORTEST = 6


def masked(text: str, api_key: str | None = None) -> str:
    """Return the text with the given key, secrets from the environment, and anything that looks like a key masked."""
    for secret in sorted({api_key or "", *_of_environment()}, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, "…")
    return _LIKE_A_KEY.sub("…", text)


def _of_environment() -> Iterator[str]:
    return (value.strip() for name, value in os.environ.items() if _NAMES_A_SECRET.search(name))


_GEMINI = "vertex_ai_beta"
"""litellm's name for the streams of Gemini models, on both Google AI Studio and Vertex."""
_LONGEST = 4_000_000
"""The maximum length in characters of a JSON value that spans several lines; a longer one is not parsed."""


class Ending:
    """Reads one litellm stream and records what litellm does not report: `reason` is the provider's own finish reason
    (empty until it arrives), `has_usage` says whether the provider sent the token counts or litellm estimated them.
    """

    def __init__(self, stream: Any) -> None:
        self.reason = ""
        self.has_usage = False
        self.stream = stream
        """The stream to read the response from."""
        self._is_gemini = getattr(stream, "custom_llm_provider", "") == _GEMINI
        pieces = getattr(stream, "completion_stream", stream)
        # A bare generator, which litellm returns for text completions.
        if pieces is stream:
            self.stream = self._watched(stream)
        elif pieces is None:
            open_stream = stream.make_call
            stream.make_call = lambda **options: self._watched(open_stream(**options))
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
            self.has_usage = self.has_usage or _has_usage(piece)
            yield piece

    def _gemini_lines(self, lines: Iterator[str]) -> Iterator[str]:
        waiting = ""
        for line in lines:
            text = line.removeprefix("data:").strip()
            # A comment or another field, such as the keep-alive of a proxy.
            if not waiting and not text.startswith(("{", "[")):
                continue
            waiting += text
            if waiting.endswith("}"):
                answer = _object(waiting)
                self.reason = _gemini_reason(answer) or self.reason
                is_whole = answer is not None and waiting == text
                waiting = waiting if answer is None and len(waiting) < _LONGEST else ""
                if answer and is_whole and _complete_gemini(answer):
                    line = f"data: {json.dumps(answer)}"
            yield line


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else {}


def _gemini_reason(answer: dict[str, Any] | None) -> str:
    """Return the finish reason of the first candidate, or SAFETY if the request was blocked."""
    feedback = (answer or {}).get("promptFeedback")
    if isinstance(feedback, dict) and feedback.get("blockReason"):
        return "SAFETY"
    candidates = (answer or {}).get("candidates")
    for candidate in candidates if isinstance(candidates, list) else ():
        if isinstance(candidate, dict) and not candidate.get("index"):
            return str(candidate.get("finishReason") or "")
    return ""


def _complete_gemini(answer: dict[str, Any]) -> bool:
    """Add what litellm needs and Gemini may omit: the arguments of a call and the parts of a content. Drop invalid
    token counts. Return whether the answer has been changed.
    """
    contents = [content for content in _gemini_contents(answer) if isinstance(content.get("parts", []), list)]
    parts = [part for content in contents for part in content.get("parts", ()) if isinstance(part, dict)]
    calls = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
    bare = [call for call in calls if call.get("args") is None]
    hollow = [content for content in _gemini_contents(answer) if content.get("parts", []) is None]
    for call in bare:
        call["args"] = {}
    for content in hollow:
        content["parts"] = []
    has_no_counts = "usageMetadata" in answer and not _are_counts(answer["usageMetadata"])
    if has_no_counts:
        del answer["usageMetadata"]
    return bool(bare or hollow or has_no_counts)


def _gemini_contents(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the contents of all candidates."""
    candidates = answer.get("candidates")
    for candidate in candidates if isinstance(candidates, list) else ():
        if isinstance(candidate, dict) and isinstance(candidate.get("content"), dict):
            yield candidate["content"]


def _are_counts(usage: Any) -> bool:
    """Return whether every token count in Gemini's usage object is a valid number."""
    counts = [usage[name] for name in usage if name.endswith("TokenCount")] if isinstance(usage, dict) else [None]
    return all(type(count) is int and count >= 0 for count in counts)


UNREADABLE_CALLS = frozenset({"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"})
"""Gemini's reasons for an answer that ends at a tool call which the provider itself could not read."""


def _reason_of(piece: Any) -> str:
    """Return the finish reason of a chunk (a dictionary or an object of OpenAI's library); empty if it has none."""
    if isinstance(piece, dict):
        return str(piece.get("finish_reason") or ("stop" if piece.get("is_finished") else ""))
    choices = getattr(piece, "choices", None)
    return str(getattr(choices[0], "finish_reason", None) or "") if choices else ""


def _has_usage(piece: Any) -> bool:
    """Return whether a chunk contains token counts of the provider."""
    usage = piece.get("usage") if isinstance(piece, dict) else getattr(piece, "usage", None)
    counts = usage if isinstance(usage, dict) else getattr(usage, "__dict__", {})
    return bool(counts.get("prompt_tokens") or counts.get("completion_tokens"))


def _is_of_another_choice(piece: Any) -> bool:
    """Return whether all choices of a chunk belong to a second answer, which was not requested."""
    choices = getattr(piece, "choices", None) or ()
    return bool(choices) and all(getattr(choice, "index", 0) for choice in choices)


_NO_EYES = "[An image was here. It was not sent, because this model cannot take it; say so if that matters.]"


def has_pictures(messages: Sequence[Message]) -> bool:
    """Return whether a message contains an image."""
    in_parts = [message for message in messages if isinstance(message.get("content"), list)]
    return any(_is_picture(part) for message in in_parts for part in _parts(message))


def without_pictures(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with a note in place of each image, so that the model knows what it does not see."""
    return [_without_pictures(message) if any(map(_is_picture, _parts(message))) else message for message in messages]


def is_blind(listed: Mapping[str, Any] | None) -> bool:
    """Return whether this entry of the price table is that of a chat model without vision; False if there is none."""
    return listed is not None and listed.get("mode") == "chat" and not listed.get("supports_vision")


def takes_no_images(model: Model) -> bool:
    """Return whether the model is known not to accept images; an unknown model is assumed to accept them."""
    return is_blind(getattr(model, "prices", None))


def _without_pictures(message: Message) -> Message:
    return {**message, "content": "\n".join(_NO_EYES if _is_picture(p) else p["text"] for p in _parts(message))}


def _parts(message: Message) -> Sequence[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else ()


def _is_picture(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "image_url"


_RETOLD = "the provider rejected the order of calls and results; they are sent once more as plain text"
_UNSEEN = "the provider rejected the images, so they are omitted"


class Provider(Protocol):
    """The model that an `Answering` calls."""

    name: str

    @property
    def longest_silence(self) -> float:
        """Seconds without any part of a response after which the request is abandoned."""

    @property
    def prices(self) -> Mapping[str, Any] | None:
        """The price table's entry for the model: dollars per token, context window and abilities; None if it
        has none.
        """

    def exchange(self, request: ModelRequest, cancel: Cancel) -> Exchange:
        """Start a request."""

    def fault(self, error: BaseException) -> Fault:
        """Return the fault that an error of an exchange is; the API key is masked in the fault's text."""

    def error(self, fault: Fault) -> ModelError:
        """Return the exception to raise for a fault; its message is for the user."""


class Answering:
    """One model call, which may be tried several times; its latency is measured from the first try."""

    def __init__(
        self, model: Provider, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel
    ) -> None:
        self._model = model
        self._request = request
        self._on_delta = on_delta
        self._cancel = cancel
        self._begun = time.monotonic()
        self._first_token: float | None = None

    def run(self) -> ModelResponse:
        """Try the call once and return the response. Raises Fault if no part of a response arrived.

        A rejected request is sent once more in another form: with tool calls and results as text if the provider did
        not accept their order, without images if it did not accept these.
        """
        if has_pictures(self._request.messages) and is_blind(self._model.prices):
            self._change(without_pictures, f"{self._model.name} takes no images; they are not sent")
        try:
            return self._try()
        except Fault as fault:
            messages = self._request.messages
            if fault.kind == "pairing" and has_calls(messages):
                self._change(in_words, _RETOLD)
            elif fault.kind == "picture" and has_pictures(messages):
                self._change(without_pictures, f"{_UNSEEN}: {first_line(fault.text, 200)}")
            else:
                raise
        return self._try()

    def _change(self, how: Callable[[Sequence[Message]], list[Message]], notice: str) -> None:
        """Change the messages of this and later tries, and notify the user."""
        self._request = replace(self._request, messages=how(self._request.messages))
        self._on_delta(Delta("status", notice))

    def _try(self) -> ModelResponse:
        if self._cancel.is_set:
            raise Cancelled
        joiner = Joiner()
        exchange = self._model.exchange(self._request, self._cancel)
        try:
            for chunk in exchange.chunks(self._model.longest_silence):
                self._pass_on(joiner, chunk)
                if joiner.is_too_long:
                    exchange.error = Fault("endless")
                    break
        finally:
            exchange.close()
        if self._cancel.is_set:
            return self.response(joiner, "interrupted")
        return self.response(joiner, "" if exchange.error is None else self._cut(joiner, exchange.error))

    def _pass_on(self, joiner: Joiner, chunk: Chunk) -> None:
        for delta in joiner.add(chunk):
            if self._first_token is None and delta.kind != "call":
                self._first_token = time.monotonic() - self._begun
            self._on_delta(delta)

    def _cut(self, joiner: Joiner, error: BaseException) -> str:
        """Report the error of a broken response and return its finish reason. Raises Fault if no part of the response
        arrived.
        """
        fault = self._model.fault(error)
        if not (joiner.text or joiner.reasoning):
            raise replace(fault, has_begun=not joiner.is_empty)
        self._on_delta(Delta("status", str(self._model.error(fault))))
        return "stalled" if fault.kind == "stalled" else "cut"

    def response(self, joiner: Joiner, cut: str) -> ModelResponse:
        """Return the response so far; `cut` is the finish reason of an incomplete response, otherwise empty."""
        name = self._model.name
        calls = () if cut else joiner.calls
        # Not looked up before the response, because that would wait for the import of litellm.
        prices = None if joiner.usage.input is None else self._model.prices
        return ModelResponse(
            id=well_formed(joiner.id),
            model=well_formed(joiner.model) or name,
            text=joiner.text,
            reasoning=joiner.reasoning,
            thinking=() if cut else joiner.thinking.whole,
            tool_calls=calls,
            finish_reason=cut or _reason(joiner.finish_reason, bool(calls)),
            usage=msgspec.structs.replace(joiner.usage, window=window_of(prices)),
            cost=None if joiner.usage.input is None else cost_of(joiner.usage, prices),
            latency=time.monotonic() - self._begun,
            first_token=self._first_token,
            incomplete=bool(cut),
        )


def _reason(reported: str, has_calls: bool) -> str:
    """Return the finish reason, corrected where a server sent none, or `stop` although there are calls."""
    return "tool_calls" if has_calls and reported in ("", "stop") else reported or "stop"
