"""The offline model, named `scripted/demo` or `scripted//file.toml`: plays a script, with the interface of any model.

OHW_SCRIPT_PACE sets the speed: 1 is a reading pace, 0 is without pauses, 2 is twice as slow.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from workbench.lazy_pattern import lazy_pattern
from workbench.llm.model import Cancel, Delta, Message, ModelRequest, ModelResponse, ToolCall
from workbench.llm.scripted.script import ANY, START, SUMMARY, ModelScript, ScriptedTurn, When, load_script
from workbench.protocol.usage import Usage
from workbench.text import well_formed

_ID = lazy_pattern(r"s(\d+)-(\w+)-\d+")
_NOT_RUN = lazy_pattern(r"\b(rejected|not run|did not run|not allowed|was skipped|interrupted before)\b", re.IGNORECASE)
_NOTE = lazy_pattern(r"(?:note|reason|they said|person said|says?)\b[^:\n]*:\s*(.+)", re.IGNORECASE | re.DOTALL)
_WORKSPACE = lazy_pattern(r"^Working directory: (.+)$", re.MULTILINE)


class Situation(msgspec.Struct, frozen=True):
    """The state of the conversation that the conditions of turns refer to."""

    last: str = START
    """The name of the turn that was played last."""
    answers: int = 0
    """The number of responses so far."""
    rejected: bool = False
    note: str = ""
    user: str = ""
    waiting: bool = False
    results: tuple[str, ...] = ()
    values: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The values of placeholders."""


def situation(messages: Sequence[Message], script: ModelScript) -> Situation:
    """Derive the script's current situation from the messages."""
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


def next_turn(script: ModelScript, now: Situation) -> ScriptedTurn | None:
    """Return the first turn whose conditions are met, or None if no turn fits."""
    for turn in script.turns:
        if (ANY in turn.after or now.last in turn.after) and _holds(turn.when, now):
            return turn
    return None


def is_for_summary(request: ModelRequest) -> bool:
    """Return whether the request is for a summary: it has no tools, and its last message begins with the record."""
    return not request.tools and bool(request.messages) and text_of(request.messages[-1]).startswith("<record>")


def filled(value: Any, values: Mapping[str, str]) -> Any:
    """Return the value with each placeholder, a name of `values` in braces, replaced in all its strings."""
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
    """Return the text of a message, whose content may be a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def is_refusal(result: str) -> bool:
    """Return whether a tool result says, at its beginning, that the call was not run."""
    return bool(_NOT_RUN.search(result[:160]))


def note_of(result: str) -> str:
    """Return the user's note on a rejected call; empty if the result contains none."""
    match = _NOTE.search(result)
    return match.group(1).strip().strip('"“”') if match else ""


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


def _last_answer(messages: Sequence[Message], script: ModelScript) -> int:
    """Return the index of the last message that is a complete turn of the script; -1 if there is none."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at]["role"] == "assistant" and _turn_of(messages[at], script):
            return at
    return -1


def _answers(messages: Sequence[Message]) -> int:
    """Return the number of responses so far, also of those that a summary has replaced; the IDs of calls contain it."""
    since = 0
    for message in reversed(messages):
        if message["role"] == "assistant":
            if match := next((_ID.match(call["id"]) for call in message.get("tool_calls") or ()), None):
                return int(match.group(1)) + since
            since += 1
    return since


def _turn_of(message: Message, script: ModelScript) -> str:
    for call in message.get("tool_calls") or ():
        if match := _ID.match(call["id"]):
            return match.group(2)
    text = text_of(message).strip()
    return next((turn.name for turn in script.turns if not turn.calls and turn.text == text), "")


def _workspace(messages: Sequence[Message]) -> str:
    system = text_of(messages[0]) if messages and messages[0]["role"] == "system" else ""
    match = _WORKSPACE.search(system)
    return match.group(1) if match else "."


PREFIX = "scripted/"
_PIECE = lazy_pattern(r"\s*\S+(?:\s+\S+)?\s*")
_BEFORE_FIRST = 0.6
_BETWEEN_PIECES = 0.045
_NO_SUMMARY = ScriptedTurn(
    "summary", (), text="This part is not summarized: my script contains no summary. The log has the events."
)
_OVER = ScriptedTurn("over", (), text="My script is over; there is nothing more that I can say.")


class ScriptedModel:
    """A model that plays a script offline; it has no state, so the same messages always get the same response."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._script = load_script(name.removeprefix(PREFIX))

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Return the turn of the script that fits the messages, after streaming its text."""
        now = situation(request.messages, self._script)
        turn = self._turn(request, now)
        begun = time.monotonic()
        pace = _pace()
        reasoning = filled(turn.reasoning, now.values)
        text = filled(turn.text, now.values)
        cancel.wait(_BEFORE_FIRST * pace)
        first_token = time.monotonic() - begun
        thought = _stream("reasoning", reasoning, on_delta, cancel, pace)
        answer = _stream("text", text, on_delta, cancel, pace)
        stopped = cancel.is_set
        return ModelResponse(
            id=f"scripted-{now.answers + 1}-{turn.name}",
            model=self.name,
            text=well_formed(answer),
            reasoning=well_formed(thought),
            tool_calls=() if stopped else _calls(turn, now),
            finish_reason="interrupted" if stopped else "tool_calls" if turn.calls else "stop",
            usage=turn.usage or _estimate(turn, now),
            cost=0.0,
            latency=time.monotonic() - begun,
            first_token=first_token,
            incomplete=stopped,
        )

    def _turn(self, request: ModelRequest, now: Situation) -> ScriptedTurn:
        if is_for_summary(request):
            return next((turn for turn in self._script.turns if SUMMARY in turn.after), _NO_SUMMARY)
        return next_turn(self._script, now) or _OVER

    def close(self) -> None:
        """Do nothing: there are no connections."""


def _pace() -> float:
    try:
        return min(20.0, max(0.0, float(os.environ.get("OHW_SCRIPT_PACE", "1"))))
    except ValueError:
        return 1.0


def _stream(kind: str, text: str, on_delta: Callable[[Delta], None], cancel: Cancel, pace: float) -> str:
    """Stream the text in small pieces; return what was sent until the end or a cancellation."""
    sent = []
    for piece in _pieces(text):
        if cancel.is_set:
            break
        on_delta(Delta("reasoning" if kind == "reasoning" else "text", piece))
        sent.append(piece)
        if pace:
            cancel.wait(_BETWEEN_PIECES * pace)
    return "".join(sent)


def _pieces(text: str) -> Iterator[str]:
    yield from _PIECE.findall(text)


def _calls(turn: ScriptedTurn, now: Situation) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            f"s{now.answers + 1}-{turn.name}-{number}", call.tool, json.dumps(filled(dict(call.arguments), now.values))
        )
        for number, call in enumerate(turn.calls, 1)
    )


def _estimate(turn: ScriptedTurn, now: Situation) -> Usage:
    """Return plausible token counts, so that the screen's meters show something."""
    size = len(turn.text) + len(turn.reasoning) + sum(len(str(call.arguments)) for call in turn.calls)
    return Usage(input=1400 + 420 * now.answers, output=max(1, size // 4))
