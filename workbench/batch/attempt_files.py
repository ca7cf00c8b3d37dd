"""The files that an attempt leaves in the directory of its run, or returns to it from another machine."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench import __version__
from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.config.locations import Locations, private_directory

_OUTCOME: Final = "outcome.json"
_LOCK: Final = "lock"


class RunContext(msgspec.Struct, frozen=True):
    """What all attempts of a run have in common."""

    nonce: str
    directory: str
    """The directory of the run; it is the same one on a worker if its `run.json` has the nonce."""
    flags: dict[str, Any] = {}
    """Settings from the command line, without secrets."""
    keeps_workspaces: bool = False
    version: str = __version__
    client: str = ""
    """A name for the client: attempts of an interrupted one end, and those of a later one for the same run start."""

    @property
    def local_data(self) -> Path:
        """The directory of the run's sessions on this machine while they run, beside ohw's own data."""
        return Locations.from_environment().data.parent / "ohw-batch" / self.nonce


class Report(msgspec.Struct, frozen=True):
    """What a worker returns: the outcome, and the contents of files if the directory of the run is not on this worker.

    The files are named relative to that directory.
    """

    outcome: AttemptOutcome
    files: Mapping[str, bytes] = {}


class AttemptFiles:
    """The files of one attempt. It is locked meanwhile: an attempt whose client was lost never runs beside its
    repetition.
    """

    def __init__(self, run: Path, attempt: TaskAttempt, *, is_shared: bool) -> None:
        self._run = run
        self._is_shared = is_shared
        self._relative = f"attempts/{attempt.key}"
        self.directory = run / self._relative

    @classmethod
    @contextmanager
    def locked(cls, context: RunContext, attempt: TaskAttempt) -> Iterator[AttemptFiles]:
        """Yield the files of an attempt once no other process runs it. Raises OSError."""
        run = Path(context.directory)
        is_shared = context.nonce.encode() in _content(run / "run.json")
        files = cls(run if is_shared else context.local_data / "run", attempt, is_shared=is_shared)
        files.directory.mkdir(parents=True, exist_ok=True)
        with files.path(_LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield files
        if not is_shared:
            shutil.rmtree(files.directory, ignore_errors=True)

    def path(self, name: str) -> Path:
        """Return the path of a file of the attempt."""
        return self.directory / name

    def relative(self, name: str) -> str:
        """Return the path of a file of the attempt, relative to the directory of the run."""
        return f"{self._relative}/{name}"

    def earlier_report(self) -> Report | None:
        """Return the report of this attempt if it has ended, but its client was lost before it learned of that."""
        raw = _content(self.path(_OUTCOME))
        try:
            return Report(msgspec.json.decode(raw, type=AttemptOutcome)) if raw else None
        except msgspec.MsgspecError:
            return None

    def report(self, outcome: AttemptOutcome, session: Path | None) -> Report:
        """Store the outcome and the file of the session, or return them by value. Raises OSError."""
        if self._is_shared:
            if session is not None:
                shutil.move(session, private_directory(self._run / "sessions") / session.name)
            if outcome.ending != "interrupted":
                self.path(_OUTCOME).write_bytes(msgspec.json.encode(outcome))
            return Report(outcome)
        entries = [each for each in self.directory.iterdir() if each.name != _LOCK]
        files = {self.relative(each.name): each.read_bytes() for each in entries}
        if session is not None:
            files[f"sessions/{session.name}"] = session.read_bytes()
            session.unlink()
        return Report(outcome, files)


def forget_outcome(directory: Path) -> None:
    """Let an attempt with files in this directory run again. Raises OSError."""
    (directory / _OUTCOME).unlink(missing_ok=True)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
