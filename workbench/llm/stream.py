"""Joins the chunks of a streamed response; used by `call` for every provider.

No chunk is trusted to have the right types: values of other types are ignored.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeGuard

import msgspec

from workbench.llm.errors import fault_from_text
from workbench.llm.model import Delta, ToolCall
from workbench.llm.signatures import BLOCKS, ThinkingBlocks, bare_id, signature_of
from workbench.llm.stream_decoder import BrokenStream
from workbench.protocol.usage import Usage
from workbench.text import well_formed

_MOST_CHARACTERS = 2_100_000
"""The maximum number of characters stored of a call's arguments: a little more than the agent accepts."""
_MOST_IN_ALL = 4_000_000
"""The maximum number of characters in a response: several times the longest that models send."""
_HEAD = 400
"""The number of characters at the start of a call's arguments that are passed on while the call arrives."""
_OF_A_CALL = 200
"""The characters that each call adds to the size of the response, besides its name and arguments."""


class _Call(msgspec.Struct):
    id: str = ""
    name: str = ""
    signature: str = ""
    parts: list[str] = msgspec.field(default_factory=list)
    size: int = 0
    head: str = ""

    def add(self, text: str) -> int:
        """Store the text unless too much is stored already; return the number of characters stored."""
        if self.size > _MOST_CHARACTERS:
            return 0
        self.parts.append(text)
        self.size += len(text)
        if len(self.head) < _HEAD:
            self.head = (self.head + text)[:_HEAD]
        return len(text)


class Joiner:
    """Joins chunks in OpenAI's format into one response."""

    def __init__(self) -> None:
        self.id = ""
        self.model = ""
        self.finish_reason = ""
        self.usage = Usage()
        self.thinking = ThinkingBlocks()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._size = 0

    @property
    def text(self) -> str:
        """The text so far."""
        return joined(self._text)

    @property
    def reasoning(self) -> str:
        """The reasoning so far."""
        return joined(self._reasoning)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls so far, in the order in which they started."""
        return tuple(
            ToolCall(well_formed(call.id), well_formed(call.name), joined(call.parts), well_formed(call.signature))
            for call in self._calls
        )

    @property
    def is_empty(self) -> bool:
        """Whether no part of a response has arrived."""
        return not (self._text or self._reasoning or self._calls or self.finish_reason)

    @property
    def is_too_long(self) -> bool:
        """Whether more has arrived than any real response contains, so the stream may be endless."""
        return self._size > _MOST_IN_ALL

    def add(self, chunk: dict[str, Any]) -> list[Delta]:
        """Add one chunk; return the text and reasoning that it adds, and the progress of the calls that it extends."""
        self.id = self.id or _str(chunk.get("id"))
        self.model = self.model or _str(chunk.get("model"))
        if isinstance(chunk.get("usage"), dict):
            self.usage = read_usage(chunk["usage"])
        choice = choice_of(chunk.get("choices"))
        self.finish_reason = _str(choice.get("finish_reason")) or self.finish_reason
        delta = choice.get("delta") or choice.get("message")
        return self._add_delta(delta) if isinstance(delta, dict) else []

    def _add_delta(self, delta: dict[str, Any]) -> list[Delta]:
        deltas = []
        if reasoning := _text(delta.get("reasoning_content")) or _text(delta.get("reasoning")):
            self._reasoning.append(reasoning)
            self._size += len(reasoning)
            deltas.append(Delta("reasoning", well_formed(reasoning)))
        self.thinking.add(delta.get(BLOCKS), lambda: self.text)
        if text := _text(delta.get("content")) or _text(delta.get("refusal")):
            self._text.append(text)
            self._size += len(text)
            deltas.append(Delta("text", well_formed(text)))
        pieces = delta.get("tool_calls")
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                call = self._add_call(piece)
                deltas.append(Delta("call", well_formed(call.head), tool=well_formed(call.name), size=call.size))
        return deltas

    def _add_call(self, piece: dict[str, Any]) -> _Call:
        function_part = piece.get("function")
        function = function_part if isinstance(function_part, dict) else {}
        call = self._call_of(piece, bool(function.get("name")))
        call.id = call.id or bare_id(_str(piece.get("id")))
        call.signature = call.signature or signature_of(piece)
        name, arguments = _str(function.get("name")), function.get("arguments")
        if name != call.name:  # some servers repeat it with every piece
            call.name += name
            self._size += len(name)
        self._size += call.add(json.dumps(arguments) if isinstance(arguments, dict) else _str(arguments))
        return call

    def _call_of(self, piece: dict[str, Any], is_named: bool) -> _Call:
        """Return the call that a piece belongs to; if a server sends index 0 for every call, a new ID starts a new
        call, and if it sends no index, a new name does.
        """
        index, call_id = piece.get("index"), bare_id(_str(piece.get("id")))
        if not isinstance(index, int):
            index = len(self._calls) if is_named else len(self._calls) - 1
        call = self._by_index.get(index)
        if call is None or (is_named and call_id and call.id and call.id != call_id):
            call = self._by_index[index] = _Call()
            self._calls.append(call)
            self._size += _OF_A_CALL
        return call


def choice_of(choices: object) -> dict[str, Any]:
    """Return the choice with index 0 or without an index, the only one requested; empty if there is none."""
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and not choice.get("index"):
            return choice
    return {}


_FAILED = ("error", "network_error")
"""The finish reasons of OpenRouter and Zhipu for a response that they failed to complete."""


def checked(chunk: Any) -> dict[str, Any]:
    """Return the chunk after checking it. Raises Fault if it reports an error, and BrokenStream if it says that the
    provider failed, or is not a JSON object.
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


def _status(code: object) -> int | None:
    """Return an error's code if it is an HTTP status from 400 to 599; None for any other code."""
    number = int(code) if isinstance(code, str) and re.fullmatch(r"[45]\d\d", code) else code
    return number if isinstance(number, int) and 400 <= number < 600 else None


def joined(parts: list[str]) -> str:
    """Return the parts as one well-formed text; surrogates that form one character are joined."""
    text = "".join(parts)
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return well_formed(text)


def read_usage(usage: dict[str, Any]) -> Usage:
    """Return the token counts of OpenAI's usage object; missing or negative ones become None."""
    prompt, completion = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    details = prompt if isinstance(prompt, dict) else {}
    # OpenAI's and most others'; DeepSeek's; Moonshot's.
    cached = (details.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("cached_tokens"))
    # Anthropic's; OpenAI's and OpenRouter's; litellm's own.
    written = (
        usage.get("cache_creation_input_tokens"),
        details.get("cache_write_tokens"),
        details.get("cache_creation_tokens"),
    )
    return Usage(
        input=_count(usage.get("prompt_tokens")),
        output=_count(usage.get("completion_tokens")),
        cached=next(filter(is_count, cached), None),
        written=max(filter(is_count, written), default=None),
        reasoning=_count(completion.get("reasoning_tokens")) if isinstance(completion, dict) else None,
    )


def is_count(value: object) -> TypeGuard[int]:
    """Return whether the value can be a number of tokens: an integer that is not negative."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _count(value: object) -> int | None:
    return value if is_count(value) else None


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(_str(part.get("text")) for part in content if isinstance(part, dict))
    return _str(content)
