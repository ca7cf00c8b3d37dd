"""Reads a long log in parts, the end first, with a digest of what comes before the part.

A part begins where no action and no waiting message reaches across the cut, so that each can be shown by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from workbench.protocol.events import ActionProposed, Event, UserMessage
from workbench.session.storage.store import Store
from workbench.tools.task_tracker import NAME as PLAN_TOOL

WINDOW: Final = 3_000
"""Events of one part, at least."""
_CALM: Final = 3
"""Answers in a row with no message of the person's: what was queued has been read by then."""
_ENDS: Final = "SELECT seq, kind, json_extract(json, '$.action_id') FROM events WHERE seq < ? ORDER BY seq DESC"


def part_start(store: Store, end: int, least: int = WINDOW) -> int:
    """The first event of the part that ends before event `end`, and has at least so many of them.

    A short rest is part of it: then it begins with event 1. Raises StoreError.
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
    """`untold` are the actions of which something was met, and not yet, going back, how they began."""
    if kind in ("action_proposed", "person_command"):
        untold.discard(action_id or "")
    elif action_id:
        untold.add(action_id)


def part(store: Store, start: int, end: int) -> Iterator[Event]:
    """The events from `start` on, before `end`."""
    for event in store.events(start - 1):
        if event.seq >= end:
            return
        yield event


_CALL: Final = "what IN ('model_responded', 'model_asked', 'history_condensed')"
_ACTION: Final = """(kind IN ('action_proposed', 'person_command')
  OR kind = 'files_changed' AND json_extract(json, '$.by') = 'person'
  OR kind = 'delegate_step' AND what = 'action_proposed')"""
_PLAN: Final = f"""kind = 'action_proposed'
  AND instr(json, '{PLAN_TOOL}') > 0 AND json_extract(json, '$.tool') = '{PLAN_TOOL}'"""
_FILES: Final = """instr(json, '"files_changed":[]') = 0 AND instr(json, '"files_changed": []') = 0"""
_TOLD: Final = f"""(kind IN ('session_started', 'settings_changed', 'files_changed', 'run_ended')
  OR kind = 'action_observed' AND {_FILES}
  OR kind = 'delegate_step' AND instr(json, '"files_changed"') > 0 AND {_FILES}
  OR kind = 'version_taken' AND instr(json, '"files":[]') = 0 AND instr(json, '"files": []') = 0)"""
_ROWS: Final = """
FROM (SELECT seq, kind, json,
  CASE kind WHEN 'delegate_step' THEN json_extract(json, '$.event.kind') ELSE kind END AS what,
  CASE kind WHEN 'delegate_step' THEN '$.event' ELSE '$' END AS place FROM events
  WHERE seq < ?1 AND kind <> 'action_assessed' AND kind <> 'action_decided' AND kind <> 'action_started')"""
_LOOK: Final = f"""
SELECT
  group_concat(CASE WHEN {_CALL} THEN
    json_extract(json, place || '.cost', place || '.usage.input', place || '.usage.output') END),
  count(CASE WHEN {_ACTION} THEN 1 END),
  group_concat(CASE WHEN {_TOLD} THEN seq END),
  max(CASE kind WHEN 'model_responded' THEN seq END),
  group_concat(CASE WHEN {_PLAN} THEN seq END),
  group_concat(CASE kind WHEN 'user_message' THEN seq END) {_ROWS}"""
"""All of it in one go through the rows: to go through them is what takes long."""
_BEGUN: Final = f"""
SELECT CASE kind WHEN 'person_command' THEN ''  -- it is numbered with the others, but is no step of the agent's
  ELSE coalesce(json_extract(json, '$.event.action_id'), json_extract(json, '$.action_id'), '') END,
  coalesce(json_extract(json, '$.event.tool'), json_extract(json, '$.tool'), '') {_ROWS} WHERE {_ACTION} ORDER BY seq"""
_STARTED: Final = """
SELECT seq, coalesce(json_extract(json, '$.event.action_id'), json_extract(json, '$.action_id'))
FROM events WHERE seq < ?1 AND (kind = 'action_started'
  OR kind = 'delegate_step' AND json_extract(json, '$.event.kind') = 'action_started') ORDER BY seq"""
_RESULT: Final = """
SELECT seq FROM events WHERE seq > ? AND kind = 'action_observed' AND json_extract(json, '$.action_id') = ? LIMIT 1"""


@dataclass(frozen=True)
class DigestStep:
    """Action `number` began to run with event `seq`."""

    seq: int
    number: int
    tool: str


@dataclass(frozen=True)
class Digest:
    """What came before event `start`: how many `actions`, what the calls of models took, and what still matters.

    `told` are events and steps in order: settings, plans, files; a message of the person's is in it without its text.
    """

    start: int
    actions: int
    cost: float | None
    """US dollars; `None` where one price is unknown."""
    tokens: int
    told: tuple[Event | DigestStep, ...]


def digest(store: Store, start: int) -> Digest:
    """What came before that event. Raises StoreError."""
    (looked,) = store.query(_LOOK, start)
    calls, actions, relevant, answer, plans, messages = looked
    spent: list[tuple[float | None, int | None, int | None]] = json.loads(f"[{calls or ''}]")
    costs = [cost for cost, _, _ in spent if cost is not None]
    planned = _events(store, _numbers(plans))
    results = {seq for plan in planned for seq in _result(store, plan) if seq < start}
    events: list[Event | DigestStep] = [*planned, *_events(store, _numbers(relevant) | _numbers(answer) | results)]
    events += [UserMessage(seq=seq, text="") for seq in _numbers(messages)]
    if plans:
        events += _steps(store.query(_BEGUN, start), store.query(_STARTED, start))
    events.sort(key=lambda each: each.seq)
    tokens = sum((asked or 0) + (answered or 0) for _, asked, answered in spent)
    return Digest(start, actions, sum(costs, 0.0) if len(costs) == len(spent) else None, tokens, tuple(events))


def _numbers(listed: object) -> set[int]:
    """What SQLite has put together with commas, or a single one; None where there was nothing."""
    return set() if listed is None else set(map(int, str(listed).split(",")))


def _events(store: Store, seqs: Iterable[int]) -> list[Event]:
    return [event for seq in seqs for event in store.events(seq - 1, 1)]


def _result(store: Store, plan: Event) -> Iterator[int]:
    """The event that tells what came of a plan, if there is one."""
    assert isinstance(plan, ActionProposed)
    return (seq for (seq,) in store.query(_RESULT, plan.seq, plan.action_id))


def _steps(begun: Iterator[tuple[Any, ...]], started: Iterator[tuple[Any, ...]]) -> Iterator[DigestStep]:
    numbers = {name: (number, tool) for number, (name, tool) in enumerate(begun, 1) if name}
    for seq, name in started:
        if name in numbers:
            yield DigestStep(seq, *numbers[name])
