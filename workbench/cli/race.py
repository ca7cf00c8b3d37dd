"""`ohw race` lets several attempts work on one prompt in copies of the workspace, and shows which one did best."""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from workbench.batch.attempt_files import RunContext
from workbench.batch.race import (
    MODE,
    TASK,
    Race,
    RankedAttempt,
    attempts_with_each,
    last_race,
    race_named,
    resumable_race,
    running_race,
)
from workbench.batch.results import Results, read_outcomes
from workbench.batch.run_directory import RunOptions
from workbench.batch.task import InvalidTask, TaskSpec
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
from workbench.cli.batch_watch import watch_run
from workbench.cli.common import check_default_model, check_models, print_error, print_line, settings_of, workspace_of
from workbench.config.locations import Locations
from workbench.config.modes import MODES
from workbench.config.settings import Settings
from workbench.errors import UsageError, WorkbenchError
from workbench.llm.factory import NO_MODEL_MESSAGE
from workbench.text import counted, visible, visible_path
from workbench.view.formatting.race import ranking_cells, summary

_LEAST_PARALLEL = 4
"""The attempts that run at the same time on a machine with fewer cores: they mostly wait for their models."""


def race(arguments: Namespace) -> int:
    """Run a race and show its ranking; return 0 if an attempt won, 1 if none did, and 130 if it was interrupted.

    With `--resume`, an earlier race is continued; with `--show` or `--watch`, it is shown. Raises UsageError before
    anything starts if the arguments are invalid.
    """
    locations, settings = settings_of(arguments)
    workspace = workspace_of(arguments)
    _check_earlier(arguments)
    if arguments.show is not None:
        earlier = race_named(locations, arguments.show) if arguments.show else last_race(locations, workspace)
        return _present(arguments, locations, earlier)
    if arguments.watch is not None:
        watched = race_named(locations, arguments.watch) if arguments.watch else running_race(locations, workspace)
        watch_run(locations, settings, watched.run, "`ohw race --show RACE` prints the ranking")
    require_cluster("race")
    return _race(arguments, locations, settings, workspace)


def _race(arguments: Namespace, locations: Locations, settings: Settings, workspace: Path) -> int:
    """Run a new race, or continue one; return as `race` does."""
    new = (_task(arguments, settings, workspace), _options(arguments, settings)) if arguments.resume is None else None
    with interruptible() as interrupts:
        if arguments.until_eof:
            _interrupt_at_end_of_input(interrupts)
        try:
            if new is not None:
                started = _create(arguments, locations, *new, interrupts)
            else:
                started = _reopen(arguments, locations, settings, workspace)
        except WorkbenchError as error:
            if not interrupts.count:
                raise
            print_error(f"nothing was started: {error}")
            return INTERRUPTED
        with closing(started):
            _run(arguments, settings, started, interrupts)
            ranking = started.ranking()
    if started.can_resume:
        more = f"ohw race --resume {visible(started.name, lines=False)}"
        print_error(f"{counted(len(started.open_attempts()), 'attempt')} left; continue with `{more}`")
    if interrupts.count or not ranking:
        _print(arguments, started, ranking)
        return INTERRUPTED if interrupts.count else 1
    return _present(arguments, locations, started)


def _check_earlier(arguments: Namespace) -> None:
    """Raise UsageError if options of a new race are given for an earlier one."""
    chosen = next((name for name in ("show", "resume", "watch") if getattr(arguments, name) is not None), "")
    if not chosen:
        return
    if arguments.prompt is not None:
        raise UsageError(f"--{chosen} is for an earlier race; give no PROMPT")
    fixed = ("models", "attempts", "check", "setup", "minutes", "mode")
    if chosen == "resume" and (wrong := next((name for name in fixed if getattr(arguments, name) is not None), "")):
        raise UsageError(f"--resume continues a race as it was started; --{wrong} is for a new one")


def _reopen(arguments: Namespace, locations: Locations, settings: Settings, workspace: Path) -> Race:
    """Open the race to resume. Raises UsageError."""
    name = arguments.resume or resumable_race(locations, workspace).name
    race = Race.reopen(locations, name)
    try:
        check_never(settings, race.run.tasks())
    except UsageError:
        race.close()
        raise
    return race


def _create(
    arguments: Namespace, locations: Locations, task: TaskSpec, options: RunOptions, interrupts: Interrupts
) -> Race:
    """Copy the workspace; on a terminal, also print what is started. Raises WorkbenchError, also if interrupted."""
    if sys.stdout.isatty() and not arguments.json:
        attempts = counted(len(options.models) * options.attempts, "attempt")
        mode = next(mode.label for name, mode in MODES.items() if name == task.mode)
        workspace = visible_path(task.workspace)
        print_line(f"{attempts} in copies of {workspace} · {mode}\nCopying {workspace} …")
        if arguments.wait:
            print_line("To answer what the attempts ask: ohw race --watch, in another terminal")
        sys.stdout.flush()
    return Race.create(locations, task, options, lambda: interrupts.count > 0)


