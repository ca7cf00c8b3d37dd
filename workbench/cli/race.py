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

from workbench.batch.attempt import planned
from workbench.batch.attempt_files import RunContext
from workbench.batch.race import MODE, TASK, Race, RankedAttempt, attempts_with_each, last_race, race_named
from workbench.batch.results import Results
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
from workbench.cli.common import print_error, print_line, settings_of, workspace_of
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

    With `--show`, an earlier race is shown. Raises UsageError before anything starts if the arguments are invalid.
    """
    locations, settings = settings_of(arguments)
    workspace = workspace_of(arguments)
    if arguments.show is not None:
        if arguments.prompt is not None:
            raise UsageError("--show shows an earlier race; give no PROMPT")
        earlier = race_named(locations, arguments.show) if arguments.show else last_race(locations, workspace)
        return _present(arguments, locations, earlier)
    require_cluster("race")
    task, options = _task(arguments, settings, workspace), _options(arguments, settings)
    with interruptible() as interrupts:
        if arguments.until_eof:
            _interrupt_at_end_of_input(interrupts)
        try:
            created = _create(arguments, locations, task, options, interrupts)
        except WorkbenchError as error:
            if not interrupts.count:
                raise
            print_error(f"nothing was started: {error}")
            return INTERRUPTED
        with closing(created) as started:
            _run(arguments, settings, started, interrupts)
            ranking = started.ranking()
    if interrupts.count or not ranking:
        _print(arguments, started, ranking)
        return INTERRUPTED if interrupts.count else 1
    return _present(arguments, locations, started)


def _create(
    arguments: Namespace, locations: Locations, task: TaskSpec, options: RunOptions, interrupts: Interrupts
) -> Race:
    """Copy the workspace; on a terminal, also print what is started. Raises WorkbenchError, also if interrupted."""
    if sys.stdout.isatty() and not arguments.json:
        attempts = counted(len(options.models) * options.attempts, "attempt")
        mode = next(mode.label for name, mode in MODES.items() if name == task.mode)
        workspace = visible_path(task.workspace)
        print_line(f"{attempts} in copies of {workspace} · {mode}\nCopying {workspace} …")
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
    models = models_of(arguments) or tuple(filter(None, [settings.model]))
    if not models:
        raise UsageError(NO_MODEL_MESSAGE)
    return RunOptions(models, attempts_with_each(models, arguments.attempts or 0), flags_of(arguments))


def _run(arguments: Namespace, settings: Settings, race: Race, interrupts: Interrupts) -> None:
    """Run the attempts, showing their progress, and store what they changed."""
    from workbench.batch.batch import BatchRun
    from workbench.batch.cluster import local_cluster

    options = race.run.options()
    attempts = list(planned(race.run.tasks(), options.models, options.attempts))
    if arguments.json:
        print_line(json.dumps({"race": race.name, "attempts": len(attempts)}))
        sys.stdout.flush()
    context = RunContext(
        options.nonce,
        str(race.run.path),
        options.flags,
        command_model=command_model(arguments),
        client=secrets.token_hex(6),
    )
    workers = arguments.max_parallel or max(_LEAST_PARALLEL, len(os.sched_getaffinity(0)))
    with closing(Results(race.run.results)) as results, local_cluster(min(workers, len(attempts))) as cluster:
        max_cost = settings.max_cost if "max_cost" in settings.from_flags else 0.0
        run = BatchRun(race.run, context, cluster, max_cost=max_cost, notify=print_error)
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
