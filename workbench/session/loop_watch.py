"""Finds repetition in the agent's behavior, event by event: loops in recent moves, and tools that repeat a failure."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import msgspec
import msgspec.structs

from workbench.agent.loop_detection import (
    ADVICE,
    WINDOW,
    Loop,
    Move,
    action_move,
    advice_on,
    find_loop,
    result_key,
    words_move,
)
from workbench.protocol.events import (
    ActionAbandoned,
    ActionObserved,
    ActionProposed,
    AgentNudged,
    Event,
    Forked,
    HistoryCondensed,
    ModelResponded,
    Rewound,
    UserMessage,
)
from workbench.session.storage.event_rows import observed_text
from workbench.tools.manifest import kind_of
from workbench.tools.tool import ToolDefinition


def plain_text(observation: dict[str, Any]) -> str:
    """Return the text of a result without the advice that was added to it."""
    return observed_text(observation).partition(f"\n{ADVICE}")[0]


class Failures(msgspec.Struct):
    """Knows the last failure of each tool that has not succeeded since."""

    _open: dict[str, str] = msgspec.field(default_factory=dict)
    """The tools of open actions, by action id."""
    _last: dict[str, str] = msgspec.field(default_factory=dict)
    """By tool: the text of its last failure in canonical form."""

    def apply(self, event: Event) -> None:
        """Consume the next event; never raises, whatever the order of events is."""
        match event:
            case ModelResponded():
                self._open = {}
            case Rewound() | Forked(keeps_run=False):
                self._open, self._last = {}, {}
            case ActionProposed():
                self._open[event.action_id] = event.tool
            case ActionAbandoned():
                self._open.pop(event.action_id, None)
            case ActionObserved() if event.action_id in self._open:
                tool = self._open.pop(event.action_id)
                self._last.pop(tool, None)
                if event.observation.get("is_error"):
                    self._last[tool] = result_key(plain_text(event.observation))

    def advised(
        self, proposed: ActionProposed, result: ActionObserved, tools: Mapping[str, ToolDefinition]
    ) -> ActionObserved:
        """Return the result, with a line of advice if the tool's previous call failed in the same way."""
        observation = result.observation
        if not observation.get("is_error") or self._last.get(proposed.tool) != result_key(plain_text(observation)):
            return result
        is_tool = proposed.tool in tools
        was_read = bool(proposed.arguments) or not proposed.error
        if is_tool and not was_read and "JSON" not in proposed.error:
            return result  # the call was cut off or refused, which says nothing about its arguments
        line = advice_on(proposed.tool, proposed.arguments, tools, was_read)
        content = [*observation.get("content", ()), {"type": "text", "text": line}]
        return msgspec.structs.replace(result, observation={**observation, "content": content})


_MOST_NUDGES = 3
_CONDENSED = Move("condensed", "condensed")
_UNSEEN = 50
"""When a log is replayed, only this many of its last moves are examined; no pattern needs more."""

_Step: TypeAlias = tuple[ActionProposed, ActionObserved] | ModelResponded | HistoryCondensed


class LoopWatch(msgspec.Struct):
    """Follows the agent's moves since the user's last message; an event takes the same time however long the session
    is.
    """

    _moves: list[Move] = msgspec.field(default_factory=list)
    _steps: list[_Step] = msgspec.field(default_factory=list)
    """The last steps that were not examined yet, at most `_UNSEEN`."""
    _batch: dict[str, ActionProposed] = msgspec.field(default_factory=dict)
    _results: dict[str, ActionObserved] = msgspec.field(default_factory=dict)
    _nudged: list[frozenset[str]] = msgspec.field(default_factory=list)

    @property
    def loop(self) -> Loop | None:
        """The loop that the agent is in now; None if it is in none."""
        self._complete_batch()
        for step in self._steps:
            self._examine(step)
        self._steps.clear()
        del self._moves[:-WINDOW]
        return find_loop(tuple(self._moves))

    def was_nudged(self, loop: Loop) -> bool:
        """Return whether the agent was nudged about this loop, or `_MOST_NUDGES` times since the last user message."""
        return loop.key in self._nudged or len(self._nudged) >= _MOST_NUDGES

    def apply(self, event: Event) -> None:
        """Consume the next event; never raises, whatever the order of events is."""
        match event:
            case UserMessage() | Rewound() | Forked(keeps_run=False):
                self._moves.clear()
                self._steps.clear()
                self._batch, self._results, self._nudged = {}, {}, []
            case ModelResponded() | HistoryCondensed():
                self._complete_batch()
                self._add_step(event)
            case ActionProposed():
                self._batch[event.action_id] = event
            case ActionObserved() if event.action_id in self._batch:
                self._results[event.action_id] = event
            case AgentNudged(reason="stuck"):
                loop = self.loop
                self._nudged += [loop.key] if loop else []

    def _complete_batch(self) -> None:
        """Add the finished batch to the steps in the order of its calls, regardless of the order of the results."""
        for action_id, proposed in self._batch.items():
            if action_id in self._results:
                self._add_step((proposed, self._results[action_id]))
        self._batch, self._results = {}, {}

    def _add_step(self, step: _Step) -> None:
        self._steps.append(step)
        del self._steps[:-_UNSEEN]

    def _examine(self, step: _Step) -> None:
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
            self._join_to_last(text, failed=has_failed(observed.observation))
        else:
            failed = has_failed(observed.observation)
            self._moves.append(action_move(proposed.tool, proposed.arguments, text, is_error, has_failed=failed))

    def _join_to_last(self, text: str, *, failed: bool) -> None:
        """Add later output of a command to the command's own move; if a thought came last, drop the thought instead."""
        last = self._moves.pop()
        if last.kind == "action":
            self._moves.append(replace(last, result=result_key(last.result + text), has_failed=failed))


_NO_FAILURES = (None, 0, -1, 130)
"""Exit codes of commands that succeeded, still run, or were interrupted."""


def has_failed(observation: dict[str, Any]) -> bool:
    """Return whether a result is a failure: an error, or an exit code that says so.

    Exit code 1 without any output is not a failure: programs that search or compare report "no match" or "different"
    like this.
    """
    code = observation.get("exit_code")
    if observation.get("is_error"):
        return True
    return code not in _NO_FAILURES and not (code == 1 and observation.get("output") == "")


def _pictures(observation: dict[str, Any]) -> str:
    blocks = observation.get("content")
    images = [block.get("data") for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    return "".join(f" {zlib.crc32(data.encode())}" for data in images if isinstance(data, str))


def _is_poll(proposed: ActionProposed) -> bool:
    """Return whether the action only waits for a running command."""
    return kind_of(proposed.tool) == "command" and not str(proposed.arguments.get("command", "")).strip()
