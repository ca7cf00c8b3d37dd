"""A race that was not completed: what is asked about it, and the answers. Blocks while it reads."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from workbench.batch.race import resumable_race
from workbench.batch.results import read_outcomes
from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.session.storage.race_leftovers import COPY_DAYS
from workbench.text import counted, first_line, visible
from workbench.view import clock
from workbench.view.formatting.sessions import when
from workbench.view.wrapping import Line, Piece

_LONGEST_PROMPT = 200


class UnfinishedRace(Struct, frozen=True):
    """A race that can be resumed."""

    name: str
    prompt: str
    started: datetime
    ended: int
    """How many attempts have ended."""
    total: int


def unfinished_race(locations: Locations, workspace: Path) -> UnfinishedRace | None:
    """Return the newest race in a workspace that can be resumed; None if there is none. Raises WorkbenchError."""
    try:
        race = resumable_race(locations, workspace)
    except UsageError:
        return None
    ended = sum(outcome.ending != "interrupted" for outcome in read_outcomes(race.run.results))
    started = datetime.fromtimestamp(race.record().started, UTC)
    prompt = race.run.tasks()[0].prompt
    return UnfinishedRace(race.name, prompt, started, ended, ended + len(race.open_attempts()))


def unfinished_lines(race: UnfinishedRace) -> list[Line]:
    """Return what is known of the race, and what its answers mean, safe to show."""
    started = when(race.started, clock.now())
    rest = counted(race.total - race.ended, "attempt")
    return [
        [Piece(first_line(visible(race.prompt), _LONGEST_PROMPT))],
        [Piece(f"{race.ended} of {counted(race.total, 'attempt')} ended · started {started}", "dim")],
        [],
        [Piece(f"The other {rest} start from the directory as it was then, which is stored for {COPY_DAYS} days.")],
    ]
