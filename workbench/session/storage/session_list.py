"""Lists, searches, renames and deletes the user's sessions without opening them."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from workbench.config.locations import Locations
from workbench.errors import UsageError, WorkbenchError
from workbench.protocol.events import SettingsChanged, UserMessage
from workbench.session.session_names import SUFFIX, session_path, state_directory, without_secrets
from workbench.session.storage.cleanup import marked_directory, never_began
from workbench.session.storage.event_rows import text_of, words_of
from workbench.session.storage.family import bequeath, family_lock
from workbench.session.storage.lock import SessionLock, holder, lock_path
from workbench.session.storage.origin import origin_in
from workbench.session.storage.shared_history import attach_shared, shared_parts
from workbench.session.storage.store import DamagedFile, Store, StoreError, check_log, check_whole
from workbench.session.storage.store_files import delete_file, reading_uri
from workbench.text import first_line, visible

_PAID = "('model_responded', 'history_condensed', 'model_asked')"
_FACTS = f"""
SELECT count(*), max(seq),
  max(CASE WHEN kind = 'model_responded' THEN seq END),
  sum(kind IN ('action_proposed', 'person_command')
      OR kind = 'files_changed' AND json_extract(json, '$.by') = 'person'
      OR kind = 'delegate_step' AND json_extract(json, '$.event.kind') = 'action_proposed'),
  sum(CASE WHEN seq <= ?1 THEN 0  -- the session with which they are shared has paid them
           WHEN kind IN {_PAID} THEN json_extract(json, '$.cost')
           WHEN kind = 'delegate_step' THEN json_extract(json, '$.event.cost') END),
  sum(CASE WHEN seq <= ?1 THEN 0
           WHEN kind IN {_PAID} THEN json_extract(json, '$.cost') IS NULL
           WHEN kind = 'delegate_step' THEN json_extract(json, '$.event.kind')
                IN {_PAID} AND json_extract(json, '$.event.cost') IS NULL END),
  min(CASE WHEN kind = 'user_message' THEN seq END),
  max(CASE WHEN kind = 'user_message' THEN seq END),
  max(CASE WHEN kind = 'run_ended' OR kind = 'forked' AND json_extract(json, '$.keeps_run') IS NOT 1 THEN seq END),
  max(CASE WHEN kind = 'model_responded' AND json_extract(json, '$.text') <> '' THEN seq END)
