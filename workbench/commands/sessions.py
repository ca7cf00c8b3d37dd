"""`ohw sessions`: the list of sessions as text."""

from __future__ import annotations

import sys
from argparse import Namespace

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from workbench.commands.given import say, settings_of
from workbench.session.storage.catalog import SessionSummary, list_sessions
from workbench.text import first_line, visible

_COLUMNS = ("id", "last used", "state", "cost", "events", "folder", "title")
_NEEDED = ("id", "title", "state", "last used", "folder", "cost", "events")
"""Columns of the list of sessions, the one that is most needed first."""
_SHARES = {"folder": 2, "title": 3}
"""Columns that take what the others leave; those are never cut, as an id is there to be copied."""
_LEAST = 14
_BETWEEN = 3


def sessions(arguments: Namespace) -> int:
    """All sessions, the one used last first."""
    where, _ = settings_of(arguments)
    found = list_sessions(where)
    if found:
        _print(found)
    else:
        say("No sessions yet. `ohw PROMPT` starts one.")
    return 0


def _print(found: list[SessionSummary]) -> None:
    """As a table: on a terminal the columns that fit, elsewhere all of them."""
    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else 200, highlight=False, markup=False, soft_wrap=not is_terminal)
    rows = [dict(zip(_COLUMNS, (visible(cell, lines=False) for cell in _cells(entry)), strict=True)) for entry in found]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, expand=True)
    shown = _columns_in(console.width, rows)
    for name in shown:
        table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=_SHARES.get(name))
    for row in rows:
        table.add_row(*(Text(row[name]) for name in shown))
    console.print(table)


def _columns_in(width: int, rows: list[dict[str, str]]) -> list[str]:
    """The most needed columns that fit, in the order of the list; the id always."""
    fit: set[str] = set()
    for name in _NEEDED:
        longest = max(len(name), *(len(row[name]) for row in rows))
        width -= _BETWEEN + (_LEAST if name in _SHARES else longest)
        if fit and width < 0:
            break
        fit.add(name)
    return [name for name in _COLUMNS if name in fit]


def _cells(entry: SessionSummary) -> tuple[str, ...]:
    used = entry.updated.astimezone().strftime("%Y-%m-%d %H:%M")
    if entry.damaged:
        return (entry.id, used, "damaged", "", "", "", first_line(entry.damaged))
    cost = "?" if entry.cost is None else f"${entry.cost:.2f}"
    title = f"sub-agent of {entry.parent}" if entry.parent else entry.title
    state = entry.ended or ("waits for you" if entry.waiting else "open")
    return (entry.id, used, state, cost, str(entry.events), entry.workspace, title)
