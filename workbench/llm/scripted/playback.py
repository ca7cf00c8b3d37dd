"""Which turn of a script comes next, derived from the messages alone so that it survives a restart; used by `scripted`.

The trace of what was played is in the ids of the tool calls (`s3-look-1`: third answer, turn "look", first call).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.llm.model import Message, ModelRequest
from workbench.llm.scripted.script import ANY, START, Script, Turn, When

_ID = re.compile(r"s(\d+)-(\w+)-\d+")
_NOT_RUN = re.compile(r"\b(rejected|not run|did not run|not allowed|was skipped|interrupted before)\b", re.IGNORECASE)
_NOTE = re.compile(r"(?:note|reason|they said|person said|says?)\b[^:\n]*:\s*(.+)", re.IGNORECASE | re.DOTALL)
_WORKSPACE = re.compile(r"^Working directory: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Situation:
    """What has happened so far, as far as turns can ask for it."""

    last: str = START
    """The turn played last."""
    answers: int = 0
    """How many answers the model has given."""
    rejected: bool = False
    note: str = ""
    user: str = ""
    waiting: bool = False
    results: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    """What placeholders stand for."""


def situation(messages: Sequence[Message], script: Script) -> Situation:
    """Read off the messages where the script stands."""
    at = _last_answer(messages, script)
    last = _turn_of(messages[at], script) if at >= 0 else START
    later = messages[at + 1 :]
    results = tuple(text_of(message) for message in later if message["role"] == "tool")
    refused = [result for result in results if is_refusal(result)]
    users = [text_of(message) for message in messages if message["role"] == "user"]
    note = next((note_of(result) for result in refused if note_of(result)), "")
    user = users[-1] if users else ""
    return Situation(
        last=last,
        answers=_answers(messages),
        rejected=bool(refused),
        note=note,
        user=user,
        waiting=any(message["role"] == "user" for message in later),
        results=results,
        values={"workspace": _workspace(messages), "note": note, "user": user},
    )


def next_turn(script: Script, now: Situation) -> Turn | None:
    """The first turn that fits, or None when the script is over."""
    for turn in script.turns:
        if (ANY in turn.after or now.last in turn.after) and _holds(turn.when, now):
            return turn
    return None


def is_for_summary(request: ModelRequest) -> bool:
    """Whether the request is for a summary of the history: one message with the record of it, and no tools."""
    return not request.tools and bool(request.messages) and text_of(request.messages[-1]).startswith("<record>")


def filled(value: Any, values: Mapping[str, str]) -> Any:
    """The value with `{workspace}`, `{note}` and `{user}` replaced in every text."""
    if isinstance(value, str):
        for name, text in values.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, list):
        return [filled(part, values) for part in value]
    if isinstance(value, dict):
        return {name: filled(part, values) for name, part in value.items()}
    return value


def text_of(message: Message) -> str:
    """The text of a message, whose content may be a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def is_refusal(result: str) -> bool:
    """Whether a tool result says that the call was not run (it says so at its beginning)."""
    return bool(_NOT_RUN.search(result[:160]))


def note_of(result: str) -> str:
    """What the person wrote when rejecting, as far as the result tells."""
    found = _NOTE.search(result)
    return found.group(1).strip().strip('"“”') if found else ""


def _holds(when: When, now: Situation) -> bool:
    checks = (
        when.rejected is None or when.rejected == now.rejected,
        when.waiting is None or when.waiting == now.waiting,
        when.result is None or any(_within(when.result, result) for result in now.results),
        when.note is None or bool(now.note and _within(when.note, now.note)),
        when.user is None or _within(when.user, now.user),
    )
    return all(checks)


def _within(part: str, text: str) -> bool:
    return part.casefold() in text.casefold()


def _last_answer(messages: Sequence[Message], script: Script) -> int:
    """Where the last answer stands that was a whole turn of the script; -1 when there is none."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at]["role"] == "assistant" and _turn_of(messages[at], script):
            return at
    return -1


def _answers(messages: Sequence[Message]) -> int:
    """How many answers were given, also of those that a summary stands for: the ids of calls count them."""
    since = 0
    for message in reversed(messages):
        if message["role"] == "assistant":
            if found := next((_ID.match(call["id"]) for call in message.get("tool_calls") or ()), None):
                return int(found.group(1)) + since
            since += 1
    return since


def _turn_of(message: Message, script: Script) -> str:
    for call in message.get("tool_calls") or ():
        if found := _ID.match(call["id"]):
            return found.group(2)
    said = text_of(message).strip()
    return next((turn.name for turn in script.turns if not turn.calls and turn.text == said), "")


def _workspace(messages: Sequence[Message]) -> str:
    system = text_of(messages[0]) if messages and messages[0]["role"] == "system" else ""
    found = _WORKSPACE.search(system)
    return found.group(1) if found else "."
