"""Statistics over sessions: what they cost by day, model and project, who decided, and how long they waited for you."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from workbench.config.locations import Locations
from workbench.session.storage.decision_log import RecordedDecision, Unreadable, all_decisions
from workbench.session.storage.usage_log import ModelCall, all_calls
from workbench.text import counted, visible_path
from workbench.view import clock
from workbench.view.formatting.approval import RISK_ICONS
from workbench.view.formatting.timeline_rows import RISK_STYLES
from workbench.view.usage import (
    Totals,
    cut,
    day_of,
    minutes,
    model_of,
    summary_lines,
    total_of,
    totals_by,
    totals_table,
)
from workbench.view.wrapping import Line, Piece, pad

_RISKS: Final = ("HIGH", "MEDIUM", "UNKNOWN", "LOW")
_DECIDERS: Final = {"person": "you", "rule": "rules", "mode": "modes"}
_MOST_DAYS: Final = 36_500
_RISK_WIDTH: Final = 12
_COUNT_WIDTH: Final = 20


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
    """The calls and decisions of all sessions since midnight of the first of some days; 0 days are all."""

    days: int
    calls: list[ModelCall] = field(default_factory=list)
    decisions: DecisionCounts = field(default_factory=DecisionCounts)
    sessions: set[str] = field(default_factory=set)
    unreadable: list[Unreadable] = field(default_factory=list)


def read_stats(locations: Locations, days: int) -> Stats:
    """Read all sessions of the last days up to today; 0 for all. Blocks for long if there are many."""
    stats, since = Stats(days), _start(days)
    for call in all_calls(locations, since):
        stats.calls.append(call)
        stats.sessions.add(call.session)
    for each in all_decisions(locations, since=since):
        if isinstance(each, Unreadable):
            stats.unreadable.append(each)
        else:
            stats.decisions.add(each)
            stats.sessions.add(each.session)
    return stats


def _start(days: int) -> datetime | None:
    midnight = clock.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=min(days, _MOST_DAYS) - 1) if days else None


def stats_lines(stats: Stats, width: int) -> list[Line]:
    """Return the statistics as lines, cut to a width."""
    return [cut(line, width) for line in _lines(stats, width)]


def _lines(stats: Stats, width: int) -> Iterator[Line]:
    span = f"Last {counted(stats.days, 'day')}" if stats.days else "All sessions"
    yield [Piece(span, "bold"), Piece(f" · {counted(len(stats.sessions), 'session')}", "dim")]
    if not stats.sessions:
        return
    yield from summary_lines(total_of(stats.calls), width, [])
    days, calls = totals_by(stats.calls, day_of), stats.calls
    if calls:
        yield []
        yield from totals_table("By day", {day: days[day] for day in sorted(days)}, width, in_order=True)
        yield []
        yield from totals_table("By model", totals_by(calls, model_of), width)
        yield []
        yield from totals_table("By project", totals_by(calls, project_of), width)
    yield from decision_lines(stats.decisions)


def decision_lines(decisions: DecisionCounts) -> Iterator[Line]:
    """Yield a table of who decided by risk, and how long questions waited; nothing without decisions."""
    cells = {*decisions.allowed, *decisions.denied}
    if not cells:
        return
    deciders = [by for by in _DECIDERS if any(each[1] == by for each in cells)]
    yield []
    heads = "".join(pad(_DECIDERS[by], _COUNT_WIDTH) for by in deciders)
    yield [Piece(pad("Decided by", _RISK_WIDTH + 2), "bold"), Piece(heads.rstrip(), "dim")]
    for risk in _RISKS:
        if any(each[0] == risk for each in cells):
            counts = "".join(pad(_counts(decisions, risk, by), _COUNT_WIDTH) for by in deciders)
            sign = Piece(f"  {pad(f'{RISK_ICONS[risk]} {risk}', _RISK_WIDTH)}", RISK_STYLES.get(risk, "dim"))
            yield [sign, Piece(counts.rstrip())]
    if waits := decisions.waits:
        times = (
            f"{minutes(sum(waits))} in {counted(len(waits), 'question')}, median {minutes(statistics.median(waits))}"
        )
        yield [Piece("  "), Piece(f"Waited for you: {times}", "dim")]


def _counts(decisions: DecisionCounts, risk: str, by: str) -> str:
    allowed, denied = decisions.allowed[risk, by], decisions.denied[risk, by]
    return f"{allowed:,}" + (f" ({denied:,} denied)" if denied else "") if allowed or denied else "–"


def project_of(call: ModelCall) -> str:
    """Return the directory that a call's session works in, as shown."""
    return visible_path(call.workspace)


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
                "by": _DECIDERS[by],
                "allowed": decisions.allowed[risk, by],
                "denied": decisions.denied[risk, by],
            }
            for risk in _RISKS
            for by in _DECIDERS
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
