"""The attempts that run on other machines, as their client lists them in the directory of the run while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from workbench.batch.attempt_progress import AttemptProgress
from workbench.files.state_files import discard_file

_NAME: Final = "elsewhere.json"


class RunningElsewhere(msgspec.Struct, frozen=True, omit_defaults=True):
    """An attempt whose files are not in the directory of the run while it runs."""

    since: float
    """When it was handed out, in seconds since the epoch."""
    progress: AttemptProgress | None = None


class ElsewhereList:
    """Stores the list of one run's attempts, and reads it. Nothing depends on it, so a full disk does no harm."""

    def __init__(self, run: Path) -> None:
        self._path = run / _NAME
        self._stored: Mapping[str, RunningElsewhere] | None = None
        self._read: tuple[tuple[int, int], Mapping[str, RunningElsewhere]] = ((0, 0), {})

    def store(self, attempts: Mapping[str, RunningElsewhere]) -> None:
        """Replace the list, whose keys are those of the attempts, if it has changed."""
        if attempts == self._stored:
            return
        self._stored = attempts
        if not attempts:
            discard_file(self._path)
            return
        draft = self._path.with_name(f".{_NAME}")
        with suppress(OSError):
            draft.write_bytes(msgspec.json.encode(attempts))
            draft.replace(self._path)

    def read(self) -> Mapping[str, RunningElsewhere]:
        """Return the list; it is decoded only if it has changed."""
        with suppress(OSError, msgspec.MsgspecError):
            status = self._path.stat()
            stamp = status.st_mtime_ns, status.st_ino  # each list is a file of its own
            if stamp != self._read[0]:
                content = msgspec.json.decode(self._path.read_bytes(), type=dict[str, RunningElsewhere])
                self._read = stamp, content
            return self._read[1]
        return {}
