"""Runs `/race` beside the session, in a process of its own that ends with the app, and shows its progress."""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from workbench.batch.figures import money
from workbench.client.threads import in_daemon
from workbench.config.locations import Locations
from workbench.durations import whole_duration
from workbench.errors import UsageError, WorkbenchError
from workbench.text import visible
from workbench.tui.widgets.activity import Activity
from workbench.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    import subprocess

    from workbench.batch.race import RankedAttempt
    from workbench.tui.app import WorkbenchApp
    from workbench.tui.screens.race_offer import RaceAnswer

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
        self.waiting = 0
        """How many attempts wait for an answer."""
        self.cost = 0.0
        """What all attempts have cost so far, in US dollars."""

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
        if self.waiting:
            parts.append(f"{self.waiting} waiting for an answer")
        if self.cost:
            parts.append(money(self.cost))
        return " · ".join([*parts, whole_duration(time.monotonic() - self.began)])


class RaceRunner:
    """Runs one race at a time; it continues when another session is shown, and is interrupted when the app ends."""

    def __init__(self, app: WorkbenchApp) -> None:
        self._app = app
        self._running: _Progress | None = None

    def handle(self, argument: str) -> None:
        """Start a race with what follows `/race`, end it with `--stop`, or resume the last one with `--resume`.

        Without anything, watch the running race, offer to resume one that was not completed, or show the last one.
        """
        from workbench.view.race_command import RESUME, STOP

        running = self._running
        if argument == STOP:
            self._stop()
        elif running is not None and argument:
            self._refuse(argument, f"Not started: a race is running ({running}). /race {STOP} ends it")
        elif running is not None:
            self._watch(running)
        elif argument and argument != RESUME:
            self._start(argument)
        else:
            self._app.run_worker(self._offer(resumes=argument == RESUME))

    def _watch(self, running: _Progress) -> None:
        """Show the attempts of the running race."""
        from workbench.tui.screens.race_watch import open_race_watch
        from workbench.view.race_command import STOP

        if not running.name:
            self._app.notify(f"Race {running}   /race {STOP} ends it", markup=False)
            return
        try:
            open_race_watch(self._app, running.name)
        except WorkbenchError as error:
            self._warn(visible(str(error), lines=False))

    async def _offer(self, *, resumes: bool) -> None:
        """Resume the race in the directory that was not completed, or ask whether to; without one, show the last."""
        from workbench.tui.screens.race_offer import RaceOfferScreen
        from workbench.view.unfinished_race import unfinished_race

        workspace = self._app.session.workspace
        try:
            race = await in_daemon(partial(unfinished_race, Locations.from_environment(), workspace))
        except WorkbenchError as error:
            self._warn(visible(str(error), lines=False))
            return
        if race is None and not resumes:
            await self._show_last()
        elif race is None:
            self._warn("no race in this directory can be resumed")
        elif resumes:
            self._resume(race.name)
        else:
            self._app.push_screen(RaceOfferScreen(race), partial(self._on_answer, race.name))

    def _on_answer(self, name: str, answer: RaceAnswer | None) -> None:
        """Do what the user wants with a race that was not completed."""
        if answer == "resume":
            self._resume(name)
        elif answer == "show":
            self.show(name)
        elif answer == "delete":
            self._app.run_worker(self._delete(name))

    def _resume(self, name: str) -> None:
        from workbench.view.race_command import RESUME, resume_words

        app = self._app
        if self._running is None:
            words = resume_words(name, app.settings, str(app.session.workspace))
            self._launch(words, RESUME, "The race continues: what has ended is not repeated")

    async def _delete(self, name: str) -> None:
        from workbench.batch.race import Race

        try:
            await in_daemon(Race(Locations.from_environment(), name).delete)
        except WorkbenchError as error:
            self._warn(visible(str(error), lines=False))
        else:
            self._app.notify("The race was deleted")

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
        from workbench.view.race_command import parse_race, race_words

        app = self._app
        model = app.state.model or app.settings.model or ""
        try:
            race = parse_race(argument)
            words = race_words(race, app.settings, model, str(app.session.workspace))
        except WorkbenchError as error:
            self._refuse(argument, visible(str(error), lines=False))
            return
        mode = visible(race.mode, lines=False)
        self._launch(words, argument, f"The attempts work in copies of the directory: {mode}")

    def _launch(self, words: list[str], argument: str, notice: str) -> None:
        """Start the process of a race, which `argument` asked for."""
        import subprocess

        from workbench.processes.spawn import isolated_python, start

        app, pipe, key = self._app, subprocess.PIPE, self._app.settings.api_key
        env = {**os.environ, **({"OHW_API_KEY": key} if key else {})}
        command = isolated_python("workbench", *words)
        try:
            process = start(command, env=env, start_new_session=True, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT)
        except (WorkbenchError, OSError) as error:
            self._refuse(argument, visible(str(error), lines=False))
            return
        self._running = _Progress(process)
        app.notify(notice, markup=False)
        app.run_worker(self._follow(self._running), group="race")
        app.run_worker(self._observe(self._running), group="race-attempts")

    async def _observe(self, progress: _Progress) -> None:
        """Note what the attempts ask and have cost, and notify the user of new questions."""
        from workbench.batch.attempt_states import WAITING
        from workbench.batch.race import Race
        from workbench.batch.watched_run import WatchedRun

        watched: WatchedRun | None = None
        while self._running is progress:
            if watched is None and progress.name:
                watched = WatchedRun(Race(Locations.from_environment(), progress.name).run)
            if watched is not None:
                with suppress(WorkbenchError):  # it is deleted at its end if no attempt has ended
                    view = await in_daemon(watched.read)
                    before, progress.waiting = progress.waiting, view.states.get(WAITING, 0)
                    progress.cost = view.cost
                    if progress.waiting > before:
                        self._app.notify("An attempt of the race needs an answer: /race opens it", markup=False)
            await asyncio.sleep(_PERIOD)

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

        ranking: list[RankedAttempt] = []
        problem, can_resume = progress.problem, False
        if progress.name:
            try:
                race = Race(Locations.from_environment(), progress.name)
                ranking, can_resume = await in_daemon(lambda: (race.ranking(), race.can_resume))
            except UsageError:
                pass  # it is deleted: no attempt has ended
            except WorkbenchError as error:
                problem = problem or visible(str(error), lines=False)
        if ranking:
            more = "continues or shows it" if can_resume else "shows it"
            self._app.notify(f"The race has ended: {summary(ranking)}. /race {more}", timeout=10, markup=False)
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