FROM events
"""
_SETTLING = ("action_assessed", "action_decided", "action_observed", "action_abandoned")
_SINCE = f"SELECT json FROM events WHERE seq > ? AND kind IN {(*_SETTLING, 'delegate_step')} ORDER BY seq"
_FEW = 20
"""A session with more events than this is not checked for being empty."""
_MODEL = """
SELECT json_extract(json, '$.model') FROM events
WHERE kind = 'settings_changed' AND json_extract(json, '$.model') IS NOT NULL ORDER BY seq DESC LIMIT 1
"""
_TITLE = """
SELECT json_extract(json, '$.title') FROM events
WHERE kind = 'settings_changed' AND json_extract(json, '$.title') IS NOT NULL ORDER BY seq DESC LIMIT 1
"""
_LONGEST_ANSWER = 400
_LONG_AGO = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class SessionSummary:
    """One line of the list of sessions.

    `title` is the user's name for the session, or else its first message; `first_text` is the first message if it
    differs from the title. `title`, `workspace` and `model` are unescaped: pass them to `visible` before showing them.
    `actions` counts the actions that the timeline numbers, `waiting` those that wait for the user. `cost` is in US
    dollars, None if a price is unknown. `ended` is the reason why the last run ended, empty while a run is open.
    `damaged` is the reason, or empty. For a sub-agent's session, `parent` is the session that started it, whose cost
    includes this one's.
    """

    id: str
    title: str = ""
    first_text: str = ""
    workspace: str = ""
    model: str = ""
    started: datetime = _LONG_AGO
    updated: datetime = _LONG_AGO
    events: int = 0
    actions: int = 0
    waiting: int = 0
    cost: float | None = None
    ended: str = ""
    is_running: bool = False
    """Whether no run has ended since the last message; the engine may have been killed, though."""
    answer: str = ""
    """The start of the last text that the model wrote, on one line; unescaped."""
    damaged: str = ""
    parent: str = ""
    agent: str = ""
    """The kind of the sub-agent; empty for one without a kind, and for other sessions."""
    forked_from: str = ""
    """The session that this is a fork of; empty if it is not a fork. `cost` is what the fork itself has spent."""
    forked_at: int = 0
    origin: str = ""
    """If this is a copy of a session on another machine: the URL of that session."""

    @property
    def role(self) -> str:
        """Which sub-agent of which session this is; empty for a session of the user."""
        kind = f"{self.agent}, " if self.agent else ""
        return f"{kind}sub-agent of {self.parent}" if self.parent else ""


def list_sessions(locations: Locations, *, check: bool = False) -> list[SessionSummary]:
    """Return all sessions, most recently used first. Raises UsageError if their directory cannot be read.

    `check` reads every event, so that `damaged` also reports events that were changed.
    """
    paths = _paths(locations)
    summaries = [summary for path in paths if (summary := _summary(locations, path, check=check)) is not None]
    return sorted(summaries, key=lambda summary: summary.updated, reverse=True)


def newest_first(locations: Locations) -> Iterator[SessionSummary]:
    """Yield all sessions, the most recently changed files first; each is read only when its turn comes."""
    for path in recent_paths(locations):
        summary = _summary(locations, path)
        if summary is not None:
            yield summary


def recent_paths(locations: Locations, since: datetime | None = None) -> list[Path]:
    """Return the session files, most recently changed first; with `since`, only those changed since then."""
    times: dict[str, float] = {}
    with suppress(FileNotFoundError), _scanned(locations.sessions) as entries:
        for entry in entries:
            name = entry.name.removesuffix("-wal")  # the last events may not be in the file itself yet
            if name.endswith(SUFFIX):
                with suppress(OSError):
                    info = entry.stat()
                    # merely reading leaves an empty log beside a file
                    if stat.S_ISREG(info.st_mode) and (info.st_size or name == entry.name):
                        times[name] = max(times.get(name, 0.0), info.st_mtime)
    if since is not None:
        times = {name: time for name, time in times.items() if time >= since.timestamp()}
    return [locations.sessions / name for name in sorted(times, key=lambda name: (times[name], name), reverse=True)]


@contextmanager
def _scanned(directory: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
    try:
        with os.scandir(directory) as entries:
            yield entries
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UsageError(f"cannot read {directory}: {error.strerror or error}") from error


def _paths(locations: Locations) -> list[Path]:
    try:
        # Opening a pipe or another special file would block.
        return sorted(path for path in locations.sessions.glob(f"*{SUFFIX}") if path.is_file())
    except OSError as error:
        raise UsageError(f"cannot read {locations.sessions}: {error.strerror or error}") from error


def find_session(locations: Locations, name: str) -> SessionSummary:
    """Return the session with that id, or the only one whose id begins with `name`.

    An empty session that an editor has the id of is in no list, and returned only for that id. Raises UsageError if
    there is none, or more than one.
    """
    paths = _paths(locations)
    exact = [path for path in paths if path.stem == name]
    matches = exact or [path for path in paths if name and path.stem.startswith(name)]
    if len(matches) > 1:
        raise UsageError(f"{name!r} could be {matches[0].stem} or {matches[1].stem}; write more of the id")
    summary = _summary(locations, matches[0], is_named=bool(exact)) if matches else None  # the others are not read
    if summary is None:
        raise UsageError(f"there is no session {name!r}; `ohw sessions` lists them")
    return summary


def session_titles(locations: Locations, ids: Iterable[str]) -> dict[str, str]:
    """Return the titles of these sessions by their ids, unescaped; those without one, or damaged, are omitted."""
    summaries = (_summary(locations, locations.sessions / f"{each}{SUFFIX}") for each in ids)
    return {entry.id: entry.title for entry in summaries if entry is not None and entry.title and not entry.damaged}


def last_session(locations: Locations, workspace: Path | None = None) -> SessionSummary | None:
    """Return the last used session (in `workspace`, if given), or None; skip damaged and sub-agents' sessions."""
    for entry in list_sessions(locations):
        is_there = workspace is None or (entry.workspace == str(workspace) and not entry.origin)
        if is_there and not entry.damaged and not entry.parent:
            return entry
    return None


