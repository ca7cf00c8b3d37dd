"""Reads the decisions on actions from the logs of sessions, the latest first, without the actions' previews.

Used by the Decisions screen, by `ohw decisions`, and to try a rule on earlier decisions. A log is read backwards, so
that the latest decisions of a long one are there at once.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.session.session_names import session_path
from workbench.session.storage.event_rows import insert_strings
from workbench.session.storage.session_list import recent_paths
from workbench.session.storage.store import DamagedFile, Store, StoreError
from workbench.text import first_line

_KINDS: Final = ("action_proposed", "action_assessed", "action_decided")
_STEP: Final = "json_extract(json, '$.event.kind')"
_ROWS: Final = f"""
SELECT seq, at, kind, parts,
  json_remove(json, '$.preview', '$.stale', '$.executes', '$.written', '$.event.preview', '$.event.stale',
              '$.event.executes', '$.event.written')
FROM {{events}}
WHERE kind IN {_KINDS} OR (kind = 'delegate_step' AND {_STEP} IN {_KINDS})
ORDER BY seq DESC
"""


@dataclass(frozen=True)
class RecordedDecision:
    """One decision on one action.

    `by` is person, rule or mode. `rule` names the rule or mode that decided, or the rule that the user's answer saved;
    `asked_by` names the rule or mode because of which the user was asked. Strings are unescaped: pass them to `visible`
    before showing them.
    """

    session: str
    workspace: str
    seq: int
    at: datetime
    action_id: str
    verdict: str
    by: str
    rule: str = ""
    asked_by: str = ""
    note: str = ""
    is_partial: bool = False
    agent: str = ""
    """The name of the sub-agent that proposed the action; empty for the agent of the session."""
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    presentation: dict[str, Any] | None = None
    summary: str = ""
    model_risk: str = "UNKNOWN"
    risk: str = "UNKNOWN"
    reasons: tuple[str, ...] = ()
    working_dir: str = ""
    waited: float = 0.0
    """Seconds between the question and the user's answer; 0 if a rule or a mode decided."""


@dataclass(frozen=True)
class Unreadable:
    """A session whose log cannot be read, and why."""

    session: str
    reason: str


def all_decisions(
    locations: Locations, stopped: Callable[[], bool] = lambda: False, *, since: datetime | None = None
) -> Iterator[RecordedDecision | Unreadable]:
    """Yield the decisions of all sessions, most recently changed sessions first, each session's latest first.

    Sub-agents' decisions are yielded with the session that started the sub-agent; decisions that a fork shares, with
    the session that it was forked from. `stopped` is called before each file, and True ends the iteration. With
    `since`, only decisions made since then are yielded.
    """
    for path in recent_paths(locations, since):
        if stopped():
            return
        for each in _of_file(path, with_children=False):
            if since is None or isinstance(each, Unreadable) or each.at >= since:
                yield each


def session_decisions(locations: Locations, session_id: str) -> Iterator[RecordedDecision | Unreadable]:
    """Yield the decisions of one session and of its sub-agents, the latest first."""
    return _of_file(session_path(locations, session_id), with_children=True)


def _of_file(path: Path, *, with_children: bool) -> Iterator[RecordedDecision | Unreadable]:
    try:
        with Store.open(path, readonly=True) as store:
            started = json.loads(next(store.query("SELECT json FROM events WHERE seq = 1"))[0])
            if with_children or not started.get("parent"):
                reading = _Reading(path.stem, str(started["workspace"]), store, with_shared=with_children)
                yield from reading.decisions()
    except (WorkbenchError, sqlite3.Error, ValueError, LookupError, TypeError, StopIteration) as error:
        reason = error.reason if isinstance(error, DamagedFile) else str(error).replace(str(path), path.name)
        yield Unreadable(path.stem, first_line(reason, 200) or type(error).__name__)


@dataclass
class _Pending:
    """A decision with its number and time, and the latest assessment before it."""

    seq: int
    at: str
    decided: dict[str, Any]
    assessed: dict[str, Any] = field(default_factory=dict)
    assessed_at: str = ""

    @property
    def waited(self) -> float:
        """Seconds between the question and the user's answer; 0 if a rule or a mode decided."""
        if self.decided["by"] != "person" or not self.assessed_at:
            return 0.0
        return (datetime.fromisoformat(self.at) - datetime.fromisoformat(self.assessed_at)).total_seconds()


class _Reading:
    """Reads one log backwards, so that a decision is complete once the proposal of its action is read."""

    def __init__(self, session: str, workspace: str, store: Store, *, with_shared: bool) -> None:
        self._session = session
        self._workspace = workspace
        self._store = store
        self._rows = _ROWS.format(events="events" if with_shared else "main.events")
        self._decided: dict[tuple[str, str], list[_Pending]] = {}
        """By sub-agent and action id, the decisions whose proposal was not read yet."""

    def decisions(self) -> Iterator[RecordedDecision]:
        for seq, at, kind, parts, row in self._store.query(self._rows):
            event, agent = json.loads(insert_strings(row, parts, self._string) if parts else row), ("", "")
            if kind == "delegate_step":
                agent, event = (event["session"], event["agent"]), event["event"]
            yield from self._apply(seq, at, agent, event)
        for (name, action_id), pending in self._decided.items():
            yield from (self._decision(name, {"action_id": action_id}, each) for each in pending)

    def _apply(self, seq: int, at: str, agent: tuple[str, str], event: dict[str, Any]) -> Iterator[RecordedDecision]:
        key = (agent[0] or agent[1], event["action_id"])
        if event["kind"] == "action_decided":
            self._decided.setdefault(key, []).append(_Pending(seq, at, event))
        elif event["kind"] == "action_assessed":
            for pending in self._decided.get(key, ()):
                if not pending.assessed:
                    pending.assessed, pending.assessed_at = event, at
        else:
            yield from (self._decision(agent[1], event, each) for each in self._decided.pop(key, ()))

    def _decision(self, agent: str, proposed: dict[str, Any], pending: _Pending) -> RecordedDecision:
        decided, assessed = pending.decided, pending.assessed
        arguments = next(
            (value for event in (decided, assessed) if isinstance(value := event.get("edited"), dict)),
            proposed.get("arguments") or {},
        )
        return RecordedDecision(
            session=self._session,
            workspace=self._workspace,
            seq=pending.seq,
            at=datetime.fromisoformat(pending.at),
            action_id=str(proposed["action_id"]),
            verdict=str(decided["verdict"]),
            by=str(decided["by"]),
            rule=str(decided.get("rule") or ""),
            asked_by=str(assessed.get("rule") or "") if decided["by"] == "person" else "",
            note=str(decided.get("note") or ""),
            is_partial=decided.get("hunks") is not None,
            agent=agent,
            tool=str(proposed.get("tool") or ""),
            arguments=arguments,
            presentation=proposed.get("presentation"),
            summary=str(proposed.get("summary") or ""),
            model_risk=str(proposed.get("risk") or "UNKNOWN"),
            risk=str(assessed.get("risk") or "UNKNOWN"),
            reasons=tuple(assessed.get("reasons") or ()),
            working_dir=str(assessed.get("working_dir") or ""),
            waited=pending.waited,
        )

    def _string(self, name: str) -> str:
        for (text,) in self._store.query("SELECT text FROM blobs WHERE hash = ?", name):
            return str(text)
        raise StoreError(f"the session file {self._store.path} lacks a stored text")
