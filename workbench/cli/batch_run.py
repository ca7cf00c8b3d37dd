"""What the commands that make attempts share: their settings, what they show, and how signals end them."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from workbench.cli.common import print_error, print_line
from workbench.config.settings import Settings
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.batch.attempt import AttemptOutcome
    from workbench.batch.batch import BatchRun
    from workbench.batch.task import TaskSpec

INTERRUPTED: Final = 130
"""The exit code of a run that was interrupted with attempts left."""
_MISSING = (
    "there is no dask.distributed, which `ohw {}` needs; install it with `uv tool install '.[batch]'` in a clone of ohw"
)
_PATIENT_SIGNALS: Final = 2


def require_cluster(command: str) -> None:
    """Raise UsageError if the optional packages that run attempts are not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise UsageError(_MISSING.format(command))


def models_of(arguments: Namespace) -> tuple[str, ...]:
    """Return the different models that `--models` names."""
    return tuple(dict.fromkeys(filter(None, map(str.strip, (arguments.models or "").split(",")))))


def command_model(arguments: Namespace) -> str:
    """Return the model that a key or URL beside it on the command line is for; empty if there is none."""
    return arguments.model or next(iter(models_of(arguments)), "")


def flags_of(arguments: Namespace) -> dict[str, Any]:
    """Return the settings of the command line that hold for each attempt; keys never leave the environment."""
    from workbench.cli.arguments import settings_with_flags

    of_run = ("model", "max_cost", "api_key")
    values = {each.name: getattr(arguments, each.name) for each in settings_with_flags() if each.name not in of_run}
    return {name: value for name, value in values.items() if value is not None}


def check_never(settings: Settings, tasks: Sequence[TaskSpec]) -> None:
    """Raise UsageError if a task would run without asking and without anything that confines it."""
    from workbench.batch.attempt_runner import may_leave_unasked

    for task in tasks:
        if not task.image and may_leave_unasked(replace(settings, mode=task.mode or settings.mode)):
            raise UsageError(
                f"nothing was started: the task {task.id} has the mode never, which needs an image, or a sandbox that "
                "is not optional: --sandbox workspace-write"
            )


@contextmanager
def display(run: BatchRun, total: int, *, as_json: bool) -> Iterator[Callable[[AttemptOutcome], None]]:
    """Yield a function that shows an outcome: in a view that changes in place if stdout is a terminal, or as a line."""
    from workbench.batch.progress import Progress, outcome_line

    if as_json or not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":

        def show(outcome: AttemptOutcome) -> None:
            print_line(outcome_line(outcome, as_json=as_json))
            sys.stdout.flush()  # whoever reads it wants to know now

        yield show
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    progress = Progress(total, run.running, question_of=run.question_of, progress_of=run.progress_of)
    console = Console(highlight=False)

    def view() -> Text:
        return Text("\n".join(progress.lines(console.width)), no_wrap=True)

    with Live(get_renderable=view, console=console, refresh_per_second=4, redirect_stderr=True):
        yield progress.add


class Interrupts:
    """Counts signals that end the run: the first stops it, the second interrupts its attempts, a third leaves."""

    def __init__(self) -> None:
        self.count = 0
        self._run: BatchRun | None = None

    def concern(self, run: BatchRun) -> None:
        """Apply the signals to this run, including those that came before."""
        self._run = run
        self._apply()

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Count a signal. Raises KeyboardInterrupt at the third."""
        self.count += 1
        if self.count > _PATIENT_SIGNALS:
            raise KeyboardInterrupt
        self._apply()

    def interrupt(self) -> None:
        """Stop the run and interrupt its attempts, as two signals do."""
        self.count = max(self.count, _PATIENT_SIGNALS)
        self._apply()

    def _apply(self) -> None:
        if self._run is None or not self.count:
            return
        if self.count == 1:
            print_error("no more attempts are started; those that run are finished. Again: interrupt them")
            self._run.stop()
        else:
            self._run.interrupt()


@contextmanager
def interruptible() -> Iterator[Interrupts]:
    """Yield what counts the signals that come meanwhile."""
    interrupts = Interrupts()
    before = {number: signal.signal(number, interrupts.on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
