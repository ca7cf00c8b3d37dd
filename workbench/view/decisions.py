"""The decisions on actions as rows: filtered, described and exported; for `ohw decisions` and the Decisions screen."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any, Final, TypeAlias

import msgspec

from workbench.errors import UsageError
from workbench.files.csv_lines import csv_line
from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.presentation import Presentation
from workbench.secrets.masker import SecretMasker
from workbench.session.storage.decision_log import RecordedDecision, Unreadable
from workbench.text import first_line, visible
from workbench.tools.ask_human.question import who_asks
from workbench.tools.manifest import presentation_of
from workbench.view import clock
from workbench.view.formatting.actions import headline, icon
from workbench.view.formatting.approval import risk_badge

_BY: Final = {"person": "you", "rule": "rule", "mode": "mode"}
_SEARCHED: Final = 2_000
"""The most characters of a row that the filter searches."""
HELP: Final = "words, denied, rejected, edited, by:you, risk:high, tool:bash, rule:pytest, in:shop, since:2026-11-30"
FORMATS: Final = ("json", "csv", "md")


@dataclass(frozen=True)
class DecisionRow:
    """A decision with the texts that are shown of it, safe to show, and the text that a filter searches."""

    decision: RecordedDecision
    headline: str
    words: str

    @property
    def is_denied(self) -> bool:
        """Whether the action was not allowed to run."""
        return self.decision.verdict == "rejected"

    @property
    def verdict(self) -> str:
        """The decision in a few words."""
        if self.is_denied:
            return "rejected" if self.decision.by == "person" else "denied"
        if self.decision.is_partial:
            return "allowed in part"
        return "edited and allowed" if self.decision.verdict == "edited" else "allowed"

    @property
    def risk(self) -> str:
        """The sign and the word of the risk."""
        return risk_badge(self.decision.risk)

    @property
    def who(self) -> str:
        """Who or what decided: you, a rule or the mode."""
        return _BY.get(self.decision.by, first_line(self.decision.by, 20))

    @property
    def why(self) -> str:
        """The rule or mode that decided; for a user's answer, what asked and the rule that it saved. Safe to show."""
        one = self.decision
        if one.by != "person":
            return visible(one.rule, lines=False)
        saved = f"; saved {one.rule}" if one.rule else ""
        return visible(f"asked by {one.asked_by}{saved}" if one.asked_by else saved.removeprefix("; "), lines=False)

    @property
    def directory(self) -> str:
        """The name of the session's directory, safe to show."""
        return visible(PurePath(self.decision.workspace).name, lines=False)


def row_of(decision: RecordedDecision) -> DecisionRow:
    """Return the row of a decision."""
    recorded = _presentation(decision)
    sign = icon(presentation_of(decision.tool, decision.arguments, recorded))
    line = f"{sign} {headline(decision.tool, decision.arguments, recorded, decision.workspace)}"
    strings = (line, decision.summary, decision.note, decision.rule, decision.asked_by, decision.agent)
    return DecisionRow(decision, line, "\n".join(strings)[:_SEARCHED].casefold())


def _presentation(decision: RecordedDecision) -> Presentation | None:
    try:
        return msgspec.convert(decision.presentation, Presentation) if decision.presentation else None
    except msgspec.ValidationError:
        return None


