"""The directory of a run: its options and tasks, the outcomes, and what each attempt left behind."""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import msgspec

from workbench import __version__
from workbench.batch.attempt import AttemptOutcome
from workbench.batch.attempt_files import forget_files
from workbench.batch.discarded_costs import cost_without_outcomes
from workbench.batch.task import TaskSpec
from workbench.batch.task_files import decoded, encoded
from workbench.errors import UsageError, WorkbenchError
from workbench.files.state_files import replace_file
from workbench.session.session_names import SUFFIX
from workbench.session.storage.lock import is_locked
from workbench.text import visible_path

T = TypeVar("T")
_OPTIONS: Final = "run.json"
_TASKS: Final = "tasks.jsonl"


class RunOptions(msgspec.Struct, frozen=True):
    """How a run was started."""

    models: tuple[str, ...]
    attempts: int = 1
    flags: dict[str, Any] = {}
    """Settings that were given on the command line, without secrets."""
    version: str = __version__
    shared: str = ""
    """A directory that all workers see."""
    nonce: str = msgspec.field(default_factory=lambda: secrets.token_hex(6))
    """A name for the run that no other run has."""

    def extended(self, models: tuple[str, ...], attempts: int, flags: dict[str, Any], shared: str = "") -> RunOptions:
        """Return the options with more models and flags, with this number of attempts unless it is 0, and with this
        shared directory unless it is empty.
        """
        return msgspec.structs.replace(
            self,
            models=tuple(dict.fromkeys((*self.models, *models))),
            attempts=attempts or self.attempts,
            flags={**self.flags, **flags},
            shared=shared or self.shared,
        )


class RunDirectory:
    """The paths of a run; one client at a time may hold it."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path).expanduser().absolute()
        self._lock = ExitStack()

    @property
    def results(self) -> Path:
        """The database with the outcomes."""
        return self.path / "results.sqlite"

    @property
    def sessions(self) -> Path:
        """The directory with the session file of each attempt."""
        return self.path / "sessions"

    def of_attempt(self, key: str) -> Path:
        """The directory of what one attempt left behind: patch, and output of setup and check."""
        return self.path / "attempts" / key

    @property
    def cost_without_outcomes(self) -> float:
        """What killed and repeated attempts have cost, in US dollars."""
        return cost_without_outcomes(self.of_attempt(""))

    @property
    def is_in_use(self) -> bool:
        """Whether a client works on the run now."""
        return is_locked(self.path / "lock")

    @property
    def exists(self) -> bool:
        """Whether this is the directory of a run."""
        return (self.path / _OPTIONS).is_file()

    @property
    def options_written(self) -> float:
        """When the options were written, which each client does when it starts, in seconds since the epoch; or 0."""
        try:
            return (self.path / _OPTIONS).stat().st_mtime
        except OSError:
            return 0.0

    def create(self, options: RunOptions, tasks: Sequence[TaskSpec]) -> Self:
        """Create the directory and hold it. Raises UsageError if it contains anything already, or cannot be written."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._hold()
            if self.exists:
                raise UsageError(f"{self._name} has a run already; --resume continues it")
            if any(each.name != "lock" for each in self.path.iterdir()):
                raise UsageError(f"{self._name} is not empty; give a new directory with -o")
            (self.path / "attempts").mkdir()
            self.sessions.mkdir(mode=0o700)
            replace_file(self.path / _TASKS, encoded(tasks))
            self.write(options)
        except OSError as error:
            raise UsageError(f"{self._name} cannot be used for a run: {error.strerror or error}") from None
        return self

    def open(self) -> Self:
        """Hold the directory of an earlier run. Raises UsageError if there is none, or another client holds it."""
        self.check()
        try:
            self._hold()
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(f"{self._name} cannot be written: {reason}; a run that is resumed must be") from None
        return self

    def check(self) -> None:
        """Raise UsageError if this is not the directory of a run; any number of programs may read one."""
        if not self.exists:
            raise UsageError(f"there is no run in {self._name}")

    def forget(self, key: str, outcome: AttemptOutcome | None) -> None:
        """Prepare the repetition of an attempt: what it left before is deleted. Raises WorkbenchError."""
        if outcome is None:
            return
        try:
            forget_files(self.of_attempt(key), outcome)
            if outcome.session:
                (self.sessions / f"{outcome.session}{SUFFIX}").unlink(missing_ok=True)
        except OSError as error:
            raise WorkbenchError(f"{self._name} cannot be written: {error.strerror or error}") from None

    def write(self, options: RunOptions) -> None:
        """Store the options. Raises OSError."""
        replace_file(self.path / _OPTIONS, msgspec.json.encode(options))

    def options(self) -> RunOptions:
        """Return the options of the run. Raises WorkbenchError."""
        return self._read(_OPTIONS, lambda raw: msgspec.json.decode(raw, type=RunOptions))

    def tasks(self) -> list[TaskSpec]:
        """Return the tasks of the run. Raises WorkbenchError."""
        return self._read(_TASKS, decoded)

    def _read(self, name: str, decode: Callable[[bytes], T]) -> T:
        try:
            return decode((self.path / name).read_bytes())
        except OSError as error:
            raise WorkbenchError(f"{name} in {self._name} cannot be read: {error.strerror or error}") from None
        except msgspec.MsgspecError as error:
            raise WorkbenchError(f"{name} in {self._name} cannot be read: {error}") from None

    def _hold(self) -> None:
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._lock.callback(os.close, descriptor)
        for patience in (0.05, 0.2, 0.0):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(patience)  # `ohw batch watch` has it for a moment, to see whether a client does
        self.close()
        raise UsageError(f"another `ohw batch` is working on {self._name}")

    @property
    def _name(self) -> str:
        return visible_path(str(self.path))

    def close(self) -> None:
        """Release the directory; may be called twice."""
        self._lock.close()
