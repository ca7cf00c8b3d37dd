"""What is done with sessions that are not open: search in all of them, give one a title, delete one."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.protocol.events import SettingsChanged
from workbench.session.names import session_path, state_folder
from workbench.session.storage.catalog import recent_paths
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.store import Store, delete_file
from workbench.session.storage.words import text_of, words_of
from workbench.text import visible

_AROUND = 40
"""Characters before a word that was found."""
_LONGEST = 240


@dataclass(frozen=True)
class Found:
    """An event that holds all words: `snippet` is one line around the first of them, safe to show."""

    session: str
    seq: int
    kind: str
    snippet: str


def search_all(
    locations: Locations, text: str, stopped: Callable[[], bool] = lambda: False, most: int = 3
) -> Iterator[Found]:
    """The newest events of each session that hold all words, at most `most` of one; the last used session first.

    Files that cannot be read are passed over. Between two files it asks whether it is stopped.
    """
    words = words_of(text)
    if not words:
        return
    for path in recent_paths(locations):
        if stopped():
            return
        yield from _search(path, text, words, most)


def _search(path: Path, text: str, words: list[str], most: int) -> list[Found]:
    try:
        with Store.open(path, readonly=True) as store:
            events = [event for seq in store.search(text, most) for event in store.events(seq - 1, 1)]
    except WorkbenchError:
        return []
    return [Found(path.stem, event.seq, event.kind, snippet(text_of(event), words)) for event in events]


def snippet(text: str, words: list[str]) -> str:
    """One line of the text around the first of the words, safe to show."""
    found = re.search("|".join(rf"\b{re.escape(word)}" for word in words), text, re.IGNORECASE)
    at = max(0, found.start() - _AROUND) if found else 0
    line = re.sub(r"\s+", " ", text[at : at + _LONGEST]).strip()
    return visible(f"{'…' if at else ''}{line}", lines=False)


def rename(locations: Locations, session_id: str, title: str) -> None:
    """Give a session that nobody works in a title; raises SessionInUse, StoreError."""
    path = session_path(locations, session_id)
    lock = SessionLock.take(path)
    try:
        with Store.open(path) as store:
            store.append(SettingsChanged(title=title))
    finally:
        lock.release()


def delete(locations: Locations, session_id: str) -> None:
    """Delete a session that nobody works in, and what its tools kept; raises SessionInUse, WorkbenchError."""
    path = session_path(locations, session_id)
    lock = SessionLock.take(path)
    try:
        delete_file(path)
        for damaged in path.parent.glob(f"{path.name}.damaged*"):  # what a repair kept
            damaged.unlink(missing_ok=True)
        shutil.rmtree(state_folder(locations, session_id), ignore_errors=True)
    except OSError as error:
        raise WorkbenchError(f"cannot delete {path}: {error.strerror or error}") from error
    finally:
        lock.release()
