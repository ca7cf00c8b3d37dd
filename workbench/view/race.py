"""A race on the Compare screen: the ranked attempts, and what each has changed. Blocks while it reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from workbench.batch.attempt import AttemptOutcome
from workbench.batch.race import Race, RankedAttempt, race_named
from workbench.config.locations import Locations
from workbench.session.comparison.final_files import FinalDifference, version_difference
from workbench.session.workspace.repository import SnapshotError, SnapshotRepository
from workbench.text import visible
from workbench.view.review.review import Scope
from workbench.view.state import FileState
from workbench.view.wrapping import count_lines

_SHORT: Final = 32
"""The width of the name of an attempt in a sentence."""


@dataclass(frozen=True)
class RacedAttempt:
    """An attempt with what it has changed, or why that cannot be shown."""

    ranked: RankedAttempt
    files: FinalDifference | str

    @property
    def lines(self) -> tuple[int, int]:
        """How many lines it has added and removed, in the files that have lines."""
        if isinstance(self.files, str):
            return 0, 0
        counts = [count_lines(file.before, file.after) for file in self.files.files if not file.cut]
        return sum(added for added, _ in counts), sum(removed for _, removed in counts)


@dataclass(frozen=True)
class RaceComparison:
    """The attempts of a race, the best one first."""

    name: str
    workspace: str
    check: str
    attempts: tuple[RacedAttempt, ...]


def compare_attempts(locations: Locations, name: str) -> RaceComparison:
    """Return the comparison of a race's attempts. Raises UsageError or WorkbenchError."""
    race = race_named(locations, name)
    race.finish_abandoned()
    workspace = Path(race.record().workspace)
    repository = SnapshotRepository(locations, workspace, name)
    attempts = tuple(RacedAttempt(each, _files(repository, each)) for each in race.ranking())
    check = race.run.tasks()[0].check
    return RaceComparison(name, str(workspace), check, attempts)


def _files(repository: SnapshotRepository, attempt: RankedAttempt) -> FinalDifference | str:
    if attempt.versions is None:
        return attempt.problem or FinalDifference()
    try:
        return version_difference(repository, *attempt.versions)
    except SnapshotError as error:
        return str(error)


def attempt_name(outcome: AttemptOutcome) -> str:
    """Return the name of an attempt, safe to show: its model, and its number."""
    return visible(f"{outcome.model} #{outcome.attempt}", lines=False)


def short_name(outcome: AttemptOutcome, width: int = _SHORT) -> str:
    """Return the name of an attempt or, where it does not fit, the end of it, which has its number."""
    name = attempt_name(outcome)
    return name if len(name) <= width else f"…{name[-max(1, width - 1) :]}"


def attempt_scope(comparison: RaceComparison, number: int, workspace: Path) -> Scope | None:
    """Return what attempt `number`, from 0, has changed, with paths in `workspace`; None if that cannot be shown."""
    attempt = comparison.attempts[number]
    if isinstance(attempt.files, str) or not attempt.files.files:
        return None
    (before, version), outcome = attempt.files.versions, attempt.ranked.outcome
    files = [
        FileState(
            str(workspace / PurePath(file.path).relative_to(comparison.workspace)),
            file.before,
            file.after,
            note=file.cut,
            version=version,
            version_before=before,
        )
        for file in attempt.files.files
    ]
    return Scope(attempt_name(outcome), lambda: files, session=outcome.session, source=short_name(outcome))


def output_of_check(locations: Locations, name: str, outcome: AttemptOutcome) -> tuple[str, str]:
    """Return "check" and what that printed after an attempt, or "setup" if only that ran. Raises WorkbenchError."""
    return Race(locations, name).output_of_check(outcome)