Test: TypeAlias = Callable[[DecisionRow], bool]
_VERDICTS: Final[dict[str, Test]] = {
    "allowed": lambda row: not row.is_denied,
    "denied": lambda row: row.is_denied,
    "rejected": lambda row: row.is_denied and row.decision.by == "person",
    "edited": lambda row: row.decision.verdict == "edited" or row.decision.is_partial,
}
_FIELDS: Final[dict[str, Callable[[DecisionRow, str], bool]]] = {
    "by": lambda row, value: row.decision.by.startswith(value) or row.who.startswith(value),
    "risk": lambda row, value: row.decision.risk.casefold().startswith(value),
    "verdict": lambda row, value: any(name.startswith(value) and test(row) for name, test in _VERDICTS.items()),
    "tool": lambda row, value: value in row.decision.tool.casefold(),
    "rule": lambda row, value: value in f"{row.decision.rule}\n{row.decision.asked_by}".casefold(),
    "in": lambda row, value: value in row.decision.workspace.casefold(),
    "session": lambda row, value: row.decision.session.casefold().startswith(value),
    "agent": lambda row, value: value in row.decision.agent.casefold(),
    "since": lambda row, value: _minute(row.decision.at) >= value,
    "until": lambda row, value: _minute(row.decision.at)[: len(value)] <= value,
}
_CHOICES: Final = {
    "by": ("you", "rule", "mode", "person"),
    "risk": ("low", "medium", "high", "unknown"),
    "verdict": tuple(_VERDICTS),
}
_MOMENTS: Final = ("since", "until")
_WORD: Final = lazy_pattern(r'(?:[^\s"]|"[^"]*(?:"|$))+')
"""A word of a filter; between double quotes it may hold spaces."""
_DATE: Final = lazy_pattern(r"(\d{4})(?:[-/](\d\d?)(?:[-/](\d\d?)(?:[ t](\d\d?)(?::(\d\d?))?)?)?)?[-/:]?")
_AGO: Final = lazy_pattern(r"(\d{1,6})([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class DecisionFilter:
    """A filter whose words must all match; without words it matches every decision.

    `problem` says why the first invalid term can match nothing; empty if there is none.
    """

    def __init__(self, text: str = "", terms: Iterable[tuple[str, str]] = ()) -> None:
        """`terms` are fields with their values, which may hold spaces, such as ("rule", "allow $ ls")."""
        self.text = " ".join(text.split())
        self.problem = ""
        words = _WORD.findall(self.text.casefold())
        self._tests = [*map(self._test, words), *(self._field(name, value.casefold()) for name, value in terms)]

    def fits(self, row: DecisionRow) -> bool:
        """Return whether the row is shown."""
        return all(test(row) for test in self._tests)

    def _test(self, word: str) -> Test:
        name, colon, value = word.partition(":")
        if colon and name in _FIELDS:
            return self._field(name, value.replace('"', ""))
        plain = word.replace('"', "")
        return _VERDICTS.get(word) or (lambda row: plain in row.words)

    def _field(self, name: str, value: str) -> Test:
        fits, operand = _FIELDS[name], value
        choices = _CHOICES.get(name)
        if choices and not any(choice.startswith(value) for choice in choices):
            self.problem = self.problem or f"{name} is {', '.join(choices[:-1])} or {choices[-1]}, not {value!r}"
        if name in _MOMENTS and value:
            operand = _moment(value) or ""
            if not operand:
                form = "a date (2026-11-30, 2026-11-30T18:00, yesterday, 12h)"
                self.problem = self.problem or f"{name} needs {form}, not {value!r}"
                return lambda _: False
        return lambda row: fits(row, operand)


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def _moment(value: str) -> str | None:
    """Return a date that is written in one of several ways as `YYYY-MM-DD HH:MM`, or its beginning; None if unclear."""
    if value in ("today", "yesterday"):
        return _minute(clock.now() - timedelta(days=value == "yesterday"))[:10]
    try:
        if ago := _AGO.fullmatch(value):
            return _minute(clock.now() - timedelta(**{_UNITS[ago[2]]: int(ago[1])}))
        if date := _DATE.fullmatch(value):
            return "".join(f"{mark}{part:>02}" for mark, part in zip(("", *"-- :"), date.groups(), strict=True) if part)
        return _minute(datetime.fromisoformat(value.upper()))
    except (ValueError, OverflowError):
        return None


def details_of(row: DecisionRow) -> str:
    """Return one line about a decision: the action, who decided and why, its risk with the reasons, and where; safe to
    show.
    """
    one = row.decision
    why = f": {row.why}" if row.why else ""
    parts = [
        f"{row.verdict} by {row.who}{why}",
        f"{row.risk} (agent: {one.model_risk})",
        first_line("; ".join(one.reasons), 200),
        f"note: {first_line(one.note, 200)}" if one.note else "",
        f"by {who_asks(first_line(one.agent, 60))}" if one.agent else "",
        f"{one.session} #{one.seq}",
    ]
    return visible(" · ".join(part for part in parts if part), lines=False)


def exported(rows: Iterable[DecisionRow], form: str) -> Iterator[str]:
    """Yield the lines of an export as JSON lines, CSV or Markdown; secrets in the environment are masked.

    Raises UsageError if there is no such format.
    """
    secrets = SecretMasker()
    secrets.add_all(os.environ)
    writers = {"json": _json_lines, "csv": _csv_lines, "md": _markdown_lines}
    if form not in writers:
        raise UsageError(f"a list of decisions is written as {', '.join(FORMATS)}, not {form!r}")
    return writers[form](secrets.masked_data(_fields_of(row)) for row in rows)


def _fields_of(row: DecisionRow) -> dict[str, Any]:
    one = row.decision
    return {
        "at": one.at.isoformat(),
        "session": one.session,
        "directory": one.workspace,
        "event": one.seq,
        "action": one.action_id,
        "agent": one.agent,
        "tool": one.tool,
        "call": row.headline,
        "arguments": one.arguments,
        "risk": one.risk,
        "model_risk": one.model_risk,
        "reasons": list(one.reasons),
        "verdict": row.verdict,
        "by": row.who,
        "rule": one.rule,
        "asked_by": one.asked_by,
        "note": one.note,
    }


_COLUMNS: Final = (
    *("at", "session", "directory", "event", "agent", "tool", "call", "risk", "model_risk"),
    *("verdict", "by", "rule", "asked_by", "note"),
)


def _json_lines(entries: Iterable[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        yield json.dumps(entry)


def _csv_lines(entries: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield ",".join(_COLUMNS)
    yield from (csv_line(entry[name] for name in _COLUMNS) for entry in entries)


def _markdown_lines(entries: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield "| time (UTC) | session | call | risk | decision | by | rule or mode |"
    yield "|---|---|---|---|---|---|---|"
    for entry in entries:
        rule = entry["rule"] if entry["by"] != "you" else entry["asked_by"]
        cells: Sequence[str] = (
            f"{entry['at'][:19].replace('T', ' ')}",
            f"{entry['session']} #{entry['event']}",
            f"`{str(entry['call']).replace('`', chr(39))}`",
            entry["risk"],
            entry["verdict"],
            entry["by"],
            rule,
        )
        yield f"| {' | '.join(_plain(cell) for cell in cells)} |"


def _plain(text: str) -> str:
    """Return the text of a table's cell, without links and HTML."""
    text = visible(text, lines=False).replace("\\", "\\\\").replace("|", "\\|")
    return text if text.startswith("`") else text.replace("<", "&lt;").replace("[", "\\[")


def rows_of(decisions: Iterable[RecordedDecision | Unreadable], problems: list[str]) -> Iterator[DecisionRow]:
    """Yield the rows; a session that cannot be read is appended to `problems`, as a line that is safe to show."""
    for each in decisions:
        if isinstance(each, Unreadable):
            problems.append(visible(f"{each.session}: {each.reason}", lines=False))
        else:
            yield row_of(each)
