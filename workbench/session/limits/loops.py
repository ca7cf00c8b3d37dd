"""The agent's last moves, kept up event by event from the log, and whether they go in circles; used by the journal."""

from __future__ import annotations

import zlib
from collections import deque
from dataclasses import replace
from typing import Any, TypeAlias

from workbench.agent.stuck import WINDOW, Loop, Move, action_move, find_loop, result_key, words_move
from workbench.protocol.events import (
    ActionObserved,
    ActionProposed,
    AgentNudged,
    Event,
    HistoryCondensed,
    ModelResponded,
    UserMessage,
)
from workbench.session.limits.failures import plain_text
from workbench.tools.manifest import kind_of

_MOST_NUDGES = 3
_CONDENSED = Move("condensed", "condensed")
_UNSEEN = 50
"""Of a log that is read again only so many moves at its end are looked at: more than a pattern needs."""

_Step: TypeAlias = tuple[ActionProposed, ActionObserved] | ModelResponded | HistoryCondensed


class LoopWatch:
    """Moves since the person spoke last; no event costs more in a longer session, and most cost nothing at all."""

    def __init__(self) -> None:
        self._moves: deque[Move] = deque(maxlen=WINDOW)
        self._steps: deque[_Step] = deque(maxlen=_UNSEEN)  # not looked at yet
        self._batch: dict[str, ActionProposed] = {}
        self._results: dict[str, ActionObserved] = {}
        self._nudged: list[frozenset[str]] = []

    @property
    def loop(self) -> Loop | None:
        """The circle in which the agent goes now."""
        self._settle()
        while self._steps:
            self._look_at(self._steps.popleft())
        return find_loop(tuple(self._moves))

    def was_told(self, loop: Loop) -> bool:
        """Whether the agent was nudged about this before, or often enough in this run."""
        return loop.key in self._nudged or len(self._nudged) >= _MOST_NUDGES

    def apply(self, event: Event) -> None:
        """Take in the next event; total: no order of events raises."""
        match event:
            case UserMessage():
                self._moves.clear()
                self._steps.clear()
                self._batch, self._results, self._nudged = {}, {}, []
            case ModelResponded() | HistoryCondensed():
                self._settle()
                self._steps.append(event)
            case ActionProposed():
                self._batch[event.action_id] = event
            case ActionObserved() if event.action_id in self._batch:
                self._results[event.action_id] = event
            case AgentNudged(reason="stuck"):
                loop = self.loop
                self._nudged += [loop.key] if loop else []

    def _settle(self) -> None:
        """Take in the finished batch: in the order of its calls, in whatever order the results came."""
        for action_id, proposed in self._batch.items():
            if action_id in self._results:
                self._steps.append((proposed, self._results[action_id]))
        self._batch, self._results = {}, {}

    def _look_at(self, step: _Step) -> None:
        if isinstance(step, tuple):
            self._add(*step)
        elif isinstance(step, HistoryCondensed):
            self._moves.append(_CONDENSED)
        elif step.text.strip() and not step.tool_calls:
            self._moves.append(words_move(step.text))

    def _add(self, proposed: ActionProposed, observed: ActionObserved) -> None:
        is_error = bool(observed.observation.get("is_error"))
        text = plain_text(observed.observation) + _pictures(observed.observation)
        if kind_of(proposed.tool) == "thought" and not is_error:
            self._moves.append(words_move(str(proposed.arguments.get("thought", ""))))
        elif _is_poll(proposed) and not is_error and self._moves:
            self._join_to_last(text)
        else:
            self._moves.append(action_move(proposed.tool, proposed.arguments, text, is_error))

    def _join_to_last(self, text: str) -> None:
        """What a command says later belongs to its own move, and thoughts while it ran say nothing."""
        last = self._moves.pop()
        if last.kind == "action":
            self._moves.append(replace(last, result=result_key(last.result + text)))


def _pictures(observation: dict[str, Any]) -> str:
    blocks = observation.get("content")
    found = [block.get("data") for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    return "".join(f" {zlib.crc32(data.encode())}" for data in found if isinstance(data, str))


def _is_poll(proposed: ActionProposed) -> bool:
    """Whether the action only waits for a command that runs."""
    return kind_of(proposed.tool) == "command" and not str(proposed.arguments.get("command", "")).strip()
