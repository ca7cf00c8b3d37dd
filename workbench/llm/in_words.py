"""A history in which calls of tools and their results are told in words; used by `answering`.

It is what is sent once more when a provider refuses how calls and results are paired: no provider can refuse words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workbench.llm.model import Message
from workbench.llm.signatures import unsigned


def has_calls(messages: Sequence[Message]) -> bool:
    """Whether any tool was called, or has answered, in these messages."""
    return any(message.get("tool_calls") or message["role"] == "tool" for message in messages)


def in_words(messages: Sequence[Message]) -> list[Message]:
    """The same conversation without a call in it; no two messages of one side stand next to each other."""
    told: list[Message] = []
    for message in _without_calls(messages):
        if told and told[-1]["role"] == message["role"] != "system":
            told[-1] = {**told[-1], "content": _joined(told[-1]["content"], message["content"])}
        else:
            told.append(message)
    return told


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
            said = [message["content"]] if message.get("content") else []
            yield {"role": "assistant", "content": "\n".join([*said, *called])}
        else:
            yield message


def _joined(first: str | list[Any], second: str | list[Any]) -> str | list[Any]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: str | list[Any]) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
