"""Reads the states of one file from the logs of all sessions that worked in a directory above it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.protocol.placeholders import blob_in_placeholder
from workbench.session.storage.cleanup import never_began
from workbench.session.storage.session_list import recent_paths
from workbench.session.storage.shared_history import ancestry_of
from workbench.session.storage.store import DamagedFile, Store, StoreError, hold
from workbench.text import first_line, well_formed

_CHANGES: Final = """
SELECT seq, at, kind, json, parts FROM {events}
WHERE kind IN ('action_observed', 'version_taken', 'files_changed', 'delegate_step') AND ({paths}) ORDER BY seq"""
_PATHS: Final = """
SELECT DISTINCT json_extract(file.value, '$.path') FROM {events} AS event, json_each(coalesce(
  json_extract(event.json, '$.files_changed'), json_extract(event.json, '$.files'),
  json_extract(event.json, '$.event.files_changed'), '[]')) AS file
WHERE kind IN ('action_observed', 'version_taken', 'files_changed', 'delegate_step')"""
_OWN: Final = "SELECT json_extract(json, '$.action_id') FROM events WHERE kind = 'person_command'"
_SUB_AGENTS: Final = "SELECT DISTINCT json_extract(json, '$.session') FROM events WHERE kind = 'delegate_step'"
_VERSIONS: Final = """
SELECT at, json_extract(json, '$.version'), coalesce(json_extract(json, '$.more'), 0),
  coalesce(json_extract(json, '$.notice'), '')
FROM events WHERE kind = 'version_taken'
  AND (json_extract(json, '$.version') <> '' OR instr(json, 'no file versions') > 0) ORDER BY seq"""
_STARTED: Final = "SELECT json FROM events WHERE seq = 1"
_COUNT: Final = "SELECT count(*), max(seq), max(at) FROM events"
_NOT_TAKEN: Final = "there are no file versions"
_MANY_FILES: Final = "an action changed more files than its session lists"

WriterKind: TypeAlias = Literal["agent", "user", "outside", "before", "unknown"]


class Writer(Struct, frozen=True):
    """Who made a change of the file.

    "agent" is an action; "user" is the user's command, or a change made in the app. "outside" is a change by another
    program, or one that no session recorded; it is shown as the user's. "before" stands for lines that no recorded
    change introduced, and "unknown" for those that cannot be traced; `reason` says why.
    """

    kind: WriterKind
    at: datetime | None = None
    session: str = ""
    seq: int = 0
    action_id: str = ""
    delegate: str = ""
    """The id of the log of the sub-agent that acted; empty for the session's own agent."""
    reason: str = ""


class Content(Struct, frozen=True):
    """The text of a file in one state: in memory, in a session file, or in the file versions of a directory."""

    key: str = ""
    """Identifies the content: equal keys mean equal texts. Empty if there is no file."""
    text: str | None = None
    log: Path | None = None
    directory: str = ""


class FileChangeRecord(Struct, frozen=True):
    """A change of one file as a log records it; `path` is absolute."""

    path: str
    before: Content
    after: Content
    writer: Writer
    deleted: tuple[tuple[str, Content], ...] = ()
    """If the change created the file: the files that the same event deleted, as it may be a renamed one of them."""


class Doubt(Struct, frozen=True):
    """A period in which a change of the file may be missing from the logs, and why."""

    first: datetime
    last: datetime
    reason: str


