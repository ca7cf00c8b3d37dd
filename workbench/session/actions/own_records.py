"""Compares our own records between actions: the approvals of MCP servers, and the permissions in closed sessions.

A program that an agent runs could rewrite them, because it runs as the same user. Changes by this process and changes
with a valid signature (see `signatures` and `signed_writes` in `session/storage`) are not reported, nor are those that
allow no more than before.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from workbench.config.locations import Locations
from workbench.files.stat_keys import StatKey, has_settled, is_settled_directory, stat_key
from workbench.processes.ancestry import ancestors, lock_holders
from workbench.risk.protected_state import PathChange, PathState
from workbench.session.session_names import SUFFIX
from workbench.session.storage.lock import holder, lock_path
from workbench.session.storage.permissions import Permissions, permissions_in
from workbench.session.storage.signatures import key_path
from workbench.session.storage.signed_writes import OwnWrites

_SHARE: Final = 0.01
"""The largest fraction of the time that may be spent on comparing sessions; thousands are not compared at every
action.
"""
_FEW: Final = 0.001
"""If comparing the sessions takes at most this many seconds, it is done every time."""
_PINNED: Final = ("approved", "tools", "files")
"""The fields of a server's record that let something run without a question."""


class _Record(NamedTuple):
    key: StatKey
    """Identifies the content by its stat; empty if a later change might leave the stat as it is."""
    digest: bytes
    pinned: Any = None


class _Session(NamedTuple):
    key: StatKey
    is_held: bool = False
    """Whether an engine was writing to it; then its permissions are read when that engine has ended."""
    permissions: Permissions | None = None
    """None if they were not read yet."""


class OwnRecords:
    """The records as they were when they were last compared."""

    def __init__(self, locations: Locations) -> None:
        self._servers = str(locations.data / "mcp")
        self._key = str(key_path(locations))
        self._sessions = str(locations.sessions)
        self._own_writes = OwnWrites()
        self._records: dict[str, _Record] | None = None
        self._files: dict[str, _Session] = {}
        self._directory: StatKey = ()
        """The stat of the directory of sessions when it was last listed; empty if a later change might leave it as it
        is.
        """
        self._next = 0.0
        """The monotonic time at which the sessions are compared again even if the stat of their directory is the
        same.
        """

    def changes(self) -> list[PathChange]:
        """Return the changes since the last call; none at the first call."""
        records, files = dict(self._read_records()), self._listed_sessions()
        if self._records is None:
            self._records, self._files = records, files
            return []
        before, self._records = self._records, records
        changed = [path for path in sorted(before.keys() | records.keys()) if self._allows_more(path, before, records)]
        if files is not self._files:
            changed += [path for path in sorted(files) if self._is_rewritten(path, files)]
            self._files = files
        return [change_of_record(path, is_new=path not in before and path in records) for path in changed]

    def _allows_more(self, path: str, before: dict[str, _Record], now: dict[str, _Record]) -> bool:
        """Return whether a process that is not the user's has changed a record such that more may run."""
        old, new = before.get(path), now.get(path)
        if old is not None and new is not None and old.digest == new.digest:
            return False
        return not self._own_writes.accept(path, new.digest if new else b"") and _grants_more(path, old, new)

    def _read_records(self) -> Iterator[tuple[str, _Record]]:
        for path, info in (*_entries(self._servers, (".json", ".shown")), *_entry(self._key)):
            cached = (self._records or {}).get(path)
            if cached is None or cached.key != stat_key(info):
                content = _content(path)
                key = stat_key(info) if has_settled(info) else ()
                cached = _Record(key, hashlib.sha256(content).digest(), _pinned(content))
            yield path, cached

    def _listed_sessions(self) -> dict[str, _Session]:
        """Return the state of each session file, or the last result if the next comparison is not due yet.

        SQLite creates a log beside a file that it writes to, so the directory's stat changes with nearly every write.
        """
        directory = next((info for _, info in _entry(self._sessions)), None)
        key = stat_key(directory) if directory is not None and is_settled_directory(directory) else ()
        start = time.monotonic()
        if key and key == self._directory and start < self._next:
            return self._files
        files = dict(self._stat_sessions())
        cost = time.monotonic() - start
        self._directory, self._next = key, start + cost / _SHARE if cost > _FEW else 0.0
        return files

    def _stat_sessions(self) -> Iterator[tuple[str, _Session]]:
        # a process's changes may stay in the log beside the file until the session is opened again
        logs = {path: stat_key(info) for path, info in _entries(self._sessions, (f"{SUFFIX}-wal",))}
        for path, info in _entries(self._sessions, (SUFFIX,)):
            yield path, _Session((*stat_key(info), *logs.get(f"{path}-wal", ())))

    def _is_rewritten(self, path: str, files: dict[str, _Session]) -> bool:
        """Return whether a session file grants more than before, unless an engine is writing it; store what it
        grants.
        """
        before, now = self._files.get(path), files[path]
        if before is not None and before.key == now.key:
            files[path] = before
            return False
        if _is_written_by_an_engine(Path(path)):
            files[path] = now._replace(is_held=True)
            return False
        permissions = permissions_in(Path(path))
        files[path] = now._replace(permissions=permissions)
        earlier = before.permissions if before is not None else None
        return permissions.unsigned().exceeds(earlier.unsigned() if earlier else Permissions())


def _entries(directory: str, endings: tuple[str, ...]) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith(endings) and not entry.name.startswith("."):
                    yield entry.path, entry.stat(follow_symlinks=True)
    except OSError:
        return


def _entry(path: str) -> Iterator[tuple[str, os.stat_result]]:
    with suppress(OSError):
        yield path, os.stat(path)  # noqa: PTH116 - a string


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a string
            return file.read()
    except OSError:
        return b""


def _pinned(content: bytes) -> Any:
    try:
        data = json.loads(content)
        return [data.get(name) for name in _PINNED]
    except (ValueError, AttributeError):
        return None


def _grants_more(path: str, old: _Record | None, new: _Record | None) -> bool:
    """Return whether a changed record lets more run than before."""
    if path.endswith(".key"):  # a new key makes nothing valid that was signed before
        return old is not None
    if not path.endswith(".json"):
        return new is not None
    if old is None:  # the first list of a server's tools is pinned without approval
        return new is not None and bool(new.pinned and new.pinned[0])
    # without its record, the next list of the server's tools would be pinned without approval
    return new is None or new.pinned != old.pinned


def _is_written_by_an_engine(session: Path) -> bool:
    """Return whether an engine has locked the session: this process, or one that was not started from this process."""
    pid = holder(session)
    if pid is None:
        return False
    if sys.platform != "linux":
        return True
    try:
        # the file names its holder, but anybody can write it
        holders = lock_holders(lock_path(session)) or [pid]
        return all(each == os.getpid() or os.getpid() not in ancestors(each) for each in holders)
    except (OSError, ValueError):
        return False


def change_of_record(path: str, *, is_new: bool = False) -> PathChange:
    """Return a change that stands for a changed record and does not contain its content."""
    before, after = (PathState("file", 0, digest, None, (), is_settled=False) for digest in (b"before", b"after"))
    return PathChange(path, None if is_new else before, after, path)
