"""A race: some attempts at one prompt, all from the present state of a workspace, ranked, to be applied to it.

A race is a run of one task, in ohw's data directory. All attempts start from a copy of the workspace that is made
first, because the workspace may change while they run. What each attempt has changed is then stored as snapshots of the
workspace, so that the front ends show and apply it like the changes of any other session.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from workbench.batch.attempt import AttemptOutcome, TaskAttempt, planned
from workbench.batch.results import read_outcomes
from workbench.batch.run_directory import RunDirectory, RunOptions
from workbench.batch.task import TaskSpec
from workbench.batch.workspaces import copy_directory
from workbench.config.locations import Locations, private_directory
from workbench.errors import UsageError, WorkbenchError
from workbench.files.git import OwnRepository
from workbench.files.state_files import replace_file
from workbench.session.session_names import new_id
from workbench.session.storage.cleanup import RETENTION_DAYS
from workbench.session.storage.race_leftovers import RECORD, START, delete_copies, delete_start, races_of
from workbench.session.workspace.repository import SnapshotRepository, listed
from workbench.text import visible, visible_path

MODE: Final = "high"
"""The mode of attempts unless another one is chosen: no one is there to answer, and they only change a copy."""
TASK: Final = "race"
"""The ID of the task."""
_SECONDS: Final = 120.0
"""Time limit for git, which stores the changed files of an attempt."""
_TIERS: Final[Mapping[str, int]] = {"solved": 0, "done": 0, "unsolved": 1, "question": 2, "limit": 2, "interrupted": 2}
"""The order of states in the ranking; all others, which are failures, come last."""
_WINNING: Final = ("solved", "done")


class RaceRecord(msgspec.Struct, frozen=True):
    """What a race is about, and what its attempts have changed, by their keys."""

    workspace: str
    """The directory whose state the attempts start from, and to which their changes can be applied."""
    started: float
    """Seconds since the epoch."""
    versions: Mapping[str, tuple[str, str]] = {}
    """The snapshots of the changed files before and after an attempt, which contain no other files."""
    problems: Mapping[str, str] = {}
    """Why there are no snapshots of what an attempt has changed."""
    only_permissions: frozenset[str] = frozenset()
    """The attempts that have changed the permissions of files, and nothing else."""
    is_finished: bool = False
    """Whether the changes of all attempts that have ended are stored."""
    is_complete: bool = False
    """Whether all attempts have ended."""


@dataclass(frozen=True)
class RankedAttempt:
    """An attempt in the order of the ranking; `versions` are the snapshots of its changes, None if it has none."""

    rank: int
    outcome: AttemptOutcome
    versions: tuple[str, str] | None = None
    problem: str = ""
    """Why its changes cannot be shown."""
    only_permissions: bool = False
    """Whether it has changed the permissions of files, and nothing else."""

    @property
    def has_won(self) -> bool:
        """Whether this is the best attempt, and it solved the task or, without a check, was done."""
        return self.rank == 1 and self.outcome.state in _WINNING


def ranked(outcomes: Iterable[AttemptOutcome]) -> list[AttemptOutcome]:
    """Return the outcomes, the best one first.

    Those whose check succeeded come first, then those with the smallest patch, then the cheapest ones. An attempt that
    changed nothing is the last of its equals, and an unknown price comes after all known ones.
    """
    return sorted(
        outcomes,
        key=lambda each: (
            _TIERS.get(each.state, 3),
            not each.patch,
            each.patch_lines,
            each.unpriced > 0,
            each.cost,
            each.model,
            each.attempt,
        ),
    )


class Race:
    """One race and its directory."""

    def __init__(self, locations: Locations, name: str) -> None:
        self.name = name
        self.run = RunDirectory(races_of(locations) / name)
        self._locations = locations

    @classmethod
    def create(
        cls,
        locations: Locations,
        task: TaskSpec,
        options: RunOptions,
        is_interrupted: Callable[[], bool] = lambda: False,
    ) -> Race:
        """Create a race at a task whose workspace is a directory, which is copied now. The run is held by this process.

        The copying ends once `is_interrupted` returns True. Raises WorkbenchError, also then; nothing remains.
        """
        workspace = Path(task.workspace)
        private_directory(races_of(locations))
        race = cls(locations, new_id(task.prompt))
        start = race._start / (workspace.name or "workspace")
        race.run.create(options, [msgspec.structs.replace(task, workspace=str(start))])
        try:
            race._start.mkdir(mode=0o700)
            copy_directory(workspace, start, Path(os.path.realpath(race.run.path)), is_interrupted)
            race._write(RaceRecord(str(workspace), time.time()))
        except BaseException:
            race.run.close()
            shutil.rmtree(race.run.path, ignore_errors=True)
            raise
        return race

    @classmethod
    def reopen(cls, locations: Locations, name: str) -> Race:
        """Open a race to resume it. The run is held by this process. Raises UsageError if that is impossible."""
        race = race_named(locations, name)
        try:
            race.run.open()
        except UsageError:
            raise UsageError(f"the race {name} is running") from None
        if not race.can_resume:
            race.run.close()
            reason = "its copy of the directory was deleted" if race.open_attempts() else "all of its attempts ended"
            raise UsageError(f"the race {name} cannot be resumed: {reason}; --show shows it")
        return race

    @property
    def _start(self) -> Path:
        """The directory with the copy of the workspace that the attempts start from, until all of them have ended."""
        return self.run.path / START

    @property
    def can_resume(self) -> bool:
        """Whether some attempts have not ended, and the state that they start from still exists."""
        return self._start.is_dir() and bool(self.open_attempts())

    def open_attempts(self) -> list[TaskAttempt]:
        """Return the attempts that have not ended, or were interrupted. Raises WorkbenchError."""
        options = self.run.options()
        ended = {each.names for each in read_outcomes(self.run.results) if each.ending != "interrupted"}
        return [each for each in planned(self.run.tasks(), options.models, options.attempts) if each.names not in ended]

    def record(self) -> RaceRecord:
        """Return what is stored about the race. Raises UsageError if there is no such race, or WorkbenchError."""
        path = self.run.path / RECORD
        try:
            return msgspec.json.decode(path.read_bytes(), type=RaceRecord)
        except FileNotFoundError:
            name = visible(self.name, lines=False)
            raise UsageError(f"there is no race {name}; races are deleted after {RETENTION_DAYS} days") from None
        except (OSError, msgspec.MsgspecError) as error:
            raise WorkbenchError(f"{visible_path(str(path))} cannot be read: {error}") from None

    def finish(self) -> None:
        """Store the changes of all attempts that have ended; delete the copy that they started from once all have.

        The check and the notice of an attempt remain, and so does its patch, even if its changes cannot be stored.
        """
        record, (task, *_) = self.record(), self.run.tasks()
        versions, problems, only_permissions = {}, {}, set()
        repository = SnapshotRepository(self._locations, Path(record.workspace), self.name)
        for outcome in read_outcomes(self.run.results):
            if not outcome.patch:
                continue
            key = _key(task, outcome)
            try:
                patch = (self.run.path / outcome.patch).read_bytes()
                versions[key] = _stored(repository, Path(task.workspace), patch)
                if all(each.before == each.after for each in repository.difference(*versions[key])):
                    only_permissions.add(key)
            except (OSError, WorkbenchError) as error:
                problems[key] = f"its changes cannot be compared: {getattr(error, 'strerror', None) or error}"
        record = msgspec.structs.replace(
            record,
            versions=versions,
            problems=problems,
            only_permissions=frozenset(only_permissions),
            is_finished=True,
            is_complete=not self.open_attempts(),
        )
        self._write(record)
        if record.is_complete:
            delete_start(self.run.path)

    def finish_abandoned(self) -> None:
        """Store the changes of the attempts that have ended if the process of the race was killed before it did."""
        if self.record().is_finished or not self._start.is_dir():
            return
        try:
            self.run.open()
        except UsageError:
            return  # it is running
        with closing(self.run):
            self.finish()

    def ranking(self) -> list[RankedAttempt]:
        """Return the attempts that have ended, the best one first. Raises UsageError or WorkbenchError."""
        record, (task, *_) = self.record(), self.run.tasks()

        outcomes = ranked(read_outcomes(self.run.results))
        keys = [_key(task, each) for each in outcomes]
        return [
            RankedAttempt(
                rank, outcome, record.versions.get(key), record.problems.get(key, ""), key in record.only_permissions
            )
            for rank, (key, outcome) in enumerate(zip(keys, outcomes, strict=True), 1)
        ]

    def output_of_check(self, outcome: AttemptOutcome) -> tuple[str, str]:
        """Return "check" and what it printed after an attempt, or else "setup" and its output; empty if neither ran."""
        task, *_ = self.run.tasks()
        directory = self.run.of_attempt(_key(task, outcome))
        for command in ("check", "setup"):
            with suppress(OSError):
                return command, (directory / f"{command}.log").read_text(encoding="utf-8", errors="replace")
        return "", ""

    def close(self) -> None:
        """Release the directory of the race, and delete the copies of the workspace that are not needed any more.

        A race that cannot be resumed and in which no attempt has ended is deleted: nothing of it can be shown.
        """
        delete_copies(self._locations, self.run.path)
        with suppress(WorkbenchError):
            if not self.can_resume and not read_outcomes(self.run.results):
                shutil.rmtree(self.run.path, ignore_errors=True)
        self.run.close()

    def delete(self) -> None:
        """Delete everything of the race. Raises UsageError if it is running."""
        try:
            self.run.open()
        except UsageError:
            raise UsageError(f"the race {self.name} is running") from None
        with closing(self.run):
            delete_copies(self._locations, self.run.path)
            shutil.rmtree(self.run.path, ignore_errors=True)

    def _write(self, record: RaceRecord) -> None:
        try:
            replace_file(self.run.path / RECORD, msgspec.json.encode(record))
        except OSError as error:
            name = visible_path(str(self.run.path))
            raise WorkbenchError(f"{name} cannot be written: {error.strerror or error}") from None


def _key(task: TaskSpec, outcome: AttemptOutcome) -> str:
    return TaskAttempt(task, outcome.model, outcome.attempt).key


def _stored(repository: SnapshotRepository, start: Path, patch: bytes) -> tuple[str, str]:
    """Store the files that a patch changes as two snapshots, before and after it, and return their ids.

    `start` is the directory that the patch applies to. Raises SnapshotError, also if it does not apply.
    """
    repository.prepare()
    with repository.other_index() as index:
        own = OwnRepository(index.git_dir, start, index.index)

        def git(*words: str, data: bytes = b"") -> bytes:
            return repository.git(words, data, own=own, timeout=_SECONDS)

        names = [line.split(b"\t", 2)[2] for line in git("apply", "--numstat", "-z", data=patch).split(b"\0")[:-1]]
        changed = (os.fsdecode(name) for name in names)
        present = [name for name in changed if _has_file(start, name)]
        git("update-index", "--add", "-z", "--stdin", data=listed(present))
        before = git("write-tree").decode().strip()
        git("apply", data=patch)
        return before, git("write-tree").decode().strip()


def _has_file(start: Path, name: str) -> bool:
    """Return whether a directory itself has a file or link with this relative path, which is not behind a link."""
    path, (*parents, _) = start / name, Path(name).parents
    is_behind_link = any((start / each).is_symlink() for each in parents)
    return not is_behind_link and (path.is_symlink() or path.is_file())


def race_named(locations: Locations, name: str) -> Race:
    """Return the race with this name. Raises UsageError if there is none, or WorkbenchError."""
    race = Race(locations, name)
    if race.run.path.parent != races_of(locations):
        raise UsageError(f"{visible(name, lines=False)} is not the name of a race")
    race.record()
    return race


def last_race(locations: Locations, workspace: Path) -> Race:
    """Return the newest race in a workspace of which something can be shown. Raises UsageError if there is none."""
    return _newest(locations, workspace, lambda race, record: record.is_finished, "there was no race in {} yet")


def resumable_race(locations: Locations, workspace: Path) -> Race:
    """Return the newest race in a workspace that was not completed and can be. Raises UsageError if there is none."""

    def may_resume(race: Race, record: RaceRecord) -> bool:
        return not record.is_complete and not race.run.is_in_use and race.can_resume

    return _newest(locations, workspace, may_resume, "there is no race in {} that can be resumed")


def running_race(locations: Locations, workspace: Path) -> Race:
    """Return the newest race in a workspace that is running. Raises UsageError if there is none."""
    return _newest(locations, workspace, lambda race, record: race.run.is_in_use, "no race is running in {}")


def _newest(locations: Locations, workspace: Path, fits: Callable[[Race, RaceRecord], bool], none: str) -> Race:
    newest: tuple[float, Race] | None = None
    for path in races_of(locations).glob(f"*/{RECORD}"):
        race = Race(locations, path.parent.name)
        with suppress(WorkbenchError):
            record = race.record()
            is_newer = newest is None or record.started > newest[0]
            if is_newer and record.workspace == str(workspace) and fits(race, record):
                newest = record.started, race
    if newest is None:
        raise UsageError(none.format(visible_path(str(workspace))))
    return newest[1]


def attempts_with_each(models: Sequence[str], attempts: int) -> int:
    """Return the number of attempts with each model: `attempts`, unless it is 0.

    By default each of several models has one attempt, and a single model has three.
    """
    return attempts or (1 if len(models) > 1 else 3)
