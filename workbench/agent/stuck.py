"""Whether an agent goes in circles, judged from its last moves alone; the session asks before each call of the model.

Moves are compared in a canonical form: what differs from call to call without a reason of the agent's (the order of
arguments, times of day, durations, addresses in memory) makes no difference, and wording beside the action none at all.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from workbench.text import first_line

WINDOW = 6
"""How many moves the longest pattern needs."""
_SAME_RESULT, _SAME_ERROR, _SAME_WORDS, _ALTERNATING, _CONDENSED = 4, 3, 3, 6, 3
_LONGEST = 20_000
_VOLATILE = re.compile(
    r"\b0x[0-9a-fA-F]{4,}\b"
    r"|\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\b\d{1,2}:\d\d:\d\d(?:\.\d+)?\b"
    r"|\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds?)\b"
    r"|\bpid[ =:]+\d+"
)
_LABELS = ("command", "path", "pattern", "url", "code", "thought", "question", "message")

Kind: TypeAlias = Literal["action", "words", "condensed"]


@dataclass(frozen=True)
class Move:
    """An action with its result, words without an action, or a condensing of the history; `what` is canonical."""

    kind: Kind
    what: str
    result: str = ""
    is_error: bool = False
    label: str = ""
    """The move as a person reads it."""


@dataclass(frozen=True)
class Loop:
    """What repeats itself; two loops of the same actions have the same `key`."""

    key: frozenset[str]
    evidence: str


def find_loop(moves: Sequence[Move]) -> Loop | None:
    """The pattern in which these moves (oldest first) end, if they end in one."""
    for rule in (_repeating, _talking, _alternating, _condensing):
        if loop := rule(moves):
            return loop
    return None


def action_move(tool: str, arguments: dict[str, Any], result: str, is_error: bool) -> Move:
    """The move of one action; its result is given as text."""
    what = _hash(tool + json.dumps(_canonical(arguments), sort_keys=True, ensure_ascii=True))
    return Move("action", what, result_key(result), is_error, _label(tool, arguments))


def words_move(text: str) -> Move:
    """The move of an answer without an action."""
    return Move("words", _hash(" ".join(text.split())), label=f"“{first_line(text, 60)}”")


def result_key(text: str) -> str:
    """What is compared of a result."""
    if len(text) > 2 * _LONGEST:
        text = text[:_LONGEST] + text[-_LONGEST:]
    return _hash("\n".join(line.rstrip() for line in _VOLATILE.sub("#", text).strip().splitlines()))


def _canonical(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments without what counts as not given."""
    trimmed = {name: value.strip() if isinstance(value, str) else value for name, value in arguments.items()}
    return {name: value for name, value in trimmed.items() if value or (value == 0 and value is not False)}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _label(tool: str, arguments: dict[str, Any]) -> str:
    said = [arguments[name] for name in _LABELS if isinstance(arguments.get(name), str) and arguments[name].strip()]
    return f"{tool} ({first_line(' '.join(said), 60)})" if said else tool


def _last(moves: Sequence[Move], count: int, kind: Kind = "action") -> Sequence[Move]:
    last = moves[-count:]
    return last if len(last) == count and all(move.kind == kind for move in last) else ()


def _repeating(moves: Sequence[Move]) -> Loop | None:
    same = _last(moves, _SAME_RESULT)
    if same and len({(move.what, move.result) for move in same}) == 1:
        return Loop(frozenset({same[0].what}), f"{same[0].label} gave the same result {_SAME_RESULT} times")
    failed = _last(moves, _SAME_ERROR)
    if failed and len({(move.what, move.result) for move in failed}) == 1 and all(move.is_error for move in failed):
        return Loop(frozenset({failed[0].what}), f"{failed[0].label} failed {_SAME_ERROR} times in the same way")
    return None


def _talking(moves: Sequence[Move]) -> Loop | None:
    said = _last(moves, _SAME_WORDS, "words")
    if said and len({move.what for move in said}) == 1:
        return Loop(frozenset({said[0].what}), f"the agent said {said[0].label} to itself {_SAME_WORDS} times")
    return None


def _alternating(moves: Sequence[Move]) -> Loop | None:
    last = _last(moves, _ALTERNATING)
    even, odd = {(move.what, move.result) for move in last[::2]}, {(move.what, move.result) for move in last[1::2]}
    if len(even) == len(odd) == 1 and even != odd:
        pair = f"{last[0].label} and {last[1].label}"
        return Loop(frozenset({last[0].what, last[1].what}), f"{pair} alternated {_ALTERNATING} times without a change")
    return None


def _condensing(moves: Sequence[Move]) -> Loop | None:
    if _last(moves, _CONDENSED, "condensed"):
        said = f"the history was condensed {_CONDENSED} times and nothing was done in between"
        return Loop(frozenset({"condensed"}), said)
    return None
