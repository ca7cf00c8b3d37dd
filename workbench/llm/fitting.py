"""A request's messages as the model at hand takes them: marks for its cache, pictures only where it has eyes.

Used by `client` just before a request is sent. Nothing given is changed: what differs is a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.llm.model import Message

_MARK = {"cache_control": {"type": "ephemeral"}}
_MARKED_PROVIDERS = ("anthropic", "bedrock", "vertex_ai")


def takes_cache_marks(name: str, provider: str) -> bool:
    """Whether the model keeps what it has read only where it is told to; Anthropic's do, by whomever hosted."""
    return provider in _MARKED_PROVIDERS and "claude" in name


def with_cache_marks(messages: Sequence[Message]) -> list[Message]:
    """Marks behind the instructions (tools stand before them), behind the last request and behind this one."""
    marked = list(messages)
    for place in {0, _end_of_last_request(messages), len(messages) - 1}:
        if 0 <= place < len(marked):
            marked[place] = _marked(marked[place])
    return marked


def _end_of_last_request(messages: Sequence[Message]) -> int:
    answers = (place for place in reversed(range(len(messages))) if messages[place]["role"] == "assistant")
    return next(answers, 0) - 1


def _marked(message: Message) -> Message:
    content: Any = message["content"]
    if isinstance(content, list) and content:
        return {**message, "content": [*content[:-1], {**content[-1], **_MARK}]}
    return {**message, **_MARK} if content else message
