"""Rows of the sessions list as pieces fitted to a width; used only by the sessions screen.

Columns are dropped as the width shrinks: first the directory, then the number of actions, then the cost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from workbench.text import counted, first_line, visible, visible_path
from workbench.view.formatting.timeline_rows import from_home
from workbench.view.wrapping import Line, Piece, clip, pad

if TYPE_CHECKING:
    from workbench.session.storage.session_list import SearchMatch, SessionSummary

_STATES: Final = {"finished": "ok", "error": "failed", "stuck": "waiting", "limit": "waiting"}
_WITH_DIRECTORY, _WITH_ACTIONS, _WITH_COST = 92, 84, 66
_MATCH_TITLE_WIDTH = 30


@dataclass(frozen=True)
class SessionRow:
    """A session in the list, or a search match in it."""

    entry: SessionSummary
    is_current: bool = False
    is_busy: bool = False
    """Whether another process is using it."""
    match: SearchMatch | None = None
    words: tuple[str, ...] = ()


def session_row(row: SessionRow, width: int, now: datetime, *, is_twin: bool = False) -> Line:
    """Return one row of exactly `width` cells; `is_twin` means that another session has the same title."""
    mark = Piece("● ", "accent") if row.is_current else Piece("↳ " if row.entry.parent else "  ", "dim")
    if row.match is not None:
        return [mark, *_match_row(row, width - 2)]
    tail = _tail(row, width, now)
    available = width - 2 - sum(len(piece.text) for piece in tail)
    style = "failed" if row.entry.damaged else "bold" if row.is_current else ""
    apart = f" · {_apart(row.entry, width)}" if is_twin else ""
    called = clip(title(row.entry), available - cell_len(apart))
    rest = pad(apart, available - cell_len(called))
    return [mark, Piece(called, style), Piece(rest, "dim"), *tail]


def _apart(entry: SessionSummary, width: int) -> str:
    """Return what distinguishes sessions with the same title: the end of the id and, in wide rows, the start time."""
    tail = entry.id.rpartition("-")[2]
    return f"{entry.started.astimezone():%d %b %H:%M} · {tail}" if width >= _WITH_DIRECTORY else tail


def details(row: SessionRow) -> str:
    """Return one line about a session: its id, when it began, its directory, its model, and its first message."""
    entry = row.entry
    if entry.damaged:
        return f"{entry.id} · damaged: {first_line(entry.damaged, 200)}"
    where = visible_path(from_home(Path(entry.workspace)))
    parts = [entry.id, f"started {entry.started.astimezone():%Y-%m-%d %H:%M}", where, visible(entry.model, lines=False)]
    return " · ".join([*parts, *([f"first message: {first_line(entry.first_text, 300)}"] if entry.first_text else [])])


def title(entry: SessionSummary) -> str:
    """Return the name of a session, on one line, safe to show."""
    if entry.damaged:
        return f"damaged: {first_line(entry.damaged, 200)}"
    return first_line(entry.title or entry.role, 300) or "no messages yet"


def when(at: datetime, now: datetime) -> str:
    """Return the time if it is today, else the date."""
    local, today = at.astimezone(), now.astimezone()
    if local.date() == today.date():
        return f"{local:%H:%M}"
    return f"{local:%d %b}" if local.year == today.year else f"{local:%Y-%m-%d}"


def _tail(row: SessionRow, width: int, now: datetime) -> Line:
    entry = row.entry
    state, style = _state(row)
    tail = [Piece("  ")]
    if width >= _WITH_DIRECTORY:
        directory = visible_path(PurePath(entry.workspace).name)
        tail += [Piece(pad(directory, 16), "tool"), Piece("  ")]
    if width >= _WITH_ACTIONS and not entry.damaged:
        tail += [Piece(pad(counted(entry.actions, "action"), 13, right=True), "dim")]
    if width >= _WITH_COST:
        cost = "" if entry.damaged else "price ?" if entry.cost is None else f"${entry.cost:.2f}"
        tail += [Piece(pad(cost, 9, right=True), "dim"), Piece("  ")]
    return [*tail, Piece(pad(state, 14), style), Piece(pad(when(entry.updated, now), 10, right=True), "dim")]


def _state(row: SessionRow) -> tuple[str, str]:
    """Return the word for a session's state and its style; a session that waits for the user is not shown as in use."""
    if row.entry.damaged:
        return "damaged", "failed"
    if row.entry.waiting:
        return "needs approval", "waiting"
    word = row.entry.ended or "open"
    return ("in use", "running") if row.is_busy else (word, _STATES.get(word, "dim"))


def _match_row(row: SessionRow, width: int) -> Line:
    assert row.match is not None
    head = pad(title(row.entry), min(_MATCH_TITLE_WIDTH, width // 3))
    text = clip(row.match.snippet, max(0, width - len(head) - 2))
    pattern = "|".join(rf"\b{re.escape(word)}" for word in row.words)
    parts = re.split(f"({pattern})", text, flags=re.IGNORECASE) if pattern else [text]
    pieces = [Piece(part, "heading" if number % 2 else "") for number, part in enumerate(parts) if part]
    return [Piece(head, "dim"), Piece("  "), *pieces]