def _task(arguments: Namespace, settings: Settings, workspace: Path) -> TaskSpec:
    """Return what the attempts are to do. Raises UsageError."""
    if arguments.prompt is None:
        raise UsageError('which prompt? `ohw race "PROMPT"`; --show shows an earlier race')
    if arguments.prompt == "-" and arguments.until_eof:
        raise UsageError("--until-eof needs standard input, from which `-` reads the prompt; give a PROMPT")
    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    if not prompt.strip():
        raise UsageError("the prompt is empty")
    task = TaskSpec(
        TASK,
        prompt,
        workspace=str(workspace),
        setup=arguments.setup or "",
        check=arguments.check or "",
        mode=arguments.mode or MODE,
        minutes=arguments.minutes or 0.0,
    )
    try:
        task.validate()
    except InvalidTask as error:
        raise UsageError(f"the {error.field} of the race: {error.reason}") from None
    check_never(settings, [task])
    return task


def _options(arguments: Namespace, settings: Settings) -> RunOptions:
    models = models_of(arguments)
    check_models(settings, *models)
    if not models:
        check_default_model(settings)
    models = models or tuple(filter(None, [settings.model]))
    if not models:
        raise UsageError(NO_MODEL_MESSAGE)
    return RunOptions(models, attempts_with_each(models, arguments.attempts or 0), flags_of(arguments))


def _run(arguments: Namespace, settings: Settings, race: Race, interrupts: Interrupts) -> None:
    """Run the attempts, showing their progress, and store what they changed."""
    from workbench.batch.batch import BatchRun
    from workbench.batch.cluster import local_cluster

    options = race.run.options()
    attempts = race.open_attempts()
    if arguments.json:
        print_line(json.dumps({"race": race.name, "attempts": len(attempts)}))
        sys.stdout.flush()
    context = RunContext(
        options.nonce,
        str(race.run.path),
        options.flags,
        answer_seconds=60.0 * (arguments.wait or 0),
        command_model=command_model(arguments) or options.models[0],
        client=secrets.token_hex(6),
    )
    workers = arguments.max_parallel or max(_LEAST_PARALLEL, len(os.sched_getaffinity(0)))
    with closing(Results(race.run.results)) as results, local_cluster(min(workers, len(attempts))) as cluster:
        max_cost = settings.max_cost if "max_cost" in settings.from_flags else 0.0
        cost = sum(each.cost for each in read_outcomes(race.run.results)) + race.run.cost_without_outcomes
        run = BatchRun(race.run, context, cluster, max_cost=max_cost, earlier_cost=cost, notify=print_error)
        interrupts.concern(run)
        with display(run, len(attempts), as_json=arguments.json) as show:
            run.run(attempts, results, show)
    race.finish()


def _interrupt_at_end_of_input(interrupts: Interrupts) -> None:
    """Interrupt the race when the program that started it closes its end of our standard input, or ends."""

    def wait() -> None:
        while os.read(
            descriptor, 4096
        ):  # without the lock of `sys.stdin`, for which the end of this process would wait
            pass
        sys.stdout = sys.stderr = nowhere  # no one reads what is printed from now on
        interrupts.interrupt()

    descriptor = sys.stdin.fileno()
    nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until this process ends

    threading.Thread(target=wait, daemon=True, name="end-of-input").start()


def _present(arguments: Namespace, locations: Locations, race: Race) -> int:
    """Show the ranking: on the Compare screen if this is a terminal, else as a table or JSON. Raises UsageError."""
    race.finish_abandoned()
    ranking = race.ranking()
    is_terminal = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    if arguments.json or not is_terminal or os.environ.get("TERM", "dumb") == "dumb":
        _print(arguments, race, ranking)
        return 0 if any(each.has_won for each in ranking) else 1
    workspace = Path(race.record().workspace)
    if not workspace.is_dir():
        raise UsageError(f"the directory of this race, {visible_path(str(workspace))}, does not exist any more")
    from workbench.cli.start import open_on_screen

    arguments.mode = None  # it is that of the attempts
    _, settings = settings_of(arguments)
    if not settings.model and ranking:
        settings = replace(settings, model=ranking[0].outcome.model)
    return open_on_screen(locations, settings, workspace, race=race.name)


def _print(arguments: Namespace, race: Race, ranking: Sequence[RankedAttempt]) -> None:
    """Print the ranking, and how its changes are looked at and applied; without attempts nothing is left to show."""
    if not ranking and not arguments.json:
        print_line(summary(ranking))
        return
    if arguments.json:
        rows = [
            {"rank": each.rank, **msgspec.to_builtins(each.outcome), "state": each.outcome.state} for each in ranking
        ]
        print_line(json.dumps({"race": race.name, "directory": str(race.run.path), "ranking": rows}))
        return
    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else 200, highlight=False, markup=False, soft_wrap=not is_terminal)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("", "attempt", "outcome", "lines", "cost", "time", ""):
        table.add_column(name, overflow="fold")
    for each in ranking:
        table.add_row(*map(Text, ranking_cells(each)))
    console.print(table)
    print_line(f"To look at the changes and apply them: ohw race --show {visible(race.name, lines=False)}")
