"""`ohw batch` runs many tasks, each in a workspace of its own, and stores what came of them in a directory."""

from __future__ import annotations

import os
import secrets
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.cli.batch_run import (
    INTERRUPTED,
    Interrupts,
    check_never,
    command_model,
    display,
    flags_of,
    interruptible,
    models_of,
    require_cluster,
)
from workbench.cli.common import check_default_model, check_models, print_error, settings_of
from workbench.config.settings import Settings
from workbench.errors import UsageError
from workbench.llm.factory import NO_MODEL_MESSAGE
from workbench.text import counted, visible

if TYPE_CHECKING:
    from workbench.batch.attempt import AttemptOutcome, TaskAttempt
    from workbench.batch.attempt_files import RunContext
    from workbench.batch.batch import BatchRun
    from workbench.batch.cluster import Cluster
    from workbench.batch.results import Results
    from workbench.batch.run_directory import RunDirectory, RunOptions
    from workbench.batch.task import TaskSpec

_TOO_EXPENSIVE = 4


def batch(arguments: Namespace) -> int:
    """Run the tasks; return 0 if every attempt has ended, 1 if some failed otherwise than in their check, 4 if the
    run became too expensive, and 130 if it was interrupted with attempts left.

    Raises UsageError before anything starts if the tasks or options are invalid.
    """
    _, settings = settings_of(arguments)
    require_cluster("batch")
    from workbench.batch.batch import BatchRun
    from workbench.batch.cluster import SchedulerTurns
    from workbench.batch.results import Results, read_outcomes

    if arguments.retry and not arguments.resume:
        raise UsageError("--retry needs --resume")
    rates = _rates(arguments)
    directory, options, tasks = _run_of(arguments, settings)
    with closing(directory), interruptible() as interrupts:
        if unknown := sorted(rates.keys() - {*options.models, *(task.model for task in tasks)}):
            raise UsageError(f"--rate {unknown[0]}: no task is attempted with that model")
        outcomes = read_outcomes(directory.results)
        attempts = list(_open_attempts(arguments, tasks, options, outcomes))
        earlier_cost = sum(each.cost for each in outcomes) + directory.cost_without_outcomes
        del outcomes  # the run may take days, and these are many
        with closing(Results(directory.results)) as results, _cluster(arguments, len(attempts)) as cluster:
            turns = SchedulerTurns(options.nonce, rates) if rates else None
            run = BatchRun(
                directory,
                _context(arguments, options, directory),
                cluster,
                max_parallel=arguments.max_parallel or 0,
                max_cost=settings.max_cost if "max_cost" in settings.from_flags else 0.0,
                turns=turns,
                earlier_cost=earlier_cost,
                notify=print_error,
            )
            interrupts.concern(run)
            return _carry_out(run, attempts, results, arguments, interrupts)


def _context(arguments: Namespace, options: RunOptions, directory: RunDirectory) -> RunContext:
    from workbench.batch.attempt_files import RunContext
    from workbench.batch.portable_settings import portable_settings

    return RunContext(
        options.nonce,
        str(directory.path),
        options.flags,
        keeps_workspaces=arguments.keep_workspaces,
        answer_seconds=60.0 * (arguments.wait or 0),
        shared=options.shared,
        settings=portable_settings(),
        command_model=command_model(arguments),
        client=secrets.token_hex(6),
    )


def _carry_out(
    run: BatchRun, attempts: Sequence[TaskAttempt], results: Results, arguments: Namespace, interrupts: Interrupts
) -> int:
    """Run the attempts, printing a line about each that ends; return the exit code."""
    from workbench.batch.attempt import BROKEN

    ended = broken = 0
    with display(run, len(attempts), as_json=arguments.json) as show:

        def on_outcome(outcome: AttemptOutcome) -> None:
            nonlocal ended, broken
            ended += outcome.ending != "interrupted"
            broken += outcome.ending in BROKEN
            show(outcome)

        run.run(attempts, results, on_outcome)
    remaining = len(attempts) - ended
    if remaining:
        resume = f"ohw batch --resume -o {shlex.quote(arguments.output)}"
        print_error(f"{counted(remaining, 'attempt')} left; continue with `{visible(resume, lines=False)}`")
        if interrupts.count:
            return INTERRUPTED
        return 1 if run.unusable.is_none_usable else _TOO_EXPENSIVE
    return 1 if broken else 0


