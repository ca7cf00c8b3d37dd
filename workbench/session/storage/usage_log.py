"""Reads the model calls of one session, or of all, from the logs: their cost and their tokens."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import recent_paths
from workbench.session.storage.store import Store

_KINDS: Final = ("model_responded", "history_condensed", "model_asked")
_EVENT: Final = "CASE kind WHEN 'delegate_step' THEN json_extract(json, '$.event') ELSE json END"
_ROWS: Final = f"""
SELECT at, json_extract(json, '$.turn'), json_extract(json, '$.agent'), json_extract(event, '$.model'),
  json_extract(event, '$.cost'), json_extract(event, '$.latency'), json_extract(event, '$.usage')
FROM (SELECT seq, at, json, {_EVENT} AS event FROM {{events}} WHERE at >= ? AND (
  kind IN {_KINDS} OR (kind = 'delegate_step' AND json_extract(json, '$.event.kind') IN {_KINDS})))
ORDER BY seq
"""


@dataclass(frozen=True)
class ModelCall:
    """One call of a model. `cost` is in US dollars, None if no price is known; tokens are 0 if none were reported.

    `agent` is the name of the sub-agent that called it; strings are unescaped.
    """

    session: str
    at: datetime
    turn: int = 0
    """The number of the user's message during which the model was called."""
    model: str = ""
    agent: str = ""
    cost: float | None = None
    input: int = 0
    cached: int = 0
    written: int = 0
    """Input tokens written to the provider's cache."""
    output: int = 0
    seconds: float = 0.0
    workspace: str = ""


def session_calls(locations: Locations, session_id: str) -> Iterator[ModelCall]:
    """Yield the calls of one session and its sub-agents, the earliest first; none if its file cannot be read."""
    return _of_file(session_path(locations, session_id), None, with_children=True)


def all_calls(
    locations: Locations, since: datetime | None = None, stopped: Callable[[], bool] = lambda: False
) -> Iterator[ModelCall]:
    """Yield the calls of all sessions since a time, session by session; unreadable sessions are omitted.

    A sub-agent's calls come with the session that started it, and those that a fork shares with the session that it
    was forked from. `stopped` is called before each file.
    """
    for path in recent_paths(locations, since):
        if stopped():
            return
        yield from _of_file(path, since, with_children=False)


def _of_file(path: Path, since: datetime | None, *, with_children: bool) -> Iterator[ModelCall]:
    try:
        if not path.is_file():
            return
        with Store.open(path, readonly=True) as store:
            started = json.loads(next(store.query("SELECT json FROM events WHERE seq = 1"))[0])
            if with_children or not started.get("parent"):
                workspace = str(started.get("workspace") or "")
                rows = _ROWS.format(events="events" if with_children else "main.events")
                begin = since.astimezone(UTC).isoformat() if since is not None else ""
                yield from (_call(path.stem, workspace, row) for row in store.query(rows, begin))
    except (WorkbenchError, sqlite3.Error, OSError, ValueError, LookupError, TypeError, StopIteration):
        return


def _call(session: str, workspace: str, row: tuple[Any, ...]) -> ModelCall:
    at, turn, agent, model, cost, latency, usage = row
    tokens = json.loads(usage) if usage else {}
    return ModelCall(
        session,
        datetime.fromisoformat(at),
        turn=turn or 0,
        model=model or "",
        agent=agent or "",
        cost=float(cost) if cost is not None else None,
        input=tokens.get("input") or 0,
        cached=tokens.get("cached") or 0,
        written=tokens.get("written") or 0,
        output=tokens.get("output") or 0,
        seconds=float(latency or 0),
        workspace=workspace,
    )
