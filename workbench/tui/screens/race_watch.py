"""Watches the running race of the app, as `ohw batch watch` watches a run; attempts open in place of the session."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from workbench.batch.race import Race
from workbench.batch.watched_run import WatchedRun
from workbench.config.locations import Locations
from workbench.tui.screens.batch_watch import WatchScreen
from workbench.view.attempt_session import attempt_session, data_of_run
from workbench.view.batch_watch import OpenedAttempt, WatchPosition

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp

_NOTICE: Final = "An attempt of the race: /race returns to the others, /sessions to your session"


class RaceWatchScreen(WatchScreen):
    """Follows a race; `q` closes only the screen, as Esc does once nothing is filtered."""

    close_name = "Close"

    async def action_back(self) -> None:
        """Show all tasks again, or close the screen if they are shown."""
        if self.has_filter:
            await super().action_back()
        else:
            await self.action_close()

    async def action_close(self) -> None:
        """Close the screen."""
        self.dismiss(None)


def open_race_watch(app: WorkbenchApp, name: str) -> None:
    """Watch a race, unless that is shown already. Raises WorkbenchError if the race cannot be read."""
    if any(isinstance(screen, RaceWatchScreen) for screen in app.screen_stack):
        return
    race = Race(Locations.from_environment(), name)
    data = data_of_run(Locations.from_environment(), race.run)

    def open_session(opened: OpenedAttempt) -> None:
        session = partial(attempt_session, data, app.settings, race.run.path, opened, _NOTICE)
        app.run_worker(app.switcher.show(session))

    app.push_screen(RaceWatchScreen(WatchedRun(race.run, data.sessions), WatchPosition(), open_session))
