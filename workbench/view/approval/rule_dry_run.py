"""The dry run of a rule on the decisions of all sessions: what it would have allowed, asked about and denied.

The risk of an action is the one that was recorded. Where the log does not record everything that influenced a decision,
an `allow` rule is assumed to change nothing, so the dry run never promises more than the rule does.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from workbench.config.locations import Locations
from workbench.rules.policy import mode_label
from workbench.rules.rule import Rule
from workbench.rules.rule_files import subject_again
from workbench.rules.rule_matching import fit_together
from workbench.session.storage.decision_log import RecordedDecision, Unreadable, all_decisions
from workbench.text import counted, visible
from workbench.view.approval.rule_preview import may_fit
from workbench.view.decisions import DecisionRow, row_of

Outcome: TypeAlias = Literal["allow", "ask", "deny"]
_OVERRULED: Final = frozenset(mode_label(mode) for mode in ("medium", "edits", "high"))
"""The modes whose questions an `allow` rule answers."""
_PAST: Final[dict[Outcome, str]] = {"allow": "ran", "ask": "asked", "deny": "denied"}
_WOULD: Final[dict[Outcome, str]] = {"allow": "would run", "ask": "would ask", "deny": "would be denied"}
_MOST_CHANGED: Final = 200
_EVERY: Final = 0.2
"""Seconds between two reports."""


@dataclass(frozen=True)
class ChangedOutcome:
    """A decision on which the rule would have had another outcome."""

    row: DecisionRow
    before: Outcome
    after: Outcome

    @property
    def is_against_you(self) -> bool:
        """Whether the rule would run what the user denied."""
        return self.after == "allow" and self.row.is_denied


@dataclass
class DryRunReport:
    """What a rule would have done to the decisions read so far."""

    rules: tuple[Rule, ...]
    """The rules, which apply together."""
    sessions: int = 0
    decisions: int = 0
    counts: Counter[tuple[Outcome, Outcome]] = field(default_factory=Counter)
    """How many matching decisions had the first outcome and would have the second."""
    against_you: int = 0
    """How many actions that the user denied would run."""
    changed: list[ChangedOutcome] = field(default_factory=list)
    """The latest decisions that would change; those against the user's answer come first."""
    is_complete: bool = False

    def after(self, outcome: Outcome) -> int:
        """Return how many actions would have this outcome."""
        return sum(count for (_, after), count in self.counts.items() if after == outcome)


def try_on_all(
    rules: Sequence[Rule], locations: Locations, on_report: Callable[[DryRunReport], None], stopped: Callable[[], bool]
) -> DryRunReport:
    """Try rules that apply together on the decisions of all sessions; `on_report` gets the report a few times a second.

    The dry run ends once `stopped` returns True.
    """
    report, last, session = DryRunReport(tuple(rules)), time.monotonic(), ""
    for decision in _readable(all_decisions(locations, stopped)):
        if stopped():
            return report
        report.sessions += decision.session != session
        session = decision.session
        _add(report, decision)
        if time.monotonic() - last >= _EVERY:
            on_report(report)
            last = time.monotonic()
    # the list of decisions ends early once `stopped` returns True
    report.is_complete = not stopped()
    return report


def _readable(decisions: Iterator[RecordedDecision | Unreadable]) -> Iterator[RecordedDecision]:
    return (each for each in decisions if isinstance(each, RecordedDecision) and each.tool)


def _add(report: DryRunReport, decision: RecordedDecision) -> None:
    report.decisions += 1
    rules = report.rules
    is_near = any(may_fit(rule, decision.tool, decision.arguments) for rule in rules)
    if not (is_near and _fits(rules, decision)):
        return
    before = before_of(decision)
    after = outcome_with(rules[0], decision)
    report.counts[before, after] += 1
    if before == after:
        return
    changed = ChangedOutcome(row_of(decision), before, after)
    report.against_you += changed.is_against_you
    if len(report.changed) < _MOST_CHANGED:
        at = next((at for at, each in enumerate(report.changed) if not each.is_against_you), len(report.changed))
        report.changed.insert(at if changed.is_against_you else len(report.changed), changed)


def _fits(rules: Sequence[Rule], decision: RecordedDecision) -> bool:
    subject = subject_again(decision.tool, decision.arguments, decision.workspace, decision.working_dir)
    return fit_together(rules, subject)


def before_of(decision: RecordedDecision) -> Outcome:
    """Return what happened at the time: the action ran, the user was asked, or it was denied without a question."""
    if decision.by == "person":
        return "ask"
    return "deny" if decision.verdict == "rejected" else "allow"


def outcome_with(rule: Rule, decision: RecordedDecision) -> Outcome:
    """Return what would have happened to an action that the rule matches."""
    before = before_of(decision)
    # Of several rules that fit, `deny` goes before `ask`, and `ask` before `allow`; plan mode denies too.
    if rule.verdict == "deny" or before == "deny":
        return "deny"
    if rule.verdict == "ask":
        return "ask"
    is_answered = decision.asked_by in _OVERRULED and decision.risk != "HIGH"
    return "allow" if before == "allow" or is_answered else "ask"


def report_lines(report: DryRunReport, most: int = 4) -> list[str]:
    """Return the report as lines that are safe to show, with at most this many of the decisions that would change."""
    reach = f"{counted(report.sessions, 'session')}, {counted(report.decisions, 'decision')}"
    head = f"In all sessions ({reach}{'' if report.is_complete else ' so far …'}): "
    if not report.counts:
        return [head + ("it fits no action" if report.is_complete else "it fits none yet")]
    lines = [head + " · ".join(_count_line(report, outcome) for outcome in _WOULD if report.after(outcome))]
    if report.against_you:
        lines.append(f"! {report.against_you:,} of these would run although you rejected them")
    lines += [_changed_line(each) for each in report.changed[:most]]
    more = sum(count for (before, after), count in report.counts.items() if before != after) - most
    return [*lines, *([f"  and {more:,} more that would change"] if more > 0 else [])]


def _count_line(report: DryRunReport, after: Outcome) -> str:
    """Return how many actions would have this outcome, and how many of them had another one."""
    count = report.after(after)
    then = [
        f"{changed:,} {_PAST[before]} then"
        for before in _PAST
        if before != after and (changed := report.counts[before, after])
    ]
    return f"{count:,} {_WOULD[after]}" + (f" ({', '.join(then)})" if then else "")


def _changed_line(changed: ChangedOutcome) -> str:
    one = changed.row
    mark = "!" if changed.is_against_you else " "
    then = "rejected by you" if changed.is_against_you else f"{_PAST[changed.before]} then"
    return visible(f"{mark} {one.risk:<9} {one.headline} · {then}, {_WOULD[changed.after]}", lines=False)
