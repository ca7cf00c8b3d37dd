"""Detection of an agent that repeats itself, and the advice for a call that failed twice in the same way.

Moves are compared in a canonical form, which ignores the order of arguments, times, durations, memory addresses and
the text that the model writes beside an action.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec

from workbench.lazy_pattern import lazy_pattern
from workbench.suggest import nearest
from workbench.text import first_line, visible
from workbench.tools.tool import ToolDefinition

WINDOW = 18
"""The number of recent moves that are examined: enough for the longest pattern, six failures with moves in between."""
_SAME_RESULT, _SAME_ERROR, _SAME_WORDS, _ROUNDS, _CONDENSED = 4, 3, 3, 3, 3
_SAME_CALL_FAILED, _ANY_FAILED, _MOST_NAMED, _MOST_OTHERS = 4, 6, 3, 2
_LONGEST = 20_000
_VOLATILE = lazy_pattern(
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
    """An action with its result, a response without an action, or a compaction of the history; `what` is the same text
    for moves that are considered equal.
    """

    kind: Kind
    what: str
    result: str = ""
    is_error: bool = False
    label: str = ""
    """A description of the move for the user."""
    has_failed: bool = False
    """Whether the result is an error, or the exit code of a command reports a failure."""


class Loop(msgspec.Struct, frozen=True):
    """A repeated pattern; two loops of the same actions have the same `key`, and `evidence` describes the pattern."""

    key: frozenset[str]
    evidence: str


def find_loop(moves: Sequence[Move]) -> Loop | None:
    """Return the repeated pattern at the end of the moves (oldest first), or None if there is none."""
    moves = moves[-WINDOW:]
    for rule in (_talking, _condensing):
        if loop := rule(moves):
            return loop
    if not moves or moves[-1].kind != "action":
        return None  # words between actions make no difference, but after them the agent may do something else
    actions = [move for move in moves if move.kind == "action"]
    for rule in (_repeating, _alternating, _failing, _failing_between_looks):
        if loop := rule(actions):
            return loop
    return None


def action_move(
    tool: str, arguments: dict[str, Any], result: str, is_error: bool, *, has_failed: bool | None = None
) -> Move:
    """Return the move for an action; `result` is the text of its result.

    `has_failed` is also true for a command whose exit code reports a failure; None means the value of `is_error`.
    """
    what = _hash(tool + json.dumps(_canonical(arguments), sort_keys=True, ensure_ascii=True))
    failed = is_error if has_failed is None else has_failed
    return Move("action", what, result_key(result), is_error, _label(tool, arguments), failed)


def words_move(text: str) -> Move:
    """Return the move for a response that has a text but no action."""
    return Move("words", _hash(" ".join(text.split())), label=f"“{first_line(text, 60)}”")


def result_key(text: str) -> str:
    """Return a hash of a result's text for comparison; times, durations, addresses and process IDs do not change it."""
    if len(text) > 2 * _LONGEST:
        text = text[:_LONGEST] + text[-_LONGEST:]
    return _hash("\n".join(line.rstrip() for line in _VOLATILE.sub("#", text).strip().splitlines()))


