"""Checks of what providers refuse in the messages of a request, as strictly as documented; an empty list means
valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")

Messages = Sequence[dict[str, Any]]


def openai_faults(messages: Messages) -> list[str]:
    """Return what OpenAI's chat interface, or a stricter compatible server, would refuse."""
    json.dumps(list(messages), ensure_ascii=False).encode()
    talk = [message for message in messages if message["role"] != "system"]
    faults = ["the system speaks late"] if any(message["role"] == "system" for message in messages[1:]) else []
    faults += [] if talk and talk[0]["role"] == "user" else ["the first message is not the person's"]
    faults += [] if talk and talk[-1]["role"] in ("user", "tool") else ["the last message is the model's own"]
    return faults + list(_unpaired(talk)) + [fault for message in talk for fault in _misshapen(message)]


def _unpaired(talk: Messages) -> Iterator[str]:
    waiting: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(talk):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"{number}: a result without a call"
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield f"{number}: calls without results before {message['role']}"
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        if len({*waiting, *seen}) < len(waiting) + len(seen):
            yield f"{number}: an id twice"
        seen.update(waiting)
    if waiting:
        yield "calls without results at the end"


def _misshapen(message: dict[str, Any]) -> Iterator[str]:
    content, calls = message.get("content"), message.get("tool_calls")
    if message["role"] not in ("user", "assistant", "tool"):
        yield f"a role {message['role']!r}"
    if calls is not None and (not calls or message["role"] != "assistant"):
        yield "calls where none belong"
    if not _has_words(content) and not (calls and content is None):
        yield f"nothing in a message of {message['role']}: {content!r}"
    for part in content if isinstance(content, list) else ():
        if part["type"] == "image_url" and not _PICTURE.fullmatch(part["image_url"]["url"]):
            yield "a picture that is none"
    for call in calls or ():
        yield from _bad_call(call)


def _bad_call(call: dict[str, Any]) -> Iterator[str]:
    function = call["function"]
    if not _ID.fullmatch(call["id"]) or not _ID.fullmatch(function["name"]) or call["type"] != "function":
        yield f"id or name of a call: {call['id']!r} {function['name']!r}"
    if not isinstance(json.loads(function["arguments"], parse_constant=_refuse), dict):
        yield "arguments that are not an object"


def _has_words(content: object) -> bool:
    if isinstance(content, str):
        return bool(content.strip())
    return isinstance(content, list) and bool(content) and all(part.get("text", "x").strip() for part in content)


def _refuse(name: str) -> None:
    raise ValueError(name)


def anthropic_faults(messages: Messages) -> list[str]:
    """Return what Anthropic's interface would refuse in messages of its own form."""
    json.dumps(list(messages), ensure_ascii=False).encode()
    faults = [] if messages and messages[0]["role"] == "user" else ["the first message is not the person's"]
    faults += [] if messages and messages[-1]["role"] == "user" else ["the last message is the model's own"]
    waiting: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        blocks = _blocks(message)
        faults += [f"{number}: {fault}" for fault in _bad_blocks(blocks)]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(results) != sorted(waiting):
            faults.append(f"{number}: results {results} for calls {waiting}")
        if [block["type"] for block in blocks[: len(results)]] != ["tool_result"] * len(results):
            faults.append(f"{number}: results behind something else")
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        faults += [f"{number}: calls of the person" for _ in waiting[:1] if message["role"] != "assistant"]
        faults += [f"{number}: an id twice" for name in waiting if name in seen or waiting.count(name) > 1]
        seen.update(waiting)
        if number and messages[number - 1]["role"] == message["role"]:
            faults.append(f"{number}: two of {message['role']} in a row")
    return [*faults, *(["calls without results at the end"] if waiting else [])]


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _bad_blocks(blocks: Messages) -> Iterator[str]:
    if not blocks:
        yield "an empty message"
    for block in blocks:
        if block["type"] == "text" and not block["text"].strip():
            yield "an empty text"
        if block["type"] == "tool_use" and not (_ID.fullmatch(block["id"]) and isinstance(block["input"], dict)):
            yield f"a call that is none: {block}"
        if block["type"] == "tool_use" and not _ID.fullmatch(block["name"]):
            yield f"a name {block['name']!r}"
        if block["type"] == "tool_result" and not block["content"]:
            yield "an empty result"
        source = block.get("source", {})
        if block["type"] == "image" and not (source.get("data") and source.get("media_type")):
            yield "a picture that is none"
