"""Signatures of the events that allow more than the defaults: the mode that never asks, rules, the URL of the model.

The stored states of sessions (see `session/saved_state`) are signed in the same way.

Any program of the user can write a session file, including the agent's commands. When a session is opened again, such
an event has an effect only if a process of ours wrote it: it is signed with a key that is stored outside the sessions.
A program that reads the key could forge a signature, as it has all rights of the user; reading the key by name is rated
as reading a secret, and a change of the key is reported. An event written by an `ohw` that an agent has started has an
effect only in processes that an agent has started.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from workbench.config.locations import Locations, private_directory
from workbench.config.modes import NEVER
from workbench.errors import UsageError
from workbench.processes.descendants import mark_level
from workbench.protocol.events import Event, SessionStarted, SettingsChanged

_KEY_SIZE: Final = 32
_CREATE: Final = "CREATE TABLE IF NOT EXISTS signatures(seq INTEGER PRIMARY KEY, signature TEXT NOT NULL)"
_SETTINGS: Final = """
SELECT seq, json FROM events WHERE kind IN ('session_started', 'settings_changed') AND seq <= ? ORDER BY seq"""
_LAST: Final = 2**63 - 1
"""The largest number of an event."""
_NO_EVENT: Final = 0
"""The event number in the signature of content that is not an event."""
_keys: dict[Path, bytes] = {}
"""The keys that this process has read, by path."""


def key_path(locations: Locations) -> Path:
    """Return the path of the user's key; because of its suffix, the rating of commands treats the file as a secret."""
    return locations.state / "signing.key"


def sign(db: sqlite3.Connection, session: str, events: Iterable[Event]) -> None:
    """Sign the events that allow more than the defaults, in the transaction that wrote them.

    Without a key, as on a disk that cannot be written, they stay unsigned. Raises sqlite3.Error.
    """
    for event in events:
        if _grants(event) and (key := _key()):
            (line,) = db.execute("SELECT json FROM events WHERE seq = ?", (event.seq,)).fetchone()
            db.execute(_CREATE)
            row = (event.seq, _signature(key, session, event.seq, line, _level()))
            db.execute("INSERT OR REPLACE INTO signatures VALUES (?, ?)", row)


def settings_rows(db: sqlite3.Connection, session: str, last: int = _LAST) -> list[tuple[str, bool]]:
    """Return the JSON of the settings up to event `last`, in order, each with whether its signature is valid.

    Raises sqlite3.Error.
    """
    rows = db.execute(_SETTINGS, (last,)).fetchall()
    signatures: dict[int, str] = {}
    with suppress(sqlite3.OperationalError):  # no event of this session was ever signed
        signatures = dict(db.execute("SELECT seq, signature FROM signatures"))
    key = _key() if signatures else b""
    return [(line, bool(key) and _is_valid(key, session, seq, line, signatures.get(seq))) for seq, line in rows]


def sign_content(session: str, content: bytes) -> str:
    """Return a signature of content that is stored beside a session; empty if there is no key."""
    key = _key()
    return _signature(key, session, _NO_EVENT, hashlib.sha256(content).hexdigest(), _level()) if key else ""


def is_signed_content(session: str, content: bytes, signature: str) -> bool:
    """Return whether a process of ours signed this content with `sign_content`."""
    key = _key()
    return bool(key) and _is_valid(key, session, _NO_EVENT, hashlib.sha256(content).hexdigest(), signature)


def _grants(event: Event) -> bool:
    if isinstance(event, SettingsChanged):
        return event.mode == NEVER or bool(event.rule)
    return isinstance(event, SessionStarted) and (event.mode == NEVER or bool(event.api_base))


def _is_valid(key: bytes, session: str, seq: int, line: str, signature: object) -> bool:
    """Return whether the signature is valid and from a process whose mark level is at least that of this process."""
    number = str(signature).partition(":")[0]
    if not (number.isascii() and number.isdigit() and len(number) < 20) or int(number) < _level():
        return False
    return hmac.compare_digest(_signature(key, session, seq, line, int(number)).encode(), str(signature).encode())


def _signature(key: bytes, session: str, seq: int, line: str, level: int) -> str:
    signed = f"{session}\0{seq}\0{level}\0{line}"
    return f"{level}:{hmac.digest(key, signed.encode(), 'sha256').hex()}"


def _level() -> int:
    """Return the mark level of this process; processes started by an agent have a lower one than the user's."""
    if sys.platform == "linux":
        with suppress(OSError):
            return mark_level()
    return 0


def _key() -> bytes:
    """Return the user's key, creating it if there is none; empty if it cannot be read or created."""
    path = key_path(Locations.from_environment())
    if path not in _keys:
        try:
            key = path.read_bytes() if path.exists() else _created(path)
        except (OSError, UsageError):
            return b""
        if len(key) != _KEY_SIZE:
            return b""
        _keys[path] = key
    return _keys[path]


def _created(path: Path) -> bytes:
    """Create the key and return it, or that of a process that created it first. Raises OSError or UsageError."""
    temporary = private_directory(path.parent) / f".{path.stem}-{secrets.token_hex(4)}"
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_KEY_SIZE))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink()
    return path.read_bytes()
