"""The files that an attempt leaves in the directory of its run, or returns to it from another machine."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from workbench import __version__
from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.batch.attempt_progress import DRAFT_FILE, PROGRESS_FILE
from workbench.batch.discarded_costs import DISCARDED_FILE, discard_cost, discard_progress
from workbench.batch.stored_results import PART, StoredResult, store_result
from workbench.config.locations import Locations, private_directory
from workbench.errors import WorkbenchError
from workbench.files.state_files import replace_file
from workbench.lazy_pattern import lazy_pattern
from workbench.llm.model import Cancel
from workbench.session.session_names import SUFFIX
from workbench.text import first_line, visible_path

_OUTCOME: Final = "outcome.json"
_LOCK: Final = "lock"
_NOTE: Final = "session"
_QUESTION: Final = "question"
_NO_RESULTS: Final = frozenset({_LOCK, _NOTE, PROGRESS_FILE, DRAFT_FILE, DISCARDED_FILE})
"""Files of an attempt that are not about its result."""
_LONGEST_QUESTION: Final = 300
_POLL: Final = 0.2
_SESSION: Final = lazy_pattern(r"[a-z0-9][a-z0-9-]{0,79}")


def running_data(user: Locations, nonce: str) -> Path:
    """Return the directory of a run's sessions on this machine while they run, beside the user's own data."""
    return user.data.parent / "ohw-batch" / nonce


class RunContext(msgspec.Struct, frozen=True):
    """What all attempts of a run have in common."""

    nonce: str
    directory: str
    """The directory of the run; it is the same one on a worker if its `run.json` has the nonce."""
    flags: dict[str, Any] = {}
    """Settings from the command line, without secrets."""
    keeps_workspaces: bool = False
    version: str = __version__
    answer_seconds: float = 0.0
    """How long a question waits for the user if no one has the attempt open."""
    shared: str = ""
    """A directory that the client and all workers see, for archives of workspaces and what attempts leave behind."""
    settings: dict[str, Any] = {}
    """The settings of the client's user that are not for one machine, without secrets."""
    command_model: str = ""
    """The model that the key and the URL on the command line or in the environment are for; empty for all models."""
    client: str = ""
    """A name for the client: attempts of an interrupted one end, and those of a later one for the same run start."""

    @property
    def local_data(self) -> Path:
        """The directory of the run's sessions on this machine while they run."""
        return running_data(Locations.from_environment(), self.nonce)

    @property
    def own_run(self) -> Path:
        """The directory for the files of attempts on a worker that does not see the directory of the run."""
        return self.local_data / "run"

    @property
    def shared_run(self) -> Path | None:
        """The directory of the run in the shared directory, if there is one."""
        return Path(self.shared) / f"ohw-batch-{self.nonce}" if self.shared else None

    @property
    def visible_run(self) -> Path | None:
        """The directory of the run that this worker sees: that of the client, or the one in the shared directory."""
        candidates = (Path(self.directory), self.shared_run)
        nonce = self.nonce.encode()
        return next((each for each in candidates if each is not None and nonce in _content(each / "run.json")), None)

    @property
    def written_directories(self) -> tuple[Path, ...]:
        """The directories in which this worker stores what attempts write."""
        run = self.visible_run
        return (self.local_data, run / "attempts") if run is not None else (self.local_data,)

    @property
    def archives(self) -> list[Path]:
        """The directories in which archives of workspaces are on this worker."""
        return [each / "archives" for each in (self.shared_run, self.local_data) if each is not None]


class Report(msgspec.Struct, frozen=True):
    """What a worker returns: the outcome, and the contents of files if the directory of the run is not on this worker.

    The files are named relative to that directory.
    """

    outcome: AttemptOutcome
    files: Mapping[str, bytes] = {}
    is_in_shared: bool = False
    """Whether the files are in the shared directory."""
    stored: StoredResult | None = None
    """Where the files are on the worker, if they are too large for one message."""
    missing_archive: str = ""
    """The archive of its workspace that the worker lacks; the attempt has not started."""
    worker_problem: str = ""
    """Why the worker cannot run attempts; this one failed because of that, so its outcome shows nothing."""

    def check(self, attempt: TaskAttempt) -> None:
        """Raise WorkbenchError if this is not about the attempt, or names files that are not the attempt's.

        A worker may be on another machine, and what an agent does there must not reach other files here.
        """
        outcome, own = self.outcome, f"attempts/{attempt.key}/"
        is_own = outcome.names == attempt.names and outcome.patch in ("", f"{own}changes.patch")
        if outcome.session:
            is_own = is_own and _SESSION.fullmatch(outcome.session) is not None
        for name in (*self.files, *(self.stored.sizes if self.stored is not None else ())):
            plain = name.removeprefix(own)
            is_plain = name.startswith(own) and "/" not in plain and plain not in ("", ".", "..", _LOCK)
            is_own = is_own and (is_plain or name == f"sessions/{outcome.session}{SUFFIX}")
        if not is_own:
            raise WorkbenchError(f"the report of a worker about {attempt.key} has names that are not its own")


