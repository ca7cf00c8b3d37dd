"""Cache marks in requests, for providers that cache a request only up to a mark.

A provider caches a prefix of the request, in the order tools, system prompt, messages. A later request uses the cache
only if it starts with exactly the same content. Anthropic accepts at most four marks
(https://docs.claude.com/en/docs/build-with-claude/prompt-caching).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from workbench.llm.model import Message

_MARK: Final = {"cache_control": {"type": "ephemeral"}}
_OWN_FORM: Final = ("anthropic", "azure_ai", "bedrock", "vertex_ai")
"""The providers (by litellm's names) that offer Claude with Anthropic's API, or another one with the same marks."""
_OTHER_FORM: Final = ("databricks", "openrouter")
"""The providers that offer Claude with OpenAI's API, in which only messages can be marked."""


def takes_cache_marks(name: str, provider: str) -> bool:
    """Return whether requests need cache marks: whether the model is Claude, at a provider that accepts the marks."""
    return provider in (*_OWN_FORM, *_OTHER_FORM) and "claude" in name


def takes_marked_tools(provider: str) -> bool:
    """Return whether the provider accepts cache marks in the tools, too."""
    return provider in _OWN_FORM


def with_marked_messages(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with marks at the ends of the system prompt, of the previous request and of this one.

    The mark at the end of the previous request lets the provider find what it cached then, however much has been added
    since.
    """
    marked = list(messages)
    for index in {0, _end_of_last_request(messages), len(messages) - 1}:
        if 0 <= index < len(marked):
            marked[index] = _marked(marked[index])
    return marked


def with_marked_tools(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools with a mark on the last one, so that requests with another system prompt use the same cache."""
    return [*tools[:-1], *({**tool, **_MARK} for tool in tools[-1:])]


def _end_of_last_request(messages: Sequence[Message]) -> int:
    answers = (index for index in reversed(range(len(messages))) if messages[index]["role"] == "assistant")
    return next(answers, 0) - 1


def _marked(message: Message) -> Message:
    content: Any = message["content"]
    if isinstance(content, list) and content:
        return {**message, "content": [*content[:-1], {**content[-1], **_MARK}]}
    return {**message, **_MARK} if content else message
