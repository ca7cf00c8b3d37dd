"""Signed notes of what our processes write to the user's files of settings and approvals.

An engine compares these files before and after each action. Another `ohw` of the user's, such as a second window in
which a directory is trusted, may write them meanwhile. It leaves a note of each write, signed like the events of
sessions (see `signatures`), so that the engine does not attribute the write to a command. A note by an `ohw` that an
agent has started has no effect, and a note is accepted once, so that no earlier content can be restored with it.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from workbench.config.locations import Locations
from workbench.files.state_files import is_own_write, replace_file
from workbench.risk.paths import within
from workbench.session.storage.signatures import is_signed_content, sign_content

_PURPOSE: Final = "written file"
"""Stands in the signature for the ID of a session, which has no space."""


class _Note(msgspec.Struct, frozen=True):
    digest: str
    """The SHA-256 of the content in hexadecimal digits; empty for a deletion."""
    at: int
    """When the file was written, in nanoseconds since the epoch."""
    signature: str = ""

    def content(self, path: str) -> bytes:
        """Return what is signed."""
        return f"{path}\0{self.digest}\0{self.at}".encode(errors="surrogateescape")


def sign_write(path: str, digest: bytes) -> None:
    """Leave a signed note that this process writes content with this SHA-256 digest (`b""`: deletes the file).

    Only files that engines compare get one. Without it, as on a disk that cannot be written, the write is reported.
    """
    locations = Locations.from_environment()
    if not any(within(path, each) for each in _compared(locations)):
        return
    note = _Note(digest.hex(), time.time_ns())
    signed = msgspec.structs.replace(note, signature=sign_content(_PURPOSE, note.content(path)))
    with suppress(OSError):
        replace_file(_note_path(locations, path), msgspec.json.encode(signed))


@lru_cache(maxsize=1)
def _compared(locations: Locations) -> tuple[str, ...]:
    """Return the compared paths; looking them up at each write of the agent would take longer than some writes."""
    return tuple(map(str, locations.compared))


class OwnWrites:
    """The writes of this process and its front ends, and since this object was created those that other processes of
    the user's have signed; each is accepted once.
    """

    def __init__(self) -> None:
        self._since = time.time_ns()
        self._accepted: dict[str, int] = {}

    def accept(self, path: str, digest: bytes) -> bool:
        """Return whether one of these processes wrote the content with this SHA-256 digest, or deleted the file
        (`b""`).
        """
        real = os.path.realpath(path)
        # All are asked, so that content which one of them has not used yet cannot be restored by a command.
        answers = [is_own_write(each, digest) for each in {path, real}]
        return any([*answers, self._accept_signed(real, digest)])

    def _accept_signed(self, path: str, digest: bytes) -> bool:
        """Return whether another process signed that this was its last write of the file.

        Always false where an `ohw` that an agent has started cannot be told from the user's: anywhere but on Linux.
        """
        if sys.platform != "linux":
            return False
        try:
            raw = _note_path(Locations.from_environment(), path).read_bytes()
            note = msgspec.json.decode(raw, type=_Note)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return False
        if note.digest != digest.hex() or note.at <= self._accepted.get(path, self._since):
            return False
        if not is_signed_content(_PURPOSE, note.content(path), note.signature):
            return False
        self._accepted[path] = note.at
        return True


def _note_path(locations: Locations, path: str) -> Path:
    return locations.state / "writes" / f"{hashlib.sha256(os.fsencode(path)).hexdigest()}.json"