def _summary(locations: Locations, path: Path, *, check: bool = False, is_named: bool = False) -> SessionSummary | None:
    """Return the summary of a session; None for one that is not listed, see `_is_hidden`."""
    try:
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:
        return None  # the file has just been deleted
    try:
        db = sqlite3.connect(reading_uri(path), uri=True, timeout=5)
        try:
            attach_shared(path, db)
            if check:
                check_whole(path, db)
                if holder(path) is None:
                    check_log(path)
            summary = _read(path, db)
        finally:
            db.close()
        return None if summary.events <= _FEW and _is_hidden(locations, path, is_named=is_named) else summary
    except (sqlite3.Error, StoreError, ValueError, TypeError, LookupError) as error:
        if never_began(path):
            return None  # killed before it began; the next start removes it
        reason = error.reason if isinstance(error, DamagedFile) else first_line(str(error)) or type(error).__name__
        return SessionSummary(path.stem, started=changed, updated=changed, damaged=reason)


def _is_hidden(locations: Locations, path: Path, *, is_named: bool) -> bool:
    """Return whether a session was killed before it began, or is an empty one that was not asked for by its id, but
    whose id an editor has.
    """
    is_marked = marked_directory(locations, path.stem) is not None
    if is_named and is_marked:
        return False
    return (is_marked or lock_path(path).exists()) and holder(path) is None and never_began(path)


def _read(path: Path, db: sqlite3.Connection) -> SessionSummary:
    count, last, answered, actions, cost, unpriced, first_message, last_message, last_end, written = db.execute(
        _FACTS, (shared_parts(db)[-1].last if shared_parts(db) else 0,)
    ).fetchone()
    started = json.loads(db.execute("SELECT json FROM events WHERE seq = 1").fetchone()[0])
    (updated,) = db.execute("SELECT at FROM events WHERE seq = ?", (last,)).fetchone()
    model = db.execute(_MODEL).fetchone()
    is_over = last_end is not None and last_end > (last_message or 0)
    title, first_text = _titles(path, db, first_message)
    return SessionSummary(
        id=path.stem,
        title=title,
        first_text=first_text,
        workspace=str(started["workspace"]),
        model=str(model[0] if model else started["model"]),
        started=datetime.fromisoformat(started["at"]),
        updated=datetime.fromisoformat(updated),
        events=int(count),
        actions=int(actions or 0),
        waiting=0 if is_over else _waiting(db, answered or 0),
        cost=None if unpriced else float(cost or 0.0) if answered else 0.0,
        ended=_reason(db, last_end) if is_over else "",
        is_running=not is_over and last_message is not None,
        answer=_answer(db, written) if written else "",
        parent=str(started.get("parent", "")),
        agent=str(started.get("agent", "")),
        forked_from=str(started.get("forked_from", "")),
        forked_at=int(started.get("forked_at", 0)),
        origin=origin_in(db),
    )


def _answer(db: sqlite3.Connection, seq: int) -> str:
    """Return the start of a response on one line, without secrets; unescaped."""
    (line,) = db.execute("SELECT json FROM events WHERE seq = ?", (seq,)).fetchone()
    return without_secrets(re.sub(r"\s+", " ", str(json.loads(line)["text"])[:_LONGEST_ANSWER]).strip())


def _reason(db: sqlite3.Connection, seq: int) -> str:
    (line,) = db.execute("SELECT json FROM events WHERE seq = ?", (seq,)).fetchone()
    return str(json.loads(line).get("reason", "finished"))


