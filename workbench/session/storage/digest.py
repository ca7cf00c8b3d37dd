"""What must be known of the part of a log that is not read: sums, and the few events that later ones build on.

SQLite goes through the rows; of a hundred thousand events a handful are read whole. The screen's link uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from workbench.session.events import Event, UserMessage
from workbench.session.storage.store import Store

PLAN_TOOL: Final = "task_tracker"
_ASKED: Final = "('model_responded', 'model_asked', 'history_condensed')"
_SPENT: Final = f"""
SELECT count(*), count(cost), coalesce(sum(cost), 0.0), coalesce(sum(input), 0) + coalesce(sum(output), 0) FROM (
  SELECT json_extract(json, '$.cost') AS cost, json_extract(json, '$.usage.input') AS input,
    json_extract(json, '$.usage.output') AS output FROM events WHERE kind IN {_ASKED} AND seq < ?1
  UNION ALL
  SELECT json_extract(json, '$.event.cost'), json_extract(json, '$.event.usage.input'),
    json_extract(json, '$.event.usage.output') FROM events
    WHERE kind = 'delegate_step' AND seq < ?1 AND json_extract(json, '$.event.kind') IN {_ASKED})"""
_IS_ACTION: Final = """
FROM events WHERE seq < ?1 AND (kind IN ('action_proposed', 'person_command')
  OR kind = 'files_changed' AND json_extract(json, '$.by') = 'person'
  OR kind = 'delegate_step' AND json_extract(json, '$.event.kind') = 'action_proposed')"""
_PLANS: Final = f"""
SELECT seq, json_extract(json, '$.action_id') FROM events WHERE seq < ?1 AND kind = 'action_proposed'
  AND instr(json, '{PLAN_TOOL}') > 0 AND json_extract(json, '$.tool') = '{PLAN_TOOL}'"""
_BEGUN: Final = f"""
SELECT CASE kind WHEN 'person_command' THEN ''  -- it is numbered with the others, but is no step of the agent's
  ELSE coalesce(json_extract(json, '$.event.action_id'), json_extract(json, '$.action_id'), '') END,
  coalesce(json_extract(json, '$.event.tool'), json_extract(json, '$.tool'), '') {_IS_ACTION} ORDER BY seq"""
_STARTED: Final = """
SELECT seq, coalesce(json_extract(json, '$.event.action_id'), json_extract(json, '$.action_id'))
FROM events WHERE seq < ?1 AND (kind = 'action_started'
  OR kind = 'delegate_step' AND json_extract(json, '$.event.kind') = 'action_started') ORDER BY seq"""
_FILES: Final = """instr(json, '"files_changed":[]') = 0 AND instr(json, '"files_changed": []') = 0"""
_TOLD: Final = f"""
SELECT seq FROM events WHERE seq < ?1 AND (kind IN ('session_started', 'settings_changed', 'files_changed', 'run_ended')
  OR kind = 'action_observed' AND {_FILES}
  OR kind = 'delegate_step' AND instr(json, '"files_changed"') > 0 AND {_FILES}
  OR kind = 'version_taken' AND instr(json, '"files":[]') = 0 AND instr(json, '"files": []') = 0
  OR seq = (SELECT seq FROM events WHERE seq < ?1 AND kind = 'model_responded' ORDER BY seq DESC LIMIT 1))"""
_MESSAGES: Final = "SELECT seq FROM events WHERE seq < ?1 AND kind = 'user_message'"
_RESULT: Final = """
SELECT seq FROM events WHERE seq > ? AND kind = 'action_observed' AND json_extract(json, '$.action_id') = ? LIMIT 1"""


@dataclass(frozen=True)
class Step:
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
    told: tuple[Event | Step, ...]


def digest(store: Store, start: int) -> Digest:
    """What came before that event. Raises StoreError."""
    calls, priced, cost, tokens = next(store.query(_SPENT, start))
    ((actions,),) = store.query(f"SELECT count(*) {_IS_ACTION}", start)
    plans = list(store.query(_PLANS, start))
    told = {seq for (seq,) in store.query(_TOLD, start)}
    for seq, action_id in plans:
        told |= {seq} | {found for (found,) in store.query(_RESULT, seq, action_id) if found < start}
    kept: list[Event | Step] = [event for seq in told for event in store.events(seq - 1, 1)]
    kept += [UserMessage(seq=seq, text="") for (seq,) in store.query(_MESSAGES, start)]
    if plans:
        kept += _steps(store.query(_BEGUN, start), store.query(_STARTED, start))
    kept.sort(key=lambda each: each.seq)
    return Digest(start, actions, cost if calls == priced else None, tokens, tuple(kept))


def _steps(begun: Iterator[tuple[Any, ...]], started: Iterator[tuple[Any, ...]]) -> Iterator[Step]:
    known = {name: (number, tool) for number, (name, tool) in enumerate(begun, 1) if name}
    for seq, name in started:
        if name in known:
            yield Step(seq, *known[name])
