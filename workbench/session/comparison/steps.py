"""The steps of a session that a comparison looks at, and the first ones in which two sessions differ.

A step is a message of the user, an answer of the model, or a decision on an action. Answers that call tools are
compared by their calls, others by their text; the paths of the two workspaces are treated as equal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, to_builtins

from workbench.protocol.events import ActionDecided, Event, ModelResponded, RawToolCall, UserMessage
from workbench.session.relocator import Relocator
from workbench.session.storage.active_path import ActivePath, rewinds_of
from workbench.session.storage.shared_history import SharedPart, ancestry_of
from workbench.session.storage.store import Store, first_event
from workbench.text import first_line

Kind: TypeAlias = Literal["message", "answer", "decision"]
_NUMBERS: Final = """
SELECT seq FROM events WHERE kind IN ('user_message', 'model_responded', 'action_decided') AND seq > ? ORDER BY seq"""
_WORKSPACE: Final = "<workspace>"
_OWN_WORDS: Final = frozenset({"summary", "security_risk"})
"""Arguments in which the model describes a call; they do not change what it does, so they are not compared."""
_TITLE = 200


class SessionStep(Struct, frozen=True):
    """One step: the event `seq` of its session, and its description `title`.

    Two steps are equal if their kinds and their keys are.
    """

    seq: int
    kind: Kind
    title: str
    key: str


class FirstDifference(Struct, frozen=True):
    """The first steps in which two sessions differ; None for a session that has no further step.

    If the sessions share events, as a fork and its origin do, these are the first steps after `forked_at`, the number
    of the last shared event; otherwise `forked_at` is 0.
    """

    one: SessionStep | None = None
    other: SessionStep | None = None
    forked_at: int = 0


def first_difference(one: Store, other: Store) -> FirstDifference | None:
    """Return where two sessions first differ, or None if all their steps are equal. Raises StoreError."""
    forked_at = _shared_until(_lineage(one), _lineage(other))
    if forked_at:
        return FirstDifference(next(steps_of(one, forked_at), None), next(steps_of(other, forked_at), None), forked_at)
    pairs = zip_longest(steps_of(one), steps_of(other))
    return next((FirstDifference(*pair) for pair in pairs if _key(pair[0]) != _key(pair[1])), None)


def _key(step: SessionStep | None) -> tuple[str, str] | None:
    return None if step is None else (step.kind, step.key)


def _lineage(store: Store) -> list[SharedPart]:
    """Return the parts of a log, each with the session whose events it contains; the last part is the session's own."""
    inherited = ancestry_of(store.path)
    first = inherited[-1].last + 1 if inherited else 2
    return [*inherited, SharedPart(first, max(first, store.last_seq + 1), store.path.stem, "", "")]


def _shared_until(one: list[SharedPart], other: list[SharedPart]) -> int:
    """Return the number of the last event that both logs share; 0 if there is none."""
    last = 0
    for part, counterpart in zip(one, other, strict=False):
        if part.session != counterpart.session:
            break
        last = min(part.last, counterpart.last)
        if part.last != counterpart.last:
            break
    return last


def steps_of(store: Store, after: int = 0) -> Iterator[SessionStep]:
    """Yield, in order, the steps on the active path of a session that come after the event `after`. Raises
    StoreError.
    """
    path = ActivePath(store.last_seq, rewinds_of(store))
    started = first_event(store)
    relocator = Relocator([started.workspace], _WORKSPACE)
    numbers = [seq for (seq,) in store.query(_NUMBERS, after) if seq in path]
    for seq in numbers:
        for event in store.events(seq - 1, 1):
            yield _step(event, relocator)


def _step(event: Event, relocator: Relocator) -> SessionStep:
    match event:
        case UserMessage():
            kind, title, key = "message", event.text, event.text.strip()
        case ModelResponded() if event.tool_calls:
            calls = [(call.name, relocator.value(_arguments(call))) for call in event.tool_calls]
            kind, title, key = "answer", _titles(event.tool_calls), json.dumps(calls, sort_keys=True)
        case ModelResponded():
            kind, title, key = "answer", event.text, relocator.text(event.text.strip())
        case ActionDecided():
            fields = {name: to_builtins(getattr(event, name)) for name in ("verdict", "note", "edited", "hunks")}
            note = f": {event.note}" if event.note else ""
            kind, title = "decision", f"{event.verdict}{note}"
            key = json.dumps(relocator.value(fields), sort_keys=True)
        case _:
            kind, title, key = "answer", event.kind, ""
    return SessionStep(event.seq, kind, first_line(title, _TITLE), key)  # type: ignore[arg-type]


def _arguments(call: RawToolCall) -> Any:
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return call.arguments
    return (
        {name: value for name, value in arguments.items() if name not in _OWN_WORDS}
        if isinstance(arguments, dict)
        else arguments
    )


def _titles(calls: tuple[RawToolCall, ...]) -> str:
    return "; ".join(_title(call) for call in calls)


def _title(call: RawToolCall) -> str:
    arguments = _arguments(call)
    values = arguments.values() if isinstance(arguments, dict) else [call.arguments]
    text = next((value for value in values if isinstance(value, str) and value), "")
    return f"{call.name}: {first_line(text, _TITLE)}" if text else call.name