def _run_of(arguments: Namespace, settings: Settings) -> tuple[RunDirectory, RunOptions, list[TaskSpec]]:
    """Return the directory of the run, which is created or opened, with its options and tasks. Raises UsageError."""
    from workbench.batch.run_directory import RunDirectory, RunOptions
    from workbench.batch.task_files import check_stored, read_tasks

    directory = RunDirectory(Path(arguments.output))
    models = models_of(arguments)
    check_models(settings, *models)
    if arguments.resume:
        if arguments.source is not None:
            raise UsageError("--resume continues with the tasks in RUN; give no TASKS")
        directory.open()
        tasks = directory.tasks()
        check_stored(tasks)
        if not models and "model" in settings.from_flags:
            models = (settings.model or "",)
        options = directory.options().extended(models, arguments.attempts or 0, flags_of(arguments), _shared(arguments))
        directory.write(options)
        return directory, options, tasks
    if arguments.source is None:
        raise UsageError("which tasks? `ohw batch TASKS -o RUN`; --resume continues an earlier run")
    tasks = read_tasks(arguments.source, sys.stdin.read() if arguments.source == "-" else None, _template(arguments))
    needs_model = not all(task.model for task in tasks)
    check_models(settings, *(task.model for task in tasks if task.model))
    if not models and needs_model:
        check_default_model(settings)
    models = models or tuple(filter(None, [settings.model]))
    if not models and needs_model:
        raise UsageError(NO_MODEL_MESSAGE)
    check_never(settings, tasks)
    options = RunOptions(models, arguments.attempts or 1, flags_of(arguments), shared=_shared(arguments))
    return directory.create(options, tasks), options, tasks


def _template(arguments: Namespace) -> str:
    if arguments.prompt is None:
        return ""
    try:
        return Path(arguments.prompt).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--prompt {arguments.prompt!r} cannot be read: {error}") from None


def _open_attempts(
    arguments: Namespace, tasks: Sequence[TaskSpec], options: RunOptions, outcomes: Sequence[AttemptOutcome]
) -> Iterator[TaskAttempt]:
    """Yield the attempts that have no outcome yet, were interrupted, or are to be repeated."""
    from workbench.batch.attempt import planned

    done = {each.names for each in outcomes if not each.is_repeated(arguments.retry)}
    return (each for each in planned(tasks, options.models, options.attempts) if each.names not in done)


def _cluster(arguments: Namespace, attempts: int) -> AbstractContextManager[Cluster]:
    from workbench.batch.cluster import existing_cluster, local_cluster

    if arguments.scheduler:
        return existing_cluster(arguments.scheduler)
    workers = arguments.max_parallel or len(os.sched_getaffinity(0))
    return local_cluster(max(1, min(workers, attempts)))


def _rates(arguments: Namespace) -> Mapping[str, float]:
    """Return the calls a minute of models with a limit. Raises UsageError."""
    from workbench.batch.model_rate import rates_of

    try:
        return rates_of(arguments.rate)
    except ValueError as error:
        raise UsageError(f"--rate {error}: give a model and its calls a minute, such as MODEL=60/min") from None


def _shared(arguments: Namespace) -> str:
    """Return the absolute path of the directory that --shared names. Raises UsageError."""
    if arguments.shared is None:
        return ""
    directory = Path(arguments.shared).expanduser().resolve()
    if not directory.is_dir():
        raise UsageError(f"--shared {arguments.shared!r} is not a directory")
    return str(directory)