class AttemptFiles:
    """The files of one attempt. It is locked meanwhile: an attempt whose client was lost never runs beside its
    repetition.
    """

    def __init__(self, run: Path, attempt: TaskAttempt, *, is_shared: bool, is_in_shared: bool = False) -> None:
        self._run = run
        self._is_in_shared = is_in_shared
        self._is_shared = is_shared
        self._attempt = attempt
        self._relative = f"attempts/{attempt.key}"
        self.directory = run / self._relative

    @classmethod
    @contextmanager
    def locked(cls, context: RunContext, attempt: TaskAttempt, cancel: Cancel) -> Iterator[AttemptFiles | None]:
        """Yield the files of an attempt once no other process runs it, or None if it is canceled before. Raises
        OSError, and WorkbenchError if the worker does not see the shared directory.
        """
        run, shared = context.visible_run, context.shared_run
        if shared is not None and run is None:
            raise WorkbenchError(f"this worker does not see {visible_path(context.shared)}, which --shared names")
        is_shared = run is not None
        files = cls(run or context.own_run, attempt, is_shared=is_shared, is_in_shared=is_shared and run == shared)
        files.directory.mkdir(parents=True, exist_ok=True)
        # The lock of a directory that is deleted afterwards is beside it: nobody may wait for a file that is gone.
        lock = files.path(_LOCK) if is_shared else files.directory.with_suffix(".lock")
        with lock.open("w") as descriptor:
            if not _lock(descriptor, cancel):
                yield None
                return
            try:
                yield files
            finally:
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
            if not raw:
                return None
            report = Report(msgspec.json.decode(raw, type=AttemptOutcome), is_in_shared=self._is_in_shared)
            report.check(self._attempt)
        except (msgspec.MsgspecError, WorkbenchError):
            return None
        return report

    def note_session(self, session_id: str) -> None:
        """Note the session that the attempt starts now, and settle what a killed worker noted. Raises OSError.

        A worker that is killed after it has stored a session, and before the outcome, would leave one too many.
        """
        note = self.path(_NOTE)
        earlier = _content(note).decode(errors="replace")
        if _SESSION.fullmatch(earlier):
            (self._run / "sessions" / f"{earlier}{SUFFIX}").unlink(missing_ok=True)
        discard_progress(self.directory)
        note.write_text(session_id)

    def note_question(self, question: str) -> None:
        """Note what the attempt waits for, or with an empty text that it does not wait. Raises OSError."""
        if question:
            replace_file(self.path(_QUESTION), question.encode())
        else:
            self.path(_QUESTION).unlink(missing_ok=True)

    def report(self, outcome: AttemptOutcome, session: Path | None) -> Report:
        """Store the outcome and the file of the session, or return them by value if they are small. Raises OSError."""
        if outcome.ending != "interrupted":  # its outcome is not stored, and gets lost with a client that is killed
            self.path(PROGRESS_FILE).unlink(missing_ok=True)
        if self._is_shared:
            if session is not None:
                shutil.move(session, private_directory(self._run / "sessions") / session.name)
            if outcome.ending != "interrupted":
                replace_file(self.path(_OUTCOME), msgspec.json.encode(outcome))
            return Report(outcome, is_in_shared=self._is_in_shared)
        entries = [each for each in self.directory.iterdir() if each.name not in _NO_RESULTS]
        paths = {self.relative(each.name): each for each in entries}
        if session is not None:
            paths[f"sessions/{session.name}"] = session
        if sum(path.stat().st_size for path in paths.values()) > PART:
            return Report(outcome, stored=store_result(self._run, paths))
        files = {name: path.read_bytes() for name, path in paths.items()}
        if session is not None:
            session.unlink()
        return Report(outcome, files)


def create_shared_run(context: RunContext) -> None:
    """Create the directory of the run in the shared directory, if there is one. Raises WorkbenchError."""
    directory = context.shared_run
    if directory is None:
        return
    try:
        private_directory(directory)
        replace_file(directory / "run.json", msgspec.json.encode({"nonce": context.nonce}))
    except OSError as error:
        where = visible_path(context.shared)
        raise WorkbenchError(f"{where}, which --shared names, cannot be used: {error.strerror or error}") from None


def forget_shared_run(context: RunContext) -> None:
    """Delete what the run has in the shared directory; all of it that matters has been moved."""
    if context.shared_run is not None:
        shutil.rmtree(context.shared_run, ignore_errors=True)
    shutil.rmtree(Path(context.directory) / "archives", ignore_errors=True)


def move_files(attempt: TaskAttempt, outcome: AttemptOutcome, source: Path, target: Path) -> None:
    """Move what an attempt left in one directory of the run to another. Raises OSError.

    Only regular files are moved, because a link could lead to any file of this machine.
    """
    own = f"attempts/{attempt.key}"
    names = [f"{own}/{each.name}" for each in (source / own).iterdir() if each.name not in _NO_RESULTS]
    names += [f"sessions/{outcome.session}{SUFFIX}"] if outcome.session else []
    for name in names:
        if (source / name).is_file() and not (source / name).is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source / name, target / name)


def question_in(directory: Path) -> str:
    """Return the first line of what the attempt with these files waits for; empty if it does not wait."""
    return first_line(_content(directory / _QUESTION).decode(errors="replace"), _LONGEST_QUESTION)


def forget_files(directory: Path, outcome: AttemptOutcome) -> None:
    """Let an attempt with files in this directory run again: delete what it left but its cost. Raises OSError."""
    if directory.is_dir():
        for file in directory.iterdir():
            if file.name not in (_LOCK, DISCARDED_FILE):
                file.unlink()
    discard_cost(directory, outcome.cost)


def _lock(file: IO[str], cancel: Cancel) -> bool:
    """Lock a file as soon as no other process has; return False if `cancel` is set before."""
    while not cancel.is_set:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            cancel.wait(_POLL)
    return False


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
