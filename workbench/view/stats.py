"""Statistics over sessions: what they cost, who decided in them, and how long they waited for the user."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeAlias

from workbench.config.locations import Locations
from workbench.session.storage.decision_log import (
    RecordedDecision,
    Unreadable,
    all_decisions,
    session_decisions,
)
from workbench.session.storage.session_list import session_titles
from workbench.session.storage.usage_log import ModelCall, all_calls, session_calls
from workbench.text import visible, visible_path
from workbench.view import clock

Scope: TypeAlias = Literal["session", "today", "week", "all"]
SCOPES: Final[dict[Scope, str]] = {"session": "this session", "today": "today", "week": "7 days", "all": "all"}
"""The scopes in Tab order, with their names."""
_DAYS: Final[dict[Scope, int]] = {"today": 1, "week": 7, "all": 0}
RISKS: Final = ("HIGH", "MEDIUM", "UNKNOWN", "LOW")
DECIDERS: Final = {"person": "you", "rule": "rules", "mode": "modes"}
"""Who decides, as in the log and as shown."""
_MOST_DAYS: Final = 36_500
MOST_ROWS: Final = 12
"""The most rows of a table, and so the most sessions whose titles are read."""


@dataclass
class Totals:
    """The sums of some calls."""

    cost: float = 0.0
    unpriced: int = 0
    """How many calls have no known price."""
    input: int = 0
    cached: int = 0
    written: int = 0
    """Input tokens written to the provider's cache."""
    output: int = 0
    calls: int = 0
    seconds: float = 0.0

    def add(self, call: ModelCall) -> None:
        """Add one call."""
        self.cost += call.cost or 0.0
        self.unpriced += call.cost is None
        self.input += call.input
        self.cached += call.cached
        self.written += call.written
        self.output += call.output
        self.calls += 1
        self.seconds += call.seconds

    @property
    def price(self) -> str:
        """The cost in dollars: `unknown` if no call has a known price, followed by `+` if only some do."""
        if self.calls and self.unpriced == self.calls:
            return "unknown"
        return f"${self.cost:.2f}{'+' if self.unpriced else ''}"


@dataclass
class DecisionCounts:
    """How many actions of each risk were allowed and denied by whom, and how long questions waited."""

    allowed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By risk and by `person`, `rule` or `mode`."""
    denied: Counter[tuple[str, str]] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)
    """Seconds from each question to the user's answer."""

    def add(self, decision: RecordedDecision) -> None:
        """Count one decision."""
        counts = self.denied if decision.verdict == "rejected" else self.allowed
        counts[decision.risk, decision.by] += 1
        if decision.by == "person":
            self.waits.append(max(0.0, decision.waited))


@dataclass
class Stats:
    """The calls and decisions of sessions in the last `days` calendar days including today; 0 means of all time."""

    days: int
    calls: list[ModelCall] = field(default_factory=list)
    decisions: DecisionCounts = field(default_factory=DecisionCounts)
    sessions: set[str] = field(default_factory=set)
    unreadable: list[Unreadable] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    """The titles of the most expensive sessions by their IDs, unescaped."""

    def add(self, calls: Iterable[ModelCall], decisions: Iterable[RecordedDecision | Unreadable]) -> None:
        """Add calls and decisions read from sessions."""
        for call in calls:
            self.calls.append(call)
            self.sessions.add(call.session)
        for each in decisions:
            if isinstance(each, Unreadable):
                self.unreadable.append(each)
            else:
                self.decisions.add(each)
                self.sessions.add(each.session)


def read_usage(
    locations: Locations, scope: Scope, session_id: str, stopped: Callable[[], bool] = lambda: False
) -> Stats:
    """Return the statistics of a scope; blocks, for a long time if there are many sessions."""
    if scope != "session":
        stats = read_stats(locations, _DAYS[scope], stopped)
        names = most_expensive(totals_by(stats.calls, session_of))[:MOST_ROWS]
        stats.titles = session_titles(locations, names)
        return stats
    stats = Stats(0)
    if session_id:
        stats.add(session_calls(locations, session_id), session_decisions(locations, session_id))
    return stats


def read_stats(locations: Locations, days: int, stopped: Callable[[], bool] = lambda: False) -> Stats:
    """Return the statistics of the last `days` days including today, or of all time if it is 0.

    Blocks, for a long time if there are many sessions. `stopped` is called before each session; once it returns True,
    the remaining sessions are skipped.
    """
    stats, since = Stats(days), _start(days)
    stats.add(all_calls(locations, since, stopped), all_decisions(locations, stopped, since=since))
    return stats


def _start(days: int) -> datetime | None:
    midnight = clock.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=min(days, _MOST_DAYS) - 1) if days else None


def total_of(calls: Iterable[ModelCall]) -> Totals:
    """Return the sums of calls."""
    totals = Totals()
    for call in calls:
        totals.add(call)
    return totals


def totals_by(calls: Iterable[ModelCall], key: Callable[[ModelCall], object]) -> dict[str, Totals]:
    """Return the sums of the calls with the same key, in the order in which the keys came."""
    groups: dict[str, Totals] = {}
    for call in calls:
        groups.setdefault(str(key(call)), Totals()).add(call)
    return groups


def model_of(call: ModelCall) -> str:
    """Return the model of a call as shown; calls of sub-agents are marked, so that they form groups of their own."""
    return visible(call.model or "unknown", lines=False) + (" (sub-agents)" if call.agent else "")


def day_of(call: ModelCall) -> str:
    """Return the local date of a call."""
    return f"{call.at.astimezone():%Y-%m-%d}"


def project_of(call: ModelCall) -> str:
    """Return the directory that a call's session works in, as shown."""
    return visible_path(call.workspace)


def session_of(call: ModelCall) -> str:
    """Return the ID of a call's session, unescaped."""
    return call.session


def most_expensive(groups: Mapping[str, Totals]) -> list[str]:
    """Return the names of groups, the most expensive first."""
    return sorted(groups, key=lambda name: weight(groups[name]), reverse=True)


def weight(totals: Totals) -> tuple[float, int]:
    """Return the key by which groups are sorted: their cost, or their tokens if nothing has a price."""
    return totals.cost, totals.input + totals.output


def as_json(stats: Stats) -> dict[str, Any]:
    """Return the statistics as JSON data; times are in seconds, costs in US dollars, null if no price is known."""
    decisions, since = stats.decisions, _start(stats.days)
    groups = {"by_day": day_of, "by_model": model_of, "by_project": project_of}
    return {
        "since": since.isoformat() if since is not None else None,
        "sessions": len(stats.sessions),
        "total": _numbers(total_of(stats.calls)),
        **{
            name: {key: _numbers(totals) for key, totals in totals_by(stats.calls, of).items()}
            for name, of in groups.items()
        },
        "decisions": [
            {
                "risk": risk,
                "by": DECIDERS[by],
                "allowed": decisions.allowed[risk, by],
                "denied": decisions.denied[risk, by],
            }
            for risk in RISKS
            for by in DECIDERS
            if (risk, by) in decisions.allowed or (risk, by) in decisions.denied
        ],
        "waited": {
            "questions": len(decisions.waits),
            "seconds": round(sum(decisions.waits), 3),
            "median": round(statistics.median(decisions.waits), 3) if decisions.waits else None,
        },
    }


def _numbers(totals: Totals) -> dict[str, Any]:
    numbers = asdict(totals)
    if totals.unpriced == totals.calls:
        numbers["cost"] = None
    return numbers
