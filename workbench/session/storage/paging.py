"""Reads a long log in parts, from the end, with a digest of the events before each part.

A part begins where no action and no queued message extends across the cut, so that it can be shown on its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

from msgspec import Struct

from workbench.protocol.events import (
    ActionProposed,
    DelegateStep,
    Event,
    HistoryCondensed,
    ModelAsked,
    ModelResponded,
    SettingsChanged,
    UserMessage,
)
from workbench.session.storage.active_path import ActivePath, rewinds_of
from workbench.session.storage.store import Store
from workbench.tools.task_tracker import NAME as PLAN_TOOL

WINDOW: Final = 3_000
"""The default for the fewest events in one part."""
_CALM: Final = 3
"""After this many responses without a user message in between, every queued message has been read."""
_ENDS: Final = "SELECT seq, kind, json_extract(json, '$.action_id') FROM events WHERE seq < ? ORDER BY seq DESC"


def part_start(store: Store, end: int, least: int = WINDOW) -> int:
    """Return the number of the first event of the part that ends before event `end` and has at least `least` events.

    The part begins with event 1 if only a few events would remain before it. Raises StoreError.
    """
    cut = _cut(store, end, least) if end > least + least // 3 else 1
    return cut if cut > least // 3 else 1


def _cut(store: Store, end: int, least: int) -> int:
    untold: set[str] = set()
    calm: list[tuple[int, bool]] = []
    later = end
    for seq, kind, action_id in store.query(_ENDS, end):
        if kind == "run_ended" and not untold and later <= end - least:
            return later
        if kind in ("user_message", "message_withdrawn"):
            calm.clear()
        elif kind == "model_responded":
            calm.append((seq, not untold and seq <= end - least))
            if len(calm) >= _CALM and calm[-_CALM][1]:
                return calm[-_CALM][0]
        _follow(untold, kind, action_id)
        later = seq
    return 1


def _follow(untold: set[str], kind: str, action_id: str | None) -> None:
    """Update `untold`: the actions of which, going backwards, later events were read but not yet the first one."""
    if kind in ("action_proposed", "person_command"):
        untold.discard(action_id or "")
    elif action_id:
        untold.add(action_id)


class Branch(Struct, frozen=True):
    """Stands for the events from `first` to `last`, which a rewind took off the active path."""

    first: int
    last: int
    messages: int
    actions: int
    kind: str = "branch"


_CALLS = ModelResponded | ModelAsked | HistoryCondensed
_COUNTS: Final = """
SELECT count(CASE WHEN kind = 'user_message' THEN 1 END),
  count(CASE WHEN kind IN ('action_proposed', 'person_command') THEN 1 END)
FROM events WHERE seq BETWEEN ? AND ?"""


def part(store: Store, start: int, end: int, head: int | None = None) -> Iterator[Event | Branch]:
    """Yield the events from number `start` up to, but not including, `end` that are on the active path.

    That is the path to the end of the log or, if `head` is given, the path that was active after event `head`. Of other
    branches, changes of settings are yielded too, since they still apply, and the cost of model calls as `ModelAsked`;
    then a `Branch` stands for the rest.
    """
    path = _path(store, head)
    branches = {later.start: (earlier.stop, later.start - 1) for earlier, later in pairwise(path.ranges)}
    for event in store.events(start - 1):
        if event.seq >= end:
            return
        if event.seq in branches:
            first, last = branches[event.seq]
            ((messages, actions),) = store.query(_COUNTS, first, last)
            if messages or actions:  # not after a redo
                yield Branch(first, last, messages, actions)
        if event.seq in path or isinstance(event, SettingsChanged | ModelAsked):
            yield event
            continue
        call = event.event if isinstance(event, DelegateStep) else event
        if isinstance(call, _CALLS):
            yield ModelAsked(
                seq=event.seq,
                at=event.at,
                turn=event.turn,
                action_id="",
                model=call.model,
                usage=call.usage,
                cost=call.cost,
                latency=call.latency,
            )


_CALL: Final = "what IN ('model_responded', 'model_asked', 'history_condensed')"
_ACTION: Final = """(kind IN ('action_proposed', 'person_command')
  OR kind = 'files_changed' AND json_extract(json, '$.by') = 'person'
  OR kind = 'delegate_step' AND what = 'action_proposed')"""
_PLAN: Final = f"""kind = 'action_proposed'
  AND instr(json, '{PLAN_TOOL}') > 0 AND json_extract(json, '$.tool') = '{PLAN_TOOL}'"""
_FILES: Final = """instr(json, '"files_changed":[]') = 0 AND instr(json, '"files_changed": []') = 0"""
_RELEVANT: Final = f"""(kind IN ('session_started', 'settings_changed', 'files_changed', 'run_ended', 'rewound')
  OR kind = 'action_observed' AND {_FILES}
  OR kind = 'delegate_step' AND instr(json, '"files_changed"') > 0 AND {_FILES}
  OR kind = 'version_taken' AND instr(json, '"files":[]') = 0 AND instr(json, '"files": []') = 0)"""
# `{active}` stands for the condition of the active path
_ROWS: Final = """
FROM (SELECT seq, kind, json,
  CASE kind WHEN 'delegate_step' THEN json_extract(json, '$.event.kind') ELSE kind END AS what,
  CASE kind WHEN 'delegate_step' THEN '$.event' ELSE '$' END AS place, {active} AS is_active FROM events
  WHERE seq < ?1 AND kind <> 'action_assessed' AND kind <> 'action_decided' AND kind <> 'action_started')"""
_DIGEST: Final = f"""
SELECT
  group_concat(CASE WHEN {_CALL} THEN
    json_extract(json, place || '.cost', place || '.usage.input', place || '.usage.output') END),
  count(CASE WHEN is_active AND {_ACTION} THEN 1 END),
  group_concat(CASE WHEN (is_active OR kind = 'settings_changed') AND {_RELEVANT} THEN seq END),
  max(CASE WHEN is_active AND kind = 'model_responded' THEN seq END),
  group_concat(CASE WHEN is_active AND {_PLAN} THEN seq END),
  group_concat(CASE WHEN is_active AND kind = 'user_message' THEN seq END) {_ROWS}"""
"""Selects all values in one query, because reading the rows is the slow part."""
_BEGUN: Final = f"""
SELECT CASE kind WHEN 'person_command' THEN ''  -- it is numbered with the others, but is not a step of the agent's
  ELSE coalesce(json_extract(json, '$.event.action_id'), json_extract(json, '$.action_id'), '') END,
  coalesce(json_extract(json, '$.event.tool'), json_extract(json, '$.tool'), '') {_ROWS}
