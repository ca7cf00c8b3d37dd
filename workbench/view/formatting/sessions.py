"""Rows of the sessions list as pieces fitted to a width; used only by the sessions screen.

The sessions are grouped by directory, and the first one of a day names the day. As the width shrinks, the number of
actions is dropped first; then the date takes the place of the time, and the changed lines get closer; then those and
the cost are dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from workbench.text import counted, first_line, visible, visible_path
from workbench.view.formatting.timeline_rows import from_home
from workbench.view.wrapping import Line, Piece, clip, pad

if TYPE_CHECKING:
    from workbench.session.storage.session_list import SearchMatch, SessionSummary

_ENDS: Final = {"finished": ("done", "ok"), "error": ("failed", "failed"), "stuck": ("failed", "failed")}
_WITH_ACTIONS, _WITH_DAY, _WITH_LINES, _WITH_COST = 100, 90, 70, 66
_DAY = 11
_DEEPEST: Final = 3
"""The deepest indentation of forks of forks, in steps."""


@dataclass(frozen=True)
class SessionRow:
    """A session in the list, or a search match in it."""

    entry: SessionSummary
    is_current: bool = False
    is_busy: bool = False
    """Whether another process is using it."""
    match: SearchMatch | None = None
    words: tuple[str, ...] = ()
    branch: str = ""
    """The branch that its directory is on now."""
    added: int = 0
    removed: int = 0
    """Lines that the session added to files and removed from them, from its start to now."""
    depth: int = 0
    """How many of its ancestors, the sessions that it and they were forked from, are listed above it."""
    group: str = ""
    """The directory under which it is listed, if that is not its own."""

    @property
    def directory(self) -> str:
        """The directory under which it is listed."""
        return self.group or self.entry.workspace


def directory_heading(row: SessionRow) -> Line:
    """Return the heading above the sessions of a directory: its name and its branch."""
    if row.entry.damaged:
        return [Piece("Damaged", "failed")]
    where = visible_path(from_home(Path(row.directory)))
    return [Piece(where, "heading"), Piece(f"  {row.branch}" if row.branch else "", "dim")]


def day(at: datetime, now: datetime) -> str:
    """Return `today`, `yesterday` or the date, in local time."""
    date, today = at.astimezone().date(), now.astimezone().date()
    names = {0: "today", 1: "yesterday"}
    return names.get((today - date).days) or (f"{date:%d %b}" if date.year == today.year else f"{date:%Y-%m-%d}")


def session_row(row: SessionRow, width: int, now: datetime, *, is_twin: bool = False, is_first: bool = True) -> Line:
    """Return one row of exactly `width` cells.

    `is_twin` means that another session has the same title, so that the end of the id is added; `is_first` means that
    the row is the first one of its day.
    """
    indent = "  " * min(row.depth - 1, _DEEPEST) if row.depth else ""
    sign = "● " if row.is_current else "↳ " if row.entry.parent or row.depth else "  "
    mark = Piece(f"{indent}{sign}", "accent" if row.is_current else "dim")
    if row.match is not None:
        return [mark, *_match_row(row, width - len(mark.text))]
    tail = _tail(row, width, now)
    date = pad(day(row.entry.updated, now) if is_first else "", _DAY) if width >= _WITH_DAY else ""
    available = width - len(mark.text) - len(date) - sum(len(piece.text) for piece in tail)
    style = "failed" if row.entry.damaged else "bold" if row.is_current else ""
    apart = f" · {row.entry.id.rpartition('-')[2]}" if is_twin else ""
    apart += f" · {visible_path(Path(row.entry.workspace).name)}" if row.directory != row.entry.workspace else ""
    called = clip(title(row.entry), available - cell_len(apart))
    rest = pad(apart, available - cell_len(called))
    return [Piece(date, "dim"), mark, Piece(called, style), Piece(rest, "dim"), *tail]


def details(row: SessionRow) -> str:
    """Return two lines about a session: its id, start, directory, model and first message; and its last answer."""
    entry = row.entry
    if entry.damaged:
        return f"{entry.id} · {first_line(entry.damaged, 200)}"
    where = visible(entry.origin, lines=False) or visible_path(from_home(Path(entry.workspace)))
    parts = [entry.id, f"started {entry.started.astimezone():%Y-%m-%d %H:%M}", where, visible(entry.model, lines=False)]
    parts += [f"forked from {entry.forked_from} at event {entry.forked_at}"] if entry.forked_from else []
    parts += [f"first message: {first_line(entry.first_text, 300)}"] if entry.first_text else []
    return " · ".join(parts) + (f"\nlast answer: {visible(entry.answer, lines=False)}" if entry.answer else "")


def title(entry: SessionSummary) -> str:
    """Return the name of a session, on one line, safe to show."""
    if entry.damaged:
        return first_line(entry.damaged, 200)
    return first_line(entry.title or entry.role, 300) or "no messages yet"


def when(at: datetime, now: datetime) -> str:
    """Return the time of day if it is today, else the date, in local time."""
    local, today = at.astimezone(), now.astimezone()
    if local.date() == today.date():
        return f"{local:%H:%M}"
    return f"{local:%d %b}" if local.year == today.year else f"{local:%Y-%m-%d}"


def _tail(row: SessionRow, width: int, now: datetime) -> Line:
    entry = row.entry
    state, style = session_state(entry, is_busy=row.is_busy or row.is_current)
    tail = [Piece("  ")]
    if width >= _WITH_ACTIONS and not entry.damaged:
        tail += [Piece(pad(counted(entry.actions, "action"), 13, right=True), "dim")]
    if width >= _WITH_LINES:
        tail += _changed_lines(row, is_close=width < _WITH_DAY)
    if width >= _WITH_COST:
        cost = "" if entry.damaged else "unknown" if entry.cost is None else f"${entry.cost:.2f}"
        tail += [Piece(pad(cost, 9, right=True), "dim"), Piece("  ")]
    time = f"{entry.updated.astimezone():%H:%M}" if width >= _WITH_DAY else when(entry.updated, now)
    return [*tail, Piece(pad(state, 9), style), Piece(pad(time, 7 if width >= _WITH_DAY else 12, right=True), "dim")]


def _changed_lines(row: SessionRow, *, is_close: bool) -> Line:
    """Return the counts of lines like `+412 −38`, in two aligned columns; nothing is shown for none.

    If `is_close`, the columns are narrow, and thousands are shown as `k`.
    """
    show, widths = (_short_count, (5, 6)) if is_close else (str, (8, 7))
    added, removed = f"+{show(row.added)}" if row.added else "", f"−{show(row.removed)}" if row.removed else ""
    return [Piece(pad(added, widths[0], right=True), "added"), Piece(pad(removed, widths[1], right=True), "removed")]


def _short_count(count: int) -> str:
    """Return a count in at most four characters, such as `412`, `1.2k`, `38k` or `2M`."""
    if count < 1_000:
        return str(count)
    if count < 9_950:
        return f"{count / 1_000:.1f}k"
    return f"{count / 1_000:.0f}k" if count < 999_500 else f"{min(999, round(count / 1_000_000))}M"


def session_state(entry: SessionSummary, *, is_busy: bool) -> tuple[str, str]:
    """Return the word for a session's state and its style: needs you, running, idle, done, failed or damaged.

    `is_busy` means that a process has the session open; only then is a run that has not ended still running.
    """
    if entry.damaged:
        return "damaged", "failed"
    if entry.waiting or entry.ended == "limit":
        return "needs you", "waiting"
    if entry.is_running and is_busy:
        return "running", "running"
    return _ENDS.get(entry.ended, ("idle", "dim"))


def _match_row(row: SessionRow, width: int) -> Line:
    assert row.match is not None
    head = pad(title(row.entry), width // 3)
    text = clip(row.match.snippet, max(0, width - len(head) - 2))
    pattern = "|".join(rf"\b{re.escape(word)}" for word in row.words)
    parts = re.split(f"({pattern})", text, flags=re.IGNORECASE) if pattern else [text]
    pieces = [Piece(part, "heading" if number % 2 else "") for number, part in enumerate(parts) if part]
    return [Piece(head, "dim"), Piece("  "), *pieces]