def _waiting(db: sqlite3.Connection, answered: int) -> int:
    """Return how many actions of the last response wait for the user; those of earlier responses are all decided."""
    asked: dict[str, bool] = {}
    for (line,) in db.execute(_SINCE, (answered,)):
        step = json.loads(line)
        event = step.get("event", step)
        if event["kind"] in _SETTLING:
            needs = event.get("needs_decision", True) or event.get("needs_answer", False)
            asked[event["action_id"]] = event["kind"] == "action_assessed" and needs
    return sum(asked.values())


def _titles(path: Path, db: sqlite3.Connection, seq: int | None) -> tuple[str, str]:
    """Return the title, and the first message if it differs from the title."""
    named = db.execute(_TITLE).fetchone()
    first = without_secrets(_first_text(path, seq))
    title = without_secrets(first_line(str(named[0]))) if named and named[0] else first
    return title, "" if title == first else first


def _first_text(path: Path, seq: int | None) -> str:
    if seq is None:
        return ""
    with Store.open(path, readonly=True) as store:
        return next(
            (first_line(event.text) for event in store.events(seq - 1, 1) if isinstance(event, UserMessage)), ""
        )


_AROUND = 40
"""How many characters are shown before a matching word."""
_LONGEST = 240


@dataclass(frozen=True)
class SearchMatch:
    """An event that contains all words; `snippet` is one line around the first match, safe to show."""

    session: str
    seq: int
    kind: str
    snippet: str


def search_all(
    locations: Locations, text: str, stopped: Callable[[], bool] = lambda: False, most: int = 3
) -> Iterator[SearchMatch]:
    """Yield the newest events that contain all words of the text, at most `most` per session.

    The most recently changed sessions come first. Files that cannot be read are skipped. `stopped` is called before
    each file and ends the search by returning True.
    """
    words = words_of(text)
    if not words:
        return
    for path in recent_paths(locations):
        if stopped():
            return
        yield from _search(path, text, words, most)


def _search(path: Path, text: str, words: list[str], most: int) -> list[SearchMatch]:
    try:
        with Store.open(path, readonly=True) as store:
            events = [event for seq in store.search(text, most) for event in store.events(seq - 1, 1)]
    except WorkbenchError:
        return []
    return [SearchMatch(path.stem, event.seq, event.kind, snippet(text_of(event), words)) for event in events]


def snippet(text: str, words: list[str]) -> str:
    """Return one line of the text around the first match of any of the words, safe to show."""
    match = re.search("|".join(rf"\b{re.escape(word)}" for word in words), text, re.IGNORECASE)
    at = max(0, match.start() - _AROUND) if match else 0
    line = re.sub(r"\s+", " ", text[at : at + _LONGEST]).strip()
    return visible(f"{'…' if at else ''}{line}", lines=False)


def rename(locations: Locations, session_id: str, title: str) -> None:
    """Set the title of a session that is not in use. Raises SessionInUse or StoreError."""
    path = session_path(locations, session_id)
    lock = SessionLock.acquire(path)
    try:
        with Store.open(path) as store:
            store.append(SettingsChanged(title=title))
    finally:
        lock.release()


def delete(locations: Locations, session_id: str) -> None:
    """Delete a session that is not in use, with its tools' files; its forks first get a copy of the events that they
    share.

    Raises SessionInUse or another WorkbenchError.
    """
    path = session_path(locations, session_id)
    lock = SessionLock.acquire(path)
    try:
        with family_lock(path.parent):
            bequeath(path)
            delete_file(path)
        for damaged in path.parent.glob(f"{path.name}.damaged*"):  # kept by a repair
            damaged.unlink(missing_ok=True)
        shutil.rmtree(state_directory(locations, session_id), ignore_errors=True)
    except OSError as error:
        raise WorkbenchError(f"cannot delete {path}: {error.strerror or error}") from error
    finally:
        lock.release()