class BlameLog(Struct):
    """One session that worked in a directory above the file."""

    path: Path
    workspace: str
    started: datetime
    events: str = "main.events"
    """The table to query: this session's own events, or also those that a fork in another directory shares."""
    moves: tuple[tuple[int, int, str], ...] = ()
    """For shared events from another directory: the first and last of them, and that directory."""
    versions: tuple[tuple[datetime, str], ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.path.stem


def logs_above(locations: Locations, file: Path) -> tuple[list[BlameLog], list[str]]:
    """Return the sessions that worked in a directory above the file, in the order of their start.

    Sub-agents' sessions are omitted, because the session that started them records their actions. The second list has
    the ids of sessions that cannot be read at all, so that even their directory is unknown.
    """
    logs: list[BlameLog] = []
    unreadable: list[str] = []
    for path in recent_paths(locations):
        try:
            log = _log_of(path, file)
        except (WorkbenchError, sqlite3.Error, ValueError, LookupError, TypeError, StopIteration):
            if not never_began(path):
                unreadable.append(path.stem)
            continue
        logs += [log] if log is not None else []
    return sorted(logs, key=lambda log: (log.started, log.id)), unreadable


def _log_of(path: Path, file: Path) -> BlameLog | None:
    with Store.open(path, readonly=True) as store:
        started = json.loads(next(store.query(_STARTED))[0])
        workspace = str(started["workspace"])
        if started.get("parent") or not file.is_relative_to(workspace):
            return None
        log = BlameLog(path, workspace, datetime.fromisoformat(str(started["at"])))
        _add_moves(log)
        _add_versions(log, store)
        return log


def _add_moves(log: BlameLog) -> None:
    parts = [part for part in ancestry_of(log.path) if part.workspace != log.workspace]
    if parts:
        log.events, log.moves = "events", tuple((part.first, part.last, part.workspace) for part in parts)


def _add_versions(log: BlameLog, store: Store) -> None:
    """Add the log's first file version, and the periods in which changes may be missing from the log."""
    first = last = log.started
    try:
        count, highest, end = next(store.query(_COUNT))
        last = datetime.fromisoformat(end)
        if count != highest:
            log.doubts = (*log.doubts, Doubt(first, last, f"events of the session {log.id} are missing"))
        for at, version, more, notice in store.query(_VERSIONS):
            moment = datetime.fromisoformat(at)
            if version:
                log.versions = (*log.versions, (moment, str(version))) if not log.versions else log.versions
            elif _NOT_TAKEN in notice:
                log.doubts = (*log.doubts, Doubt(first, last, first_line(notice, 120)))
            if more:
                log.doubts = (*log.doubts, Doubt(moment, moment, _MANY_FILES))
    except (StoreError, ValueError, TypeError) as error:
        reason = error.reason if isinstance(error, DamagedFile) else "it is damaged"
        log.doubts = (*log.doubts, Doubt(first, _FOREVER, f"the session {log.id} cannot be read ({reason})"))


_FOREVER: Final = datetime.fromisoformat("9999-12-31T00:00:00+00:00")


def changes_of(log: BlameLog, path: str) -> list[FileChangeRecord]:
    """Return the changes of a file that the log contains, in order; if it cannot be read, a doubt is added to the
    log.
    """
    names = [path, *(f"{before}{path[len(log.workspace) :]}" for _, _, before in log.moves)]
    condition = " OR ".join(["instr(json, ?) > 0"] * len(names))
    records: list[FileChangeRecord] = []
    try:
        with Store.open(log.path, readonly=True) as store:
            rows = store.query(_CHANGES.format(events=log.events, paths=condition), *map(_as_json, names))
            reader = _RowReader(log, path)
            for row in rows:
                records += reader.records(*row)
            if any(record.writer.kind == "agent" for record in records):
                own = {name for (name,) in store.query(_OWN)}
                records = [_by_user(record) if record.writer.action_id in own else record for record in records]
                sub_agents = {name for (name,) in store.query(_SUB_AGENTS)}
                records = [_with_delegate(record, sub_agents) for record in records]
    except (WorkbenchError, sqlite3.Error, ValueError, LookupError, TypeError) as error:
        reason = error.reason if isinstance(error, DamagedFile) else "it is damaged"
        log.doubts = (*log.doubts, Doubt(log.started, _FOREVER, f"the session {log.id} cannot be read ({reason})"))
    return records


def changed_paths(log: BlameLog) -> list[str]:
    """Return the paths of all files of which the log contains a change; empty if it cannot be read."""
    try:
        with Store.open(log.path, readonly=True) as store:
            return [str(path) for (path,) in store.query(_PATHS.format(events=log.events)) if path]
    except (WorkbenchError, sqlite3.Error):
        return []


def _as_json(path: str) -> str:
    return json.dumps(well_formed(path), ensure_ascii=False)


def _by_user(record: FileChangeRecord) -> FileChangeRecord:
    writer = record.writer
    changed = Writer("user", writer.at, writer.session, writer.seq, writer.action_id)
    return FileChangeRecord(record.path, record.before, record.after, changed, record.deleted)


def _with_delegate(record: FileChangeRecord, sub_agents: Collection[str]) -> FileChangeRecord:
    """Name the sub-agent of an action whose id is `SESSION:ACTION`, as in a snapshot after it."""
    session = record.writer.action_id.partition(":")[0]
    return replace(record, writer=replace(record.writer, delegate=session)) if session in sub_agents else record


class _RowReader:
    """Reads changes of one file from the rows of one log."""

    def __init__(self, log: BlameLog, path: str) -> None:
        self._log = log
        self._path = well_formed(path)

    def records(self, seq: int, at: str, kind: str, row: str, parts: str | None) -> Iterator[FileChangeRecord]:
        """Yield the changes of the file in one event; the parameters are the columns of its row."""
        payload: dict[str, Any] = json.loads(row)
        base: list[str | int] = []
        writer = self._writer(seq, at, kind, payload)
        if kind == "delegate_step":
            payload, base = payload["event"], ["event"]
        field = "files_changed" if "files_changed" in payload else "files"
        hashes = {tuple(path): name for path, name in json.loads(parts)} if parts else {}
        files = payload.get(field) or ()

        def content(number: int, side: str) -> Content:
            name = hashes.get((*base, field, number, side))
            file = files[number]
            return self._content(file[side], str(file.get("cut") or ""), name)

        for number, file in enumerate(files):
            if self._name(seq, file["path"]) != self._path:
                continue
            before, after = content(number, "before"), content(number, "after")
            if before.key != after.key:
                others = () if before.key else self._deleted(seq, files, content)
                yield FileChangeRecord(self._path, before, after, writer, tuple(others))

    def _deleted(
        self, seq: int, files: Sequence[dict[str, Any]], content: Callable[[int, str], Content]
    ) -> Iterator[tuple[str, Content]]:
        for number, file in enumerate(files):
            if file["after"] is None and not content(number, "after").key:
                yield self._name(seq, file["path"]), content(number, "before")

    def _name(self, seq: int, path: str) -> str:
        """Return the path of a file, moved to the session's directory if the event happened in another one."""
        for first, last, before in self._log.moves:
            if first <= seq <= last and path.startswith(f"{before}/"):
                return f"{self._log.workspace}{path[len(before) :]}"
        return path

    def _content(self, text: str | None, cut: str, name: str | None) -> Content:
        if name is not None:
            return Content(f"sha256 {name}", log=self._log.path)
        if text is None:
            return Content()
        if not cut:
            return Content(f"sha256 {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}", text=text)
        blob = blob_in_placeholder(text)
        return Content(f"git {blob}" if blob else f"cut {cut}", directory=self._log.workspace)

    def _writer(self, seq: int, at: str, kind: str, payload: dict[str, Any]) -> Writer:
        moment, session = datetime.fromisoformat(at), self._log.id
        if kind == "delegate_step":
            event = payload["event"]
            return Writer("agent", moment, session, seq, str(event.get("action_id") or ""), str(payload["session"]))
        action_id = str(payload.get("action_id") or "")
        if kind == "files_changed":
            return Writer("user" if payload.get("by") == "person" else "outside", moment, session, seq)
        return Writer("agent" if action_id else "outside", moment, session, seq, action_id)


class Contents:
    """Reads the texts of states; keeps at most `_MOST_OPEN` session files open."""

    _MOST_OPEN: Final = 4

    def __init__(self, from_versions: Callable[[str, str], str]) -> None:
        """`from_versions` returns the text of a blob, given the directory and the blob's hash, or raises
        WorkbenchError.
        """
        self._from_versions = from_versions
        self._stores: dict[Path, Store] = {}

    def text(self, content: Content) -> str:
        """Return the text; "" if there is no file or it is not text. Raises WorkbenchError if the text is missing."""
        if content.text is not None:
            return content.text
        source, _, name = content.key.partition(" ")
        if source == "sha256" and content.log is not None:
            for (text,) in self._store(content.log).query("SELECT text FROM blobs WHERE hash = ?", name):
                return str(text)
            raise StoreError(f"the session file {content.log} lacks a stored text")
        return self._from_versions(content.directory, name) if source == "git" else ""

    def _store(self, path: Path) -> Store:
        store = self._stores.pop(path, None)
        if store is None:
            store = Store.open(path, readonly=True)
            hold(store)
        self._stores[path] = store
        if len(self._stores) > self._MOST_OPEN:
            self._stores.pop(next(iter(self._stores))).close()
        return store

    def close(self) -> None:
        """Close the session files."""
        for store in self._stores.values():
            with suppress(WorkbenchError):
                store.close()
        self._stores.clear()
