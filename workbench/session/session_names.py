"""Names of sessions: readable, unique, and safe as file names; used wherever a session is started or looked up."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import unicodedata
from datetime import datetime
from pathlib import Path

from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.lazy_pattern import lazy_pattern

SUFFIX = ".session"
DRAFT = "draft"
"""The file with the text in the prompt that was not sent yet, in the state directory of a session."""
EDITOR = "editor"
"""The file that says that an editor has the id of a session, in the state directory of the session; it contains the
session's directory.
"""
_ID = lazy_pattern(r"[a-z0-9][a-z0-9-]{0,79}")
_SLUG_LENGTH = 32
_MOST_READ = 400
"""How many characters at the start of a hint are used for an id."""
_DOUBT = lazy_pattern(r"\d|pass|pwd|secret|token|key|://", re.IGNORECASE)
"""Matches text that may contain a secret; only then is the slow masker loaded."""


def new_id(hint: str, now: datetime | None = None) -> str:
    """Return an id such as `20261121-fix-the-parser-3f2a`; `hint` is the first message or the name of the directory."""
    day = (now or datetime.now()).strftime("%Y%m%d")
    return f"{day}-{_slug(without_secrets(hint[:_MOST_READ]))}-{secrets.token_hex(2)}"


def without_secrets(title: str) -> str:
    """Return a title with its secrets masked, because titles are shown in lists and become part of file names."""
    if not _DOUBT.search(title):
        return title
    from workbench.secrets.masker import MASKER  # slow to import

    return MASKER.masked(title)


def session_path(locations: Locations, session_id: str) -> Path:
    """Return the path of a session's file. Raises UsageError if no session can have that id."""
    if not _ID.fullmatch(session_id):
        raise UsageError(f"{session_id!r} is not the id of a session; `ohw sessions` lists them")
    return locations.sessions / f"{session_id}{SUFFIX}"


def socket_path(locations: Locations, session_id: str) -> Path:
    """Return the path of the socket of a session's engine, in the private runtime directory."""
    path = locations.runtime / f"{session_id}.sock"
    if len(os.fsencode(path)) <= 107:  # the longest socket path that Linux accepts
        return path
    return locations.runtime / f"{session_id[-24:].lstrip('-')}.sock"


def state_directory(locations: Locations, session_id: str) -> Path:
    """Return the directory in which a session's tools keep undo copies and full outputs; it outlives the process."""
    return locations.data / "state" / session_path(locations, session_id).stem


def unsent_directory(locations: Locations, workspace: Path) -> Path:
    """Return the directory for text typed in a workspace before its session has a first message."""
    return locations.data / "unsent" / hashlib.sha256(os.fsencode(workspace)).hexdigest()[:20]


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)
    slug = ""
    for word in words:
        longer = f"{slug}-{word}" if slug else word
        if len(longer) > _SLUG_LENGTH:
            break
        slug = longer
    return slug or (words[0][:_SLUG_LENGTH] if words else "session")
