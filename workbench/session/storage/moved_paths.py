"""Changes the paths in events that a fork shares, if they happened in another directory than the fork's."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from workbench.protocol.events import DelegateStep, Event
from workbench.protocol.file_deltas import map_deltas
from workbench.session.storage.shared_history import is_sharing

_MOVES: Final = """
SELECT first, last, workspace, json_extract(json, '$.workspace') FROM main.shared, main.events
WHERE seq = 1 AND workspace <> json_extract(json, '$.workspace') ORDER BY first"""


class Relocation(NamedTuple):
    """Events `first` to `last` happened in the directory `before`; the session now works in `now`."""

    first: int
    last: int
    before: str
    now: str


def moves_of(db: sqlite3.Connection) -> list[Relocation]:
    """Return the relocations in a session file. Raises sqlite3.Error."""
    return [Relocation(*row) for row in db.execute(_MOVES)] if is_sharing(db) else []


def moved(event: Event, moves: Sequence[Relocation]) -> Event:
    """Return the event with the paths of its file changes moved to the session's own directory."""
    for move in moves:
        if move.first <= event.seq <= move.last:
            return _moved(event, move)
    return event


def _moved(event: Event, move: Relocation) -> Event:
    if isinstance(event, DelegateStep):
        return replace(event, event=_moved(event.event, move))
    return map_deltas(event, lambda file: replace(file, path=_path(file.path, move)))


def _path(path: str, move: Relocation) -> str:
    return f"{move.now}{path[len(move.before) :]}" if path.startswith(f"{move.before}/") else path
