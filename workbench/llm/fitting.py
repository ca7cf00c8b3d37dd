"""A request's messages as the model at hand takes them: marks for its cache, pictures only where it has eyes.

Used by `client` and `answering` just before a request is sent. Nothing given is changed: what differs is a copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.llm.model import Message, Model

_MARK = {"cache_control": {"type": "ephemeral"}}
_MARKED_PROVIDERS = ("anthropic", "bedrock", "vertex_ai")
_NO_EYES = "[An image stood here. It was not sent, because this model cannot take it; say so if that matters.]"


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


def has_pictures(messages: Sequence[Message]) -> bool:
    """Whether a picture is to be sent."""
    in_parts = [message for message in messages if isinstance(message.get("content"), list)]
    return any(_is_picture(part) for message in in_parts for part in _parts(message))


def without_pictures(messages: Sequence[Message]) -> list[Message]:
    """The messages with a word in place of each picture, so that the model knows what it does not see."""
    return [_told(message) if any(map(_is_picture, _parts(message))) else message for message in messages]


def is_blind(known: Mapping[str, Any] | None) -> bool:
    """Whether the table's entry is that of a model that chats and takes no pictures; an unknown model is taken to."""
    return known is not None and known.get("mode") == "chat" and not known.get("supports_vision")


def takes_no_images(model: Model) -> bool:
    """Whether images are known to be lost on the model; one of which nothing is known is taken to have eyes."""
    return is_blind(getattr(model, "prices", None))


def _told(message: Message) -> Message:
    return {**message, "content": "\n".join(_NO_EYES if _is_picture(p) else p["text"] for p in _parts(message))}


def _parts(message: Message) -> Sequence[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else ()


def _is_picture(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "image_url"
