"""What a run does now, read from its directory again and again; the run may be running, finished or interrupted."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from workbench.batch.attempt import AttemptOutcome, TaskAttempt, planned
from workbench.batch.attempt_files import question_in
from workbench.batch.attempt_progress import AttemptProgress, read_progress
from workbench.batch.attempt_states import PENDING, RUNNING, WAITING
from workbench.batch.elsewhere import ElsewhereList
from workbench.batch.pace import RunPace, dollars_a_minute, pace_of
from workbench.batch.results import ResultsReader
from workbench.batch.run_directory import RunDirectory, RunOptions
from workbench.batch.task import TaskSpec
from workbench.session.session_names import SUFFIX
from workbench.session.storage.lock import is_locked

_MOST_TIMED: Final = 2_000
"""The latest attempts by which the remaining time is estimated."""
Names = tuple[str, str, int]


class AttemptStatus(msgspec.Struct, frozen=True):
    """One attempt as it is now."""

    attempt: TaskAttempt
    outcome: AttemptOutcome | None = None
    live: str = PENDING
    """Without an outcome: `running`, `waiting` (for an answer), or `pending`."""
    session: str = ""
    """The ID of its session, while that runs on this machine."""
    question: str = ""
    """What it asks while it is waiting, as one line."""
    since: float = 0.0
    """When it was started, in seconds since the epoch, while it runs."""
    progress: AttemptProgress | None = None
    """What it has spent and done so far, while it runs."""

    @property
    def state(self) -> str:
        """One word for lists."""
        return self.outcome.state if self.outcome is not None else self.live

    @property
    def spent(self) -> AttemptOutcome | AttemptProgress | None:
        """What has its steps, tokens and cost, also while it runs; None if nothing is known of them."""
        return self.outcome or self.progress

    @property
    def cost(self) -> float:
        """What it has cost so far, in US dollars; 0 while that is not known."""
        return self.spent.cost if self.spent is not None else 0.0

    def seconds(self, now: float) -> float:
        """Return how long it took, or has been running at `now`."""
        if self.outcome is not None:
            return self.outcome.total_seconds
        return max(0.0, now - self.since) if self.since else 0.0


class TaskRow(msgspec.Struct, frozen=True):
    """A task with the attempts at it, by model and in their order."""

    task: TaskSpec
    cells: Mapping[str, Sequence[AttemptStatus]]

    @property
    def statuses(self) -> Iterator[AttemptStatus]:
        """All attempts at the task."""
        return (status for cell in self.cells.values() for status in cell)


class RunView(msgspec.Struct, frozen=True):
    """A run as it was when it was read; `rows` is the same object as long as nothing in it has changed."""

    name: str
    rows: Sequence[TaskRow] = ()
    models: Sequence[str] = ()
    states: Mapping[str, int] = {}
    """How many attempts are in each state."""
    cost: float = 0.0
    unpriced: int = 0
    is_running: bool = False
    """Whether a client works on the run now."""
    pace: RunPace | None = None

    @property
    def total(self) -> int:
        """How many attempts the run has."""
        return sum(self.states.values())

    @property
    def done(self) -> int:
        """How many attempts have ended, and are not repeated when the run is resumed."""
        return self.total - sum(self.states.get(state, 0) for state in (PENDING, RUNNING, WAITING, "interrupted"))

    @property
    def phase(self) -> str:
        """One word for the run: `running`, `finished`, or `interrupted` if attempts remain and nothing works on it."""
        if self.is_running:
            return "running"
        return "finished" if self.done == self.total else "interrupted"


class WatchedRun:
    """Reads the directory of a run. `read` reads only what has changed since; it may be called in any thread, but by
    one at a time.
    """

    def __init__(
        self, directory: RunDirectory, sessions: Path | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        """`sessions` is the directory of the sessions that run on this machine; without one, each of them counts as
        one that does. `clock` returns the seconds since the epoch.
        """
        self.directory = directory
        self._sessions = sessions
        self._clock = clock
        self._results = ResultsReader(directory.results)
        self._tasks: list[TaskSpec] = []
        self._options: RunOptions | None = None
        self._written = 0.0
        """When the options were written, which every client does when it starts, in seconds since the epoch."""
        self._attempts: dict[Names, TaskAttempt] = {}
        self._keys: dict[str, Names] = {}
        self._listed = 0
        """The time of the directory of attempts when it was listed."""
        self._entries: set[str] = set()
        self._live: dict[Names, AttemptStatus] = {}
        self._row_of: dict[str, int] = {}
        """The position of each task in the rows."""
        self._elsewhere = ElsewhereList(directory.path)
        self._view = RunView(directory.path.name)

    def read(self) -> RunView:
        """Return the run as it is now. Raises WorkbenchError if it cannot be read."""
        is_new = self._read_plan()
        is_changed = self._results.refresh() or is_new
        is_running = self.directory.is_in_use
        live = {status.attempt.names: status for status in self._running(is_running)}
        if is_changed or not self._view.rows:
            self._live = live
            self._view = self._with_rows()
        elif live != self._live:
            self._view = self._with_live(live)
            self._live = live
        return msgspec.structs.replace(self._view, is_running=is_running, pace=self._pace(is_running))

    def _read_plan(self) -> bool:
        """Read the tasks, and the options if they have changed; return whether there are other attempts now."""
        written = self.directory.options_written
        if self._options is not None and written == self._written:
            return False
        options, self._written = self.directory.options(), written
        if not self._tasks:
            self._tasks = self.directory.tasks()
        if options == self._options:
            return False
        self._options = options
        for attempt in planned(self._tasks, options.models, options.attempts):
            if attempt.names not in self._attempts:
                self._attempts[attempt.names] = attempt
                self._keys[attempt.key] = attempt.names
        return True

    def _running(self, has_client: bool) -> Iterator[AttemptStatus]:
        """Yield the attempts that run: on this machine, with their files here, or where their client says."""
        for key, each in self._elsewhere.read().items() if has_client else ():
            if (attempt := self._without_outcome(key)) is not None:
                yield AttemptStatus(attempt, None, RUNNING, since=each.since, progress=each.progress)
        for key in self._list_attempts():
            if (attempt := self._without_outcome(key)) is None:
                continue
            files = self.directory.of_attempt(key)
            if is_locked(files / "lock"):
                question = question_in(files)
                live = WAITING if question else RUNNING
                since = _modified(files / "lock")
                session = self._session_here(_text(files / "session").strip())
                yield AttemptStatus(attempt, None, live, session, question, since, read_progress(files))

    def _without_outcome(self, key: str) -> TaskAttempt | None:
        """Return the attempt with this key if it belongs to the run, and has not ended or was interrupted."""
        names = self._keys.get(key)
        outcome = self._results.outcomes.get(names) if names is not None else None
        if names is None or (outcome is not None and outcome.ending != "interrupted"):
            return None
        return self._attempts[names]

    def _session_here(self, name: str) -> str:
        """Return the ID of a session if it runs on this machine: an attempt elsewhere may share its other files."""
        is_here = self._sessions is None or (self._sessions / f"{name}{SUFFIX}").is_file()
        return name if is_here else ""

    def _list_attempts(self) -> Iterable[str]:
        """Return the names of the directories of attempts, which are listed when there are more than before."""
        directory = self.directory.of_attempt("")
        with suppress(OSError):
            changed = directory.stat().st_mtime_ns
            if changed != self._listed:
                self._entries = {entry.name for entry in os.scandir(directory)}
                # A directory that was made in the same tick of the clock as the list has the same time.
                self._listed = changed if time.time_ns() - changed > 1_000_000_000 else 0
        return self._entries

    def _with_rows(self) -> RunView:
        """Return the view with all rows, without what depends on the time."""
        assert self._options is not None
        outcomes = self._results.outcomes
        tasks = {task.id: task for task in self._tasks}
        for outcome in outcomes.values():  # of a run that had more models or attempts before
            if outcome.names not in self._attempts:
                task = tasks.get(outcome.task) or TaskSpec(outcome.task)
                self._attempts[outcome.names] = TaskAttempt(task, outcome.model, outcome.attempt)
        cells: dict[str, dict[str, list[AttemptStatus]]] = defaultdict(lambda: defaultdict(list))
        states: Counter[str] = Counter()
        for names, attempt in self._attempts.items():
            status = self._live.get(names) or AttemptStatus(attempt, outcomes.get(names))
            states[status.state] += 1
            cells[attempt.task.id][attempt.model].append(status)
            tasks.setdefault(attempt.task.id, attempt.task)
        self._row_of = {name: number for number, name in enumerate(tasks)}
        models = dict.fromkeys((*self._options.models, *(attempt.model for attempt in self._attempts.values())))
        used = {model for row in cells.values() for model in row}
        return RunView(
            self.directory.path.name,
            rows=[TaskRow(task, cells[name]) for name, task in tasks.items()],
            models=[model for model in models if model in used],
            states=states,
            cost=sum(outcome.cost for outcome in outcomes.values()) + self._spent_now,
            unpriced=sum(outcome.unpriced for outcome in outcomes.values()),
        )

    @property
    def _spent_now(self) -> float:
        """What the running attempts have cost so far, in US dollars."""
        return sum(status.cost for status in self._live.values())

    def _with_live(self, live: dict[Names, AttemptStatus]) -> RunView:
        """Return the view with other running attempts, which may be the same ones with other figures.

        Only their rows are built again: this happens each second, and a run may have 20,000 others.
        """
        states, rows = Counter(self._view.states), [*self._view.rows]
        for names in {*live, *self._live}:
            before, now = self._live.get(names), live.get(names)
            if before == now:
                continue
            attempt = self._attempts[names]
            status = now or AttemptStatus(attempt, self._results.outcomes.get(names))
            row = rows[self._row_of[attempt.task.id]]
            cell = row.cells[attempt.model]
            number = next(at for at, each in enumerate(cell) if each.attempt.number == attempt.number)
            states[cell[number].state] -= 1
            states[status.state] += 1
            cells = {**row.cells, attempt.model: [*cell[:number], status, *cell[number + 1 :]]}
            rows[self._row_of[attempt.task.id]] = TaskRow(row.task, cells)
        spent = sum(status.cost for status in live.values()) - self._spent_now
        return msgspec.structs.replace(self._view, rows=rows, states=states, cost=self._view.cost + spent)

    def _pace(self, is_running: bool) -> RunPace | None:
        """Return the pace since the last client started; None if nothing has ended since, and nothing runs."""
        recent = [each for each in self._results.outcomes.values() if each.started >= self._written - 1]
        if not (is_running or recent):
            return None
        now = self._clock() if is_running else max(each.started + each.total_seconds for each in recent)
        durations = [each.total_seconds for each in recent]
        pace = pace_of(durations, max(0.0, now - self._written), 0, 1)
        if not is_running:
            return pace
        remaining = self._view.total - self._view.done
        # The rate is that of all, and the spread that of the latest, which is enough.
        timed = pace_of(durations[-_MOST_TIMED:], pace.passed, remaining, len(self._live))
        dollars = dollars_a_minute(sum(each.cost for each in recent) + self._spent_now, pace.passed)
        return RunPace(pace.passed, pace.per_minute, timed.remaining, dollars)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(4_096).decode(errors="replace")
    except OSError:
        return ""


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
