"""The Compare screen of a race: the ranking, and what each attempt has changed, which can be applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.client.threads import in_daemon
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.protocol.events import FileDelta
from workbench.text import counted, visible
from workbench.tui.screens.compared import ComparedScreen
from workbench.tui.screens.pager import PagerScreen
from workbench.view.formatting.race import attempt_lines, ranking_page
from workbench.view.race import RaceComparison, attempt_name, attempt_scope, compare_attempts, output_of_check
from workbench.view.review.review import Review, Scope
from workbench.view.wrapping import Line

_KEYS: Final = (
    "↑↓ Move   Enter Diff   {compare.other=tab} Next attempt   {race.output=o} Check output"
    "   {compare.close=escape} Close"
)
_SHARE: Final = 3
"""The ranking gets one of this many parts of the screen's height."""


class RaceScreen(ComparedScreen[RaceComparison]):
    """Shows a race; the files are those that one of its attempts has changed, the best one first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "output", "Output of the check", id="race.output"),
    ]

    def __init__(self, locations: Locations, name: str, review: Review) -> None:
        """`name` is that of the race; changes are applied to the workspace of the `review`."""
        super().__init__(partial(compare_attempts, locations, name), review)
        self._locations = locations
        self._race = name

    def page(self, compared: RaceComparison, width: int) -> list[Line]:
        """Return the ranking, and how the chosen attempt ended."""
        if not compared.attempts:
            return [[]]
        rows = max(3, self.size.height // _SHARE)
        ranking = ranking_page(compared, self.pair, width, rows)
        return [*ranking, *attempt_lines(compared, self.pair, width)]

    def pairs(self, compared: RaceComparison) -> int:
        """Return the number of attempts."""
        return len(compared.attempts)

    def files(self, compared: RaceComparison) -> Sequence[FileDelta]:
        """Return the files that the chosen attempt has changed."""
        if not compared.attempts:
            return ()
        files = compared.attempts[self.pair].files
        return () if isinstance(files, str) else files.files

    def workspace(self, compared: RaceComparison) -> str:
        """Return the workspace that the race started from."""
        return compared.workspace

    def scopes(self, compared: RaceComparison) -> list[Scope]:
        """Return the changes of the chosen attempt, and then those of the others, so that hunks of several can be
        applied.
        """
        order = [(self.pair + step) % len(compared.attempts) for step in range(len(compared.attempts))]
        scopes = (attempt_scope(compared, number, self._review.directory) for number in order)
        own, *others = scopes if order else (None,)
        return [] if own is None else [own, *(each for each in others if each is not None)]

    def frame(self, compared: RaceComparison) -> tuple[str, str]:
        """Return the title and the key hints."""
        return f"Race · {counted(len(compared.attempts), 'attempt')}", _KEYS

    def action_output(self) -> None:
        """Show what the check of the chosen attempt printed, or its setup."""
        if self.compared is not None and self.compared.attempts:
            self.run_worker(self._show_output(self.compared), exclusive=True, group="output")

    async def _show_output(self, compared: RaceComparison) -> None:
        outcome = compared.attempts[self.pair].ranked.outcome
        read: Callable[[], tuple[str, str]] = partial(output_of_check, self._locations, self._race, outcome)
        try:
            command, text = await in_daemon(read)
        except (WorkbenchError, OSError) as error:
            self.notify(visible(str(error), lines=False), severity="warning", markup=False)
            return
        if text:
            self.app.push_screen(PagerScreen(Content(f"{command.title()} of {attempt_name(outcome)}"), visible(text)))
        else:
            self.notify("The check did not run" if compared.check else "There was no check", timeout=3)
