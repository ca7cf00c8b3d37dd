"""Documents of the network as they were agreed to: the first copy is pinned, a changed one waits for the person.

Used by `loading` when a document is fetched, and by the command where a change is approved.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from workbench.config.load import Locations, private_folder
from workbench.errors import UsageError
from workbench.tools.openapi.changes import parts_of
from workbench.tools.openapi.documents import BadDocument
from workbench.whole_files import replace_file


class Pinned:
    """The copies of one address: `agreed` is used, `waiting` is not."""

    def __init__(self, address: str, locations: Locations | None = None) -> None:
        folder = (locations or Locations.from_environment()).data / "openapi"
        self._file = folder / hashlib.sha256(address.encode(errors="replace")).hexdigest()[:32]
        self._new = self._file.with_suffix(".new")
        self._shown = self._file.with_suffix(".shown")

    @property
    def agreed(self) -> bytes | None:
        """What was agreed to; None where it was never fetched."""
        return _read(self._file)

    @property
    def waiting(self) -> bytes | None:
        """What it has become since."""
        return _read(self._new)

    @property
    def checked_at(self) -> float:
        """When it was fetched last, in seconds since 1970."""
        try:
            return self._file.stat().st_mtime
        except OSError:
            return 0.0

    def fetched(self, content: bytes) -> bytes:
        """What is to be used now: this, where it is the first or says the same; else what was agreed to."""
        agreed = self.agreed
        if agreed is None or agreed == content or _says_the_same(agreed, content):
            self._keep(self._file, content)
            self._new.unlink(missing_ok=True)
            return content
        self._keep(self._new, content)
        os.utime(self._file)
        return agreed

    def approve(self, shown: bytes) -> bool:
        """Agree to the change that was shown; False where it has changed again since."""
        if self.waiting != shown:
            return False
        self._new.replace(self._file)
        self._shown.unlink(missing_ok=True)
        return True

    def mark(self, new: bytes) -> str:
        """A short hash of a change: what it would be, and what it would replace."""
        parts = (hashlib.sha256(each).digest() for each in (self.agreed or b"", new))
        return hashlib.sha256(b"".join(parts)).hexdigest()[:12]

    @property
    def shown(self) -> str:
        """The hash of what the person was shown last; empty where nothing was."""
        return (_read(self._shown) or b"").decode("ascii", "replace")

    def show(self, new: bytes) -> None:
        """Remember that the person was shown this."""
        self._keep(self._shown, self.mark(new).encode())

    @staticmethod
    def _keep(place: Path, content: bytes) -> None:
        """Where that fails there is no copy."""
        try:
            private_folder(place.parent)
            replace_file(place, content)
        except (OSError, UsageError):
            return


def _read(copy: Path) -> bytes | None:
    try:
        return copy.read_bytes()
    except OSError:
        return None


def _says_the_same(old: bytes, new: bytes) -> bool:
    """Whether nothing that tools are made of differs: layout, title and date of a document do not matter."""
    try:
        return parts_of(old) == parts_of(new)
    except BadDocument:
        return False
