"""Rows of the list of decisions as pieces fitted to a width, and as text for the terminal.

Columns are dropped as the width shrinks: first the rule or mode, then the directory, then who decided.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from workbench.view.formatting.sessions import when
from workbench.view.formatting.timeline_rows import RISK_STYLES
from workbench.view.wrapping import Line, Piece, clip, pad

if TYPE_CHECKING:
    from workbench.view.decisions import DecisionRow

_WITH_WHY, _WITH_DIRECTORY, _WITH_WHO, _WITH_TIME = 100, 84, 60, 44
_WHY_WIDTH: Final = 30


def decision_row(row: DecisionRow, width: int, now: datetime, *, with_directory: bool) -> Line:
    """Return one row of exactly `width` cells."""
    head = [Piece(pad(when(row.decision.at, now), 6, right=True), "dim"), Piece(" ")] if width >= _WITH_TIME else []
    head += [_sign(row), Piece(" ")]
    if width >= _WITH_WHO:
        head += [Piece(pad(row.who, 5), "accent" if row.who == "you" else "dim")]
    head += [Piece(pad(row.risk, 10), _risk_style(row))]
    tail: Line = []
    if with_directory and width >= _WITH_DIRECTORY:
        tail += [Piece("  "), Piece(pad(row.directory, 14), "tool")]
    if width >= _WITH_WHY:
        tail += [Piece("  "), Piece(pad(row.why, max(_WHY_WIDTH, width // 4)), "dim")]
    available = width - sum(len(piece.text) for piece in (*head, *tail))
    note = f" · {row.verdict}" if row.verdict not in ("allowed", "denied", "rejected") else ""
    call = clip(row.headline, max(0, available - len(note)))
    return [
        *head,
        Piece(call, "dim" if row.is_denied else ""),
        Piece(pad(note, available - cell_len(call)), "dim"),
        *tail,
    ]


def _risk_style(row: DecisionRow) -> str:
    """Return the style of the risk; LOW is not highlighted."""
    risk = row.decision.risk
    return "dim" if risk == "LOW" else RISK_STYLES.get(risk, "dim")


def _sign(row: DecisionRow) -> Piece:
    if row.is_denied:
        return Piece("–", "failed")
    return Piece("✎" if row.verdict != "allowed" else "✓", "ok")


def decision_text(row: DecisionRow, width: int | None, *, with_directory: bool) -> str:
    """Return one line about a decision for the terminal, cut at `width`; not cut if that is None."""
    one = row.decision
    parts = [f"{one.at.astimezone():%Y-%m-%d %H:%M}", f"{row.verdict:<15}", f"{row.who:<4}", f"{one.risk:<7}"]
    parts += [f"{row.directory:<14}"] if with_directory else []
    why = f"  ({row.why})" if row.why else ""
    line = "  ".join([*parts, row.headline]) + why
    return clip(line, width) if width else line
