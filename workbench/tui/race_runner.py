"""Runs `/race` beside the session, in a process of its own that ends with the app, and shows its progress."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from workbench.client.threads import in_daemon
from workbench.config.locations import Locations
from workbench.errors import UsageError, WorkbenchError
from workbench.text import visible
from workbench.tui.widgets.activity import Activity
from workbench.tui.widgets.prompt import Prompt
from workbench.view.formatting.actions import seconds

if TYPE_CHECKING:
    import subprocess

    from workbench.tui.app import WorkbenchApp

_PERIOD: Final = 1.0
"""Seconds between two updates of the progress."""


class _Progress:
    """The race that runs: the process, and what it has reported."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.began = time.monotonic()
        self.name = ""
        self.total = 0
        self.states: list[str] = []
        self.problem = ""
        """The last line that is no report."""
        self.is_stopped = False
        """Whether the user has ended it."""

    def read(self) -> None:
        """Read the reports of the process until it has ended; called in a thread."""
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._receive(line)
        self.process.wait()

    def _receive(self, line: bytes) -> None:
        try:
            report = json.loads(line)
        except ValueError:
            self.problem = visible(line.decode(errors="replace").strip().removeprefix("ohw: "), lines=False)
            return
        if "state" in report:
            self.states.append(report["state"])
        elif "attempts" in report:
            self.name, self.total = report["race"], report["attempts"]

    @property
    def reason(self) -> str:
        """Why there is nothing to show of a race in which no attempt has ended."""
        if self.is_stopped:
            return "The race was stopped before an attempt was completed"
        return "The race has ended: no attempt was completed" if self.name else "The race could not be started"

    def end(self) -> None:
        """Close the input of the process, which interrupts the race if it still runs."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()

    def __str__(self) -> str:
        parts = [f"{len(self.states)} of {self.total}" if self.total else "starting"]
        if solved := self.states.count("solved"):
            parts.append(f"{solved} solved")
        return " · ".join([*parts, seconds(time.monotonic() - self.began, live=True)])


class RaceRunner:
    """Runs one race at a time; it continues when another session is shown, and is interrupted when the app ends."""

    def __init__(self, app: WorkbenchApp) -> None:
        self._app = app
        self._running: _Progress | None = None

    def handle(self, argument: str) -> None:
        """Start a race with what follows `/race`; without anything, show the last one; with `--stop`, end it."""
        from workbench.view.race_command import STOP

        running = self._running
        if argument == STOP:
            self._stop()
        elif running is not None and argument:
            self._refuse(argument, f"Not started: a race is running ({running}). /race {STOP} ends it")
        elif running is not None:
            self._app.notify(f"Race {running}   /race {STOP} ends it", markup=False)
        elif argument:
            self._start(argument)
        else:
            self._app.run_worker(self._show_last())

    def _stop(self) -> None:
        if self._running is None:
            self._warn("no race is running")
        else:
            self._running.is_stopped = True
            self._running.end()

    def _refuse(self, argument: str, reason: str) -> None:
        """Put what followed `/race` back into the prompt, and say why nothing was started."""
        self._app.switcher.main.query_one(Prompt).restore_text(f"/race {argument}")
        self._warn(reason)

    def _start(self, argument: str) -> None:
        import subprocess

        from workbench.processes.spawn import isolated_python, start
        from workbench.view.race_command import parse_race, race_words

        app, pipe = self._app, subprocess.PIPE
        settings, model, workspace = app.settings, app.state.model or app.settings.model, str(app.session.workspace)
        env = {**os.environ, **({"OHW_API_KEY": settings.api_key} if settings.api_key else {})}
        try:
            race = parse_race(argument)
            command = isolated_python("workbench", *race_words(race, settings, model or "", workspace))
            process = start(command, env=env, start_new_session=True, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT)
        except (WorkbenchError, OSError) as error:
            self._refuse(argument, visible(str(error), lines=False))
            return
        self._running = _Progress(process)
        app.notify(f"The attempts work in copies of the directory: {visible(race.mode, lines=False)}", markup=False)
        app.run_worker(self._follow(self._running), group="race")

    async def _follow(self, progress: _Progress) -> None:
        """Show the progress until the race has ended, and then its result; if the app ends first, the race does too."""
        timer = self._app.set_interval(_PERIOD, self._show_progress)
        self._show_progress()
        try:
            await in_daemon(progress.read)
        finally:
            progress.end()
            timer.stop()
            self._running = None
        self._show_progress()
        await self._report(progress)

    def _show_progress(self) -> None:
        for activity in self._app.switcher.main.query(Activity):
            activity.show_background(f"Race {self._running}" if self._running else "")

    async def _report(self, progress: _Progress) -> None:
        """Notify the user of the result of a race that has ended."""
        from workbench.batch.race import Race
        from workbench.view.formatting.race import summary

        ranking, problem = [], progress.problem
        if progress.name:
            try:
                ranking = await in_daemon(Race(Locations.from_environment(), progress.name).ranking)
            except UsageError:
                pass  # it is deleted: no attempt has ended
            except WorkbenchError as error:
                problem = problem or visible(str(error), lines=False)
        if ranking:
            self._app.notify(f"The race has ended: {summary(ranking)}. /race shows it", timeout=10, markup=False)
        else:
            self._warn(problem or progress.reason)

    async def _show_last(self) -> None:
        from workbench.batch.race import last_race

        workspace = self._app.session.workspace
        try:
            race = await in_daemon(partial(last_race, Locations.from_environment(), workspace))
        except WorkbenchError as error:
            self._warn(f"{visible(str(error), lines=False)}: /race PROMPT starts one")
        else:
            self.show(race.name)

    def show(self, name: str) -> None:
        """Show a race, unless one is shown already."""
        from workbench.tui.screens.race import RaceScreen

        app = self._app
        if not isinstance(app.screen, RaceScreen):
            app.push_screen(RaceScreen(Locations.from_environment(), name, app.switcher.main.review))

    def _warn(self, text: str) -> None:
        self._app.notify(text, severity="warning", markup=False)