WHERE is_active AND {_ACTION} ORDER BY seq"""
_STARTED: Final = """
SELECT seq, coalesce(json_extract(json, '$.event.action_id'), json_extract(json, '$.action_id'))
FROM events WHERE seq < ?1 AND {active} AND (kind = 'action_started'
  OR kind = 'delegate_step' AND json_extract(json, '$.event.kind') = 'action_started') ORDER BY seq"""
_RESULT: Final = """
SELECT seq FROM events WHERE seq > ? AND {active} AND kind = 'action_observed'
AND json_extract(json, '$.action_id') = ? LIMIT 1"""


class DigestStep(Struct, frozen=True):
    """Records that action `number` started to run with event `seq`."""

    seq: int
    number: int
    tool: str


class Digest(Struct, frozen=True):
    """A summary of the events before event `start`: the number of `actions`, the cost of model calls, and relevant
    events.

    `relevant_events` are events and steps in order: settings, plans, changed files, ends of runs, the last response,
    and the user's messages without their texts.
    """

    start: int
    actions: int
    cost: float | None
    """US dollars; None if a price is unknown."""
    tokens: int
    relevant_events: tuple[Event | DigestStep, ...]


def digest(store: Store, start: int, head: int | None = None) -> Digest:
    """Return the digest of the events before event `start` on the active path; for `head` see `part`. Raises
    StoreError.
    """
    active = _path(store, head).condition
    (looked,) = store.query(_DIGEST.format(active=active), start)
    calls, actions, *listed = looked
    relevant, answer, plans, messages = map(_numbers, listed)
    spent: list[tuple[float | None, int | None, int | None]] = json.loads(f"[{calls or ''}]")
    costs = [cost for cost, _, _ in spent if cost is not None]
    planned = _events(store, plans)
    results = {seq for plan in planned for seq in _result(store, plan, active) if seq < start}
    events: list[Event | DigestStep] = [*planned, *_events(store, relevant | answer | results)]
    events += [UserMessage(seq=seq, text="") for seq in messages]
    if plans:
        begun, started = (store.query(each.format(active=active), start) for each in (_BEGUN, _STARTED))
        events += _steps(begun, started)
    events.sort(key=lambda each: each.seq)
    tokens = sum((asked or 0) + (answered or 0) for _, asked, answered in spent)
    return Digest(start, actions, sum(costs, 0.0) if len(costs) == len(spent) else None, tokens, tuple(events))


def _path(store: Store, head: int | None) -> ActivePath:
    return ActivePath(store.last_seq if head is None else head, rewinds_of(store))


def _numbers(listed: object) -> set[int]:
    """Return the numbers that SQLite joined with commas, or the single one; an empty set for None."""
    return set() if listed is None else set(map(int, str(listed).split(",")))


def _events(store: Store, seqs: Iterable[int]) -> list[Event]:
    return [event for seq in seqs for event in store.events(seq - 1, 1)]


def _result(store: Store, plan: Event, active: str) -> Iterator[int]:
    """Yield the number of the event with a plan's result, if there is one."""
    assert isinstance(plan, ActionProposed)
    return (seq for (seq,) in store.query(_RESULT.format(active=active), plan.seq, plan.action_id))


def _steps(begun: Iterator[tuple[Any, ...]], started: Iterator[tuple[Any, ...]]) -> Iterator[DigestStep]:
    numbers = {name: (number, tool) for number, (name, tool) in enumerate(begun, 1) if name}
    for seq, name in started:
        if name in numbers:
            yield DigestStep(seq, *numbers[name])