def _canonical(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with their strings stripped; empty, false and null arguments are removed, a 0 is kept."""
    trimmed = {name: value.strip() if isinstance(value, str) else value for name, value in arguments.items()}
    return {name: value for name, value in trimmed.items() if value or (value == 0 and value is not False)}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _label(tool: str, arguments: dict[str, Any]) -> str:
    subjects = [arguments[name] for name in _LABELS if isinstance(arguments.get(name), str) and arguments[name].strip()]
    return f"{tool} ({first_line(' '.join(subjects), 60)})" if subjects else tool


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
    same = _last(moves, _SAME_WORDS, "words")
    if same and len({move.what for move in same}) == 1:
        return Loop(frozenset({same[0].what}), f"the agent said {same[0].label} to itself {_SAME_WORDS} times")
    return None


def _alternating(moves: Sequence[Move]) -> Loop | None:
    """Find two or three calls that alternated for three rounds, each with the same result every time."""
    for period in (2, 3):
        last = _last(moves, _ROUNDS * period)
        turns = [{(move.what, move.result) for move in last[at::period]} for at in range(period)]
        if all(len(turn) == 1 for turn in turns) and len(set.union(*turns)) > 1:
            labels = [move.label for move in last[:period]]
            names = f"{', '.join(labels[:-1])} and {labels[-1]}"
            evidence = f"{names} alternated {_ROUNDS * period} times without a change"
            return Loop(frozenset(move.what for move in last[:period]), evidence)
    return None


def _failing(moves: Sequence[Move]) -> Loop | None:
    """Find four failures in a row of the same call, or six of any calls; their error texts may differ."""
    last = _last(moves, _SAME_CALL_FAILED)
    if last and all(move.has_failed for move in last) and len({move.what for move in last}) == 1:
        return Loop(frozenset({last[0].what}), f"{last[0].label} failed {_SAME_CALL_FAILED} times")
    last = _last(moves, _ANY_FAILED)
    if last and all(move.has_failed for move in last):
        return Loop(frozenset({"failing"}), f"the last {_ANY_FAILED} calls failed: {_labels(last)}")
    return None


def _failing_between_looks(moves: Sequence[Move]) -> Loop | None:
    """Find six errors with only repeated successful calls between them, such as failing edits and views of one file.

    A command with a nonzero exit code is not an error here: tests may fail in a new way after each round of the same
    steps.
    """
    failed = [at for at, move in enumerate(moves) if move.is_error][-_ANY_FAILED:]
    if len(failed) < _ANY_FAILED or not moves[-1].is_error:
        return None
    span = moves[failed[0] :]
    others = Counter((move.what, move.result) for move in span if not move.is_error)
    if len(others) > _MOST_OTHERS or min(others.values(), default=0) < _MOST_OTHERS:
        return None
    evidence = f"{_ANY_FAILED} of the last {len(span)} calls failed, and the others gave the same results again"
    return Loop(frozenset({"failing"}), f"{evidence}: {_labels([move for move in span if move.is_error])}")


def _labels(moves: Sequence[Move]) -> str:
    labels = list(dict.fromkeys(move.label for move in moves))
    return ", ".join(labels[:_MOST_NAMED]) + (" …" if len(labels) > _MOST_NAMED else "")


def _condensing(moves: Sequence[Move]) -> Loop | None:
    done = [move for move in moves if move.kind != "words"]  # a text alone does nothing
    if moves and moves[-1].kind == "condensed" and _last(done, _CONDENSED, "condensed"):
        evidence = f"the history was compacted {_CONDENSED} times and nothing was done in between"
        return Loop(frozenset({"condensed"}), evidence)
    return None


ADVICE = "[Advice: "
_EXTRAS = ("security_risk", "summary")
_MOST_LISTED = 5
_EXAMPLES: dict[str, Any] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}


def advice_on(name: str, arguments: dict[str, Any], tools: Mapping[str, ToolDefinition], is_readable: bool) -> str:
    """Return the advice to the model on a failed call of tool `name`; `is_readable` says whether its arguments were a
    JSON object.
    """
    tool = tools.get(name)
    if tool is None:
        return _line(_other_tool(name, tools))
    schema = tool.schema
    if not is_readable:
        return _line(f"send the arguments as one JSON object, for example {_example(schema)}")
    wrong = _differences(arguments, schema)
    if wrong:
        return _line(f"{'; '.join(wrong)}; a call that fits: {_example(schema)}")
    return _line(
        "this failed in the same way before, so the same call will fail again; look at the present state first, then "
        "change the arguments or try another approach"
    )


def _line(text: str) -> str:
    return f"{ADVICE}{visible(text, lines=False)}.]"


def _other_tool(name: str, tools: Mapping[str, ToolDefinition]) -> str:
    near = nearest(name[:60], tools, 0.4)
    hint = f" (`{near}` is the nearest)" if near else ""
    return f"`{name[:60]}` will not appear by asking again; use one of the tools in the list{hint}"


def _differences(arguments: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """Return sentences about how the arguments differ from the top level of the schema; none if they fit."""
    properties: dict[str, Any] = schema.get("properties", {})
    unknown = [name for name in arguments if name not in properties and name not in _EXTRAS]
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    wrong = [name for name, value in arguments.items() if name in properties and not _fits(value, properties[name])]
    problems = [f"not in the schema: {_names(unknown)}"] if unknown else []
    problems += [f"missing: {_names(missing)}"] if missing else []
    return problems + [f"`{name}` must be {_kind(properties[name])}" for name in wrong[:_MOST_LISTED]]


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name[:60]}`" for name in names[:_MOST_LISTED])


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list, tuple),
    "object": (dict,),
}


def _fits(value: Any, part: dict[str, Any]) -> bool:
    """Return whether the value has the type in `part`, its JSON schema; null, and a schema without a type, fit."""
    if "enum" in part:
        return value in part["enum"]
    types = _TYPES.get(part.get("type", ""))
    if types is None or value is None:
        return True
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _kind(part: dict[str, Any]) -> str:
    if "enum" in part:
        return f"one of {', '.join(str(value) for value in part['enum'][:10])}"
    return f"of type {part.get('type', 'any')}"


def _example(schema: dict[str, Any]) -> str:
    """Return the smallest arguments that the schema allows, as JSON."""
    properties: dict[str, Any] = schema.get("properties", {})
    required = [name for name in schema.get("required", ()) if name in properties]
    return json.dumps({name: _value(properties[name]) for name in required}, ensure_ascii=False)


def _value(part: dict[str, Any]) -> Any:
    if part.get("enum"):
        return part["enum"][0]
    if "default" in part:
        return part["default"]
    return _EXAMPLES.get(part.get("type", ""), "…")
