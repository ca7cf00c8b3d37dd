"""An attempt at a task: one session with one model. And its outcome, as workers report it and results store it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from workbench.batch.task import TaskSpec
from workbench.lazy_pattern import lazy_pattern

Ending: TypeAlias = Literal[
    "finished", "waiting", "question", "limit", "stuck", "error", "interrupted", "workspace", "setup", "worker"
]
"""How an attempt ended: as its run did, or before it at the workspace or the setup, or because its worker failed."""
STOPPED: Final[frozenset[Ending]] = frozenset({"question", "limit", "interrupted"})
"""Endings at which something stopped an agent that was not done."""
BROKEN: Final[frozenset[Ending]] = frozenset({"stuck", "error", "workspace", "setup", "worker"})
"""Endings that are failures, whatever the check says."""
ERRORS: Final = BROKEN - {"stuck"}
"""Endings that show nothing about the agent, such as a model or a worker that failed."""
_UNSAFE: Final = lazy_pattern(r"[^A-Za-z0-9._-]+")


class WorkspaceOrigin(msgspec.Struct, frozen=True):
    """Where a worker that is not on the client's machine gets a workspace of that machine."""

    identity: str
    """The inode and the time of the last change: equal on a worker only if the path leads to the same there."""
    archive: str
    """The name of its archive."""


class TaskAttempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a worker needs to know to run one attempt."""

    task: TaskSpec
    model: str
    number: int
    """Counts from 1 for each task and model."""
    origin: WorkspaceOrigin | None = None
    """Set if the workspace is a path on the client's machine, and the worker may be on another one."""

    @property
    def key(self) -> str:
        """A name for the attempt that is unique in its run, and safe as a file name."""
        return f"{self.task.id[:60]}-{_UNSAFE.sub('-', self.model)[-30:]}-{self.number}-{self.digest}"

    @property
    def digest(self) -> str:
        """A short name for the attempt that is unique in its run."""
        identity = f"{self.task.id}\0{self.model}\0{self.number}"
        return hashlib.sha256(identity.encode()).hexdigest()[:8]

    @property
    def names(self) -> tuple[str, str, int]:
        """The task's ID, the model, and the number, which identify the attempt in the results."""
        return self.task.id, self.model, self.number


class AttemptOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of an attempt; times are in seconds, and paths relative to the directory of the run."""

    task: str
    model: str
    attempt: int
    ending: Ending
    detail: str = ""
    """More about the ending, as one line."""
    solved: bool | None = None
    """Whether the check succeeded; None if there is none, or it did not run."""
    check_status: int | None = None
    """The exit code of the check, negative for a signal; None if it did not end by itself."""
    steps: int = 0
    input: int = 0
    """Input tokens, including cached ones."""
    cached: int = 0
    output: int = 0
    cost: float = 0.0
    """In US dollars, without calls whose price is unknown."""
    unpriced: int = 0
    """How many calls have no known price."""
    seconds: float = 0.0
    """Duration of the agent's run."""
    total_seconds: float = 0.0
    """Duration of the attempt, with workspace, setup and check."""
    started: float = 0.0
    """Seconds since the epoch."""
    patch: str = ""
    patch_lines: int = 0
    """Added and removed lines of the patch."""
    session: str = ""
    """The ID of the session, whose file is in `sessions`."""
    workspace: str = ""
    """The workspace on the worker, if the run keeps them."""
    worker: str = ""

    @property
    def names(self) -> tuple[str, str, int]:
        """The same as those of its attempt."""
        return self.task, self.model, self.attempt

    def is_repeated(self, retry: str | None) -> bool:
        """Whether a run that is resumed makes the attempt again; `retry` is `failed`, `errors`, `stopped` or None."""
        if self.ending == "interrupted":
            return True
        match retry:
            case "failed":
                return self.ending in BROKEN or self.solved is False
            case "errors":
                return self.ending in ERRORS
            case "stopped":
                return self.ending in STOPPED and not self.solved
        return False

    @property
    def state(self) -> str:
        """One word for lists: `solved`, `unsolved`, or how the attempt ended if it failed or was stopped."""
        if self.ending in BROKEN or (self.solved is None and self.ending in STOPPED):
            return self.ending
        if self.solved is None:
            return "done"
        return "solved" if self.solved else "unsolved"


def planned(tasks: Iterable[TaskSpec], models: Sequence[str], attempts: int) -> Iterator[TaskAttempt]:
    """Yield the attempts of a run: a first at every task with every model, then a second, and so on.

    A task that names its model is attempted only with that one.
    """
    tasks = list(tasks)
    for number in range(1, attempts + 1):
        for task in tasks:
            for model in [task.model] if task.model else models:
                yield TaskAttempt(task, model, number)
