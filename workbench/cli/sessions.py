"""`ohw sessions` lists the sessions; `ohw sessions repair` repairs damaged ones."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING, cast

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from workbench.cli.common import print_error, print_line, settings_of, workspace_of
from workbench.config.locations import Locations
from workbench.config.modes import NEVER
from workbench.config.settings import NO_MODEL, Settings
from workbench.errors import WorkbenchError
from workbench.llm.factory import is_scripted
from workbench.session.session_names import session_path
from workbench.session.storage.lock import holder
from workbench.session.storage.session_list import SessionSummary, find_session, list_sessions
from workbench.text import first_line, visible, visible_path
from workbench.view.formatting.sessions import session_state

if TYPE_CHECKING:
    from workbench.protocol.risk import Mode
    from workbench.session.storage.repair import LostSettings, RepairResult

_COLUMNS = ("id", "last used", "state", "cost", "events", "directory", "title")
_NEEDED = ("id", "title", "state", "last used", "directory", "cost", "events")
"""The columns in order of importance: on a narrow terminal the last ones are dropped first."""
_SHARES = {"directory": 2, "title": 3}
"""The columns that share the remaining width, with their shares; the others are never cut, so that
an ID can be copied.
"""
_LEAST = 14
_BETWEEN = 3


def sessions(arguments: Namespace) -> int:
    """List all sessions, the most recent first, or repair damaged ones."""
    where, settings = settings_of(arguments)
    if arguments.action == "repair":
        return _repair(arguments, where, settings)
    summaries = list_sessions(where, check=True)
    if summaries:
        _print(summaries, where)
    else:
        print_line("No sessions yet. `ohw PROMPT` starts one.")
    return 0


def _repair(arguments: Namespace, where: Locations, settings: Settings) -> int:
    """Repair the session with the given ID, or all damaged ones; return 1 if a repair failed."""
    from workbench.session.storage.repair import LostSettings, repair

    mode = Settings().mode if settings.mode == NEVER else settings.mode
    model = settings.model or NO_MODEL
    beginning = LostSettings(workspace_of(arguments), model, cast("Mode", mode), is_scripted(model))
    if arguments.id:
        names = [find_session(where, arguments.id).id]
    else:
        names = [entry.id for entry in list_sessions(where, check=True) if entry.damaged]
    if not names:
        print_line("No session is damaged.")
    code = 0
    for name in names:
        try:
            _report(name, repair(session_path(where, name), beginning), beginning)
        except WorkbenchError as error:
            print_error(visible(str(error), lines=False))
            code = 1
    return code


def _report(name: str, repaired: RepairResult, beginning: LostSettings) -> None:
    if repaired.damaged_file is None:
        print_line(f"{name}: not damaged, unchanged")
        return
    count = f"{repaired.saved:,} event{'' if repaired.saved == 1 else 's'}"
    print_line(f"{name}: {count} saved; lost: {repaired.lost}")
    if not repaired.has_beginning:
        print_line(f"  Its start is lost: it now works in {visible_path(str(beginning.workspace))}")
    print_line(f"  The damaged file was kept as {repaired.damaged_file}")
    print_line(f"  Mode ({beginning.mode}) and rules come from your settings; pending actions were closed")
    print_line(f"  Resume with: ohw resume {name}")


def _print(summaries: list[SessionSummary], where: Locations) -> None:
    """Print a table with the columns that fit the width of the terminal, or 200 characters without a terminal."""
    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else 200, highlight=False, markup=False, soft_wrap=not is_terminal)
    rows = [
        dict(zip(_COLUMNS, (visible(cell, lines=False) for cell in _cells(entry, where)), strict=True))
        for entry in summaries
    ]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, expand=True)
    columns = _columns_in(console.width, rows)
    for name in columns:
        table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=_SHARES.get(name))
    for row in rows:
        table.add_row(*(Text(row[name]) for name in columns))
    console.print(table)


def _columns_in(width: int, rows: list[dict[str, str]]) -> list[str]:
    """Return the most important columns that fit, in display order; the ID is always included."""
    fit: set[str] = set()
    for name in _NEEDED:
        longest = max(len(name), *(len(row[name]) for row in rows))
        width -= _BETWEEN + (_LEAST if name in _SHARES else longest)
        if fit and width < 0:
            break
        fit.add(name)
    return [name for name in _COLUMNS if name in fit]


def _cells(entry: SessionSummary, where: Locations) -> tuple[str, ...]:
    used = entry.updated.astimezone().strftime("%Y-%m-%d %H:%M")
    if entry.damaged:
        return (entry.id, used, "damaged", "", "", "", first_line(entry.damaged))
    cost = "?" if entry.cost is None else f"${entry.cost:.2f}"
    title = entry.role or entry.title
    if entry.forked_from:
        title = f"{title} (fork of {entry.forked_from} at event {entry.forked_at})"
    is_busy = entry.is_running and holder(session_path(where, entry.id)) is not None
    state, _ = session_state(entry, is_busy=is_busy)
    directory = entry.origin or visible_path(entry.workspace)
    return (entry.id, used, state, cost, str(entry.events), directory, title)
