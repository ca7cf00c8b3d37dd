"""The offline model: plays a script behind the same interface as a real one (`scripted/demo`, `scripted//file.toml`).

OHW_SCRIPT_PACE sets how fast: 1 is a reading pace, 0 is without pauses, 2 is twice as slow.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator

from workbench.llm.model import Cancel, Delta, ModelRequest, ModelResponse, ModelUsage, ToolCall
from workbench.llm.scripted.playback import Situation, filled, is_for_summary, next_turn, situation
from workbench.llm.scripted.script import SUMMARY, Turn, load_script
from workbench.text import well_formed

PREFIX = "scripted/"
_PIECE = re.compile(r"\s*\S+(?:\s+\S+)?\s*")
_BEFORE_FIRST = 0.6
_BETWEEN_PIECES = 0.045
_NO_SUMMARY = Turn("summary", (), text="This part is not summed up here: my script holds no summary. The log holds it.")
_OVER = Turn("over", (), text="My script is over; there is nothing more that I can say.")


class ScriptedModel:
    """A model without a network; keeps no state, so the same messages always get the same answer."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._script = load_script(name.removeprefix(PREFIX))

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Play the turn that fits the messages."""
        now = situation(request.messages, self._script)
        turn = self._turn(request, now)
        begun = time.monotonic()
        pace = _pace()
        reasoning = filled(turn.reasoning, now.values)
        text = filled(turn.text, now.values)
        cancel.wait(_BEFORE_FIRST * pace)
        first_token = time.monotonic() - begun
        thought = _stream("reasoning", reasoning, on_delta, cancel, pace)
        said = _stream("text", text, on_delta, cancel, pace)
        stopped = cancel.is_set
        return ModelResponse(
            id=f"scripted-{now.answers + 1}-{turn.name}",
            model=self.name,
            text=well_formed(said),
            reasoning=well_formed(thought),
            tool_calls=() if stopped else _calls(turn, now),
            finish_reason="interrupted" if stopped else "tool_calls" if turn.calls else "stop",
            usage=turn.usage or _estimate(turn, now),
            cost=0.0,
            latency=time.monotonic() - begun,
            first_token=first_token,
            incomplete=stopped,
        )

    def _turn(self, request: ModelRequest, now: Situation) -> Turn:
        if is_for_summary(request):
            return next((turn for turn in self._script.turns if SUMMARY in turn.after), _NO_SUMMARY)
        return next_turn(self._script, now) or _OVER

    def close(self) -> None:
        """Nothing to free."""


def _pace() -> float:
    try:
        return min(20.0, max(0.0, float(os.environ.get("OHW_SCRIPT_PACE", "1"))))
    except ValueError:
        return 1.0


def _stream(kind: str, text: str, on_delta: Callable[[Delta], None], cancel: Cancel, pace: float) -> str:
    """Send the text in small pieces; returns what was sent before a cancel."""
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


def _calls(turn: Turn, now: Situation) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            f"s{now.answers + 1}-{turn.name}-{number}", call.tool, json.dumps(filled(dict(call.arguments), now.values))
        )
        for number, call in enumerate(turn.calls, 1)
    )


def _estimate(turn: Turn, now: Situation) -> ModelUsage:
    """Plausible numbers, so that the meters of the screen show something."""
    size = len(turn.text) + len(turn.reasoning) + sum(len(str(call.arguments)) for call in turn.calls)
    return ModelUsage(input=1400 + 420 * now.answers, output=max(1, size // 4))
