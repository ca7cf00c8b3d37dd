"""Rows of the sessions list as pieces fitted to a width; pure, called by the Sessions screen alone.

Columns give way as the width shrinks: first the folder, then what it cost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from workbench.text import counted, first_line, visible
from workbench.tui.wording.pieces import Line, Piece, clip, pad

if TYPE_CHECKING:
    from workbench.session.storage.catalog import SessionSummary
    from workbench.session.storage.shelf import Found

_STATES: Final = {"finished": "ok", "error": "failed", "stuck": "waiting", "limit": "waiting"}
_WITH_FOLDER, _WITH_COST = 92, 66
_TITLE_OF_FOUND = 30


@dataclass(frozen=True)
class SessionRow:
    """A session of the list, or a place in it where searched words stand."""

    entry: SessionSummary
    is_current: bool = False
    is_busy: bool = False
    """Another process works in it."""
    found: Found | None = None
    words: tuple[str, ...] = ()


def session_row(row: SessionRow, width: int, now: datetime) -> Line:
    """One row, exactly `width` cells."""
    mark = Piece("● ", "accent") if row.is_current else Piece("↳ " if row.entry.parent else "  ", "dim")
    if row.found is not None:
        return [mark, *_found(row, width - 2)]
    tail = _tail(row, width, now)
    room = width - 2 - sum(len(piece.text) for piece in tail)
    style = "failed" if row.entry.damaged else "bold" if row.is_current else ""
    return [mark, Piece(pad(title(row.entry), room), style), *tail]


def title(entry: SessionSummary) -> str:
    """What a session is called, on one line, safe to show."""
    if entry.damaged:
        return f"damaged: {first_line(entry.damaged, 200)}"
    said = f"sub-agent of {entry.parent}" if entry.parent and not entry.title else entry.title
    return first_line(said, 300) or "nothing was said yet"


def when(at: datetime, now: datetime) -> str:
    """The time of today, else the day."""
    local, today = at.astimezone(), now.astimezone()
    if local.date() == today.date():
        return f"{local:%H:%M}"
    return f"{local:%d %b}" if local.year == today.year else f"{local:%Y-%m-%d}"


def _tail(row: SessionRow, width: int, now: datetime) -> Line:
    entry = row.entry
    word = "damaged" if entry.damaged else entry.ended or "open"
    state, style = ("in use", "running") if row.is_busy else (word, _STATES.get(word, "dim"))
    tail = [Piece("  ")]
    if width >= _WITH_FOLDER:
        folder = visible(PurePath(entry.workspace).name, lines=False)
        tail += [Piece(pad(folder, 16), "tool"), Piece("  ")]
    if width >= _WITH_COST:
        cost = "" if entry.damaged else "price ?" if entry.cost is None else f"${entry.cost:.2f}"
        steps = counted(entry.steps, "step") if not entry.damaged else ""
        tail += [Piece(pad(steps, 11, right=True), "dim"), Piece(pad(cost, 9, right=True), "dim"), Piece("  ")]
    style = "failed" if entry.damaged else style
    return [*tail, Piece(pad(state, 11), style), Piece(pad(when(entry.updated, now), 10, right=True), "dim")]


def _found(row: SessionRow, width: int) -> Line:
    assert row.found is not None
    head = pad(title(row.entry), min(_TITLE_OF_FOUND, width // 3))
    text = clip(row.found.snippet, max(0, width - len(head) - 2))
    wanted = "|".join(rf"\b{re.escape(word)}" for word in row.words)
    parts = re.split(f"({wanted})", text, flags=re.IGNORECASE) if wanted else [text]
    pieces = [Piece(part, "heading" if number % 2 else "") for number, part in enumerate(parts) if part]
    return [Piece(head, "dim"), Piece("  "), *pieces]
