"""Signed reasoning, which a provider requires to be sent back together with the tool calls that followed it.

Anthropic's models send signed thinking blocks, Gemini's models one signature per call. Each is of use only to the
provider that sent it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from workbench.llm.model import Message

BLOCKS = "thinking_blocks"
"""The field of a message for its thinking blocks; it is an empty list if only calls are signed, so that signed messages
are found quickly.
"""
SIGNER = "signed_by"
"""The field of a signed message with the name of the fallback model that signed it; it is never sent."""
FIELDS = "provider_specific_fields"
SIGNATURE = "thought_signature"
AFTER = "after"
"""The field of a block with the number of characters of the answer's text before it; omitted if 0, and never sent."""
_IN_ID = "__thought__"
"""The separator after which litellm appends a Gemini signature to the ID of a call."""


class ThinkingBlocks:
    """Joins streamed pieces of thinking blocks."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._is_open = False

    def add(self, pieces: object, text_before: Callable[[], str] = str) -> None:
        """Add the pieces of blocks in one chunk; anything else is ignored. `text_before` returns the text so far."""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict) and piece.get("type") == "redacted_thinking":
                self._begin({"type": "redacted_thinking", "data": piece.get("data", "")}, text_before)
                self._is_open = False
            elif isinstance(piece, dict) and piece.get("type") == "thinking":
                if not self._is_open:
                    self._begin({"type": "thinking", "thinking": "", "signature": ""}, text_before)
                self._add_piece(str(piece.get("thinking") or ""), str(piece.get("signature") or ""))

    def _begin(self, block: dict[str, Any], text_before: Callable[[], str]) -> None:
        # Whitespace at the start of an answer is not sent back.
        after = len(text_before().lstrip())
        self._blocks.append({**block, AFTER: after} if after else block)

    def _add_piece(self, text: str, signature: str) -> None:
        block = self._blocks[-1]
        block["thinking"] += text
        block["signature"] += signature
        self._is_open = not signature

    @property
    def whole(self) -> tuple[dict[str, Any], ...]:
        """The blocks that can be sent back; a block without a signature is omitted, because providers reject it."""
        return tuple(dict(block) for block in self._blocks if block.get("data") or block.get("signature"))


def signature_of(piece: dict[str, Any]) -> str:
    """Return the signature in a piece of a call, in any of the places where providers put it."""
    fields = piece.get(FIELDS)
    signature = fields.get(SIGNATURE) if isinstance(fields, dict) else None
    return signature if isinstance(signature, str) else str(piece.get("id") or "").partition(_IN_ID)[2]


def bare_id(call_id: str) -> str:
    """Return the ID of a call without a signature that litellm appended to it."""
    return call_id.partition(_IN_ID)[0]


def unsigned(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without thinking blocks and signatures, for a model that did not sign them."""
    return [_unsigned(message) if BLOCKS in message else message for message in messages]


def signed_for(messages: Sequence[Message], signer: str = "") -> list[Message]:
    """Return the messages with the signed reasoning of one model only.

    That is the fallback model named `signer` or, if it is empty, the session's own model.
    """
    return [_signed_for(message, signer) if BLOCKS in message else message for message in messages]


def without_positions(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without the positions of thinking blocks, which are then sent before the text."""
    return [_without_positions(message) if _has_positions(message) else message for message in messages]


def in_written_order(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with thinking blocks as parts of the content, at the positions where the model wrote them.

    This is needed where thinking follows text, because Anthropic rejects thinking that has been moved. litellm loses
    redacted thinking among such parts, so an answer with redacted thinking is sent with all its thinking first.
    """
    return [_in_written_order(message) if _has_positions(message) else message for message in messages]


def _has_positions(message: Message) -> bool:
    return any(AFTER in block for block in message.get(BLOCKS, ()))


def _without_positions(message: Message) -> Message:
    blocks = [{name: part for name, part in block.items() if name != AFTER} for block in message[BLOCKS]]
    return {**message, BLOCKS: blocks}


def _in_written_order(message: Message) -> Message:
    plain = _without_positions(message)
    if any(block["type"] != "thinking" for block in plain[BLOCKS]):
        return plain
    # The field is kept because litellm reads it to see whether there is thinking.
    return {**plain, "content": list(_parts(message, plain[BLOCKS]))}


def _parts(message: Message, blocks: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    text, start = message["content"] or "", 0
    for block, placed in zip(blocks, message[BLOCKS], strict=True):
        end = placed.get(AFTER, 0)
        if text[start:end].strip():
            yield {"type": "text", "text": text[start:end]}
            start = end
        yield block
    if text[start:].strip():
        yield {"type": "text", "text": text[start:]}


def _signed_for(message: Message, signer: str) -> Message:
    if message.get(SIGNER, "") != signer:
        return _unsigned(message)
    return {name: value for name, value in message.items() if name != SIGNER} if signer else message


def _unsigned(message: Message) -> Message:
    calls = message.get("tool_calls")
    plain = {name: value for name, value in message.items() if name not in (BLOCKS, SIGNER)}
    if calls:
        plain["tool_calls"] = [{name: part for name, part in call.items() if name != FIELDS} for call in calls]
    return plain
