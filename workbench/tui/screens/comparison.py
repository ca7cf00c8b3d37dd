"""The Compare screen: figures of some sessions side by side, and the files that differ, whose diffs can be applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from textual import on
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.llm.model import Cancel
from workbench.protocol.events import FileDelta
from workbench.session.comparison.check import CheckResult
from workbench.text import visible
from workbench.tui.screens.compared import ComparedScreen
from workbench.view.comparison import Comparison, pair_scopes, with_checks
from workbench.view.formatting.comparison import check_lines, figures_page, pair_lines
from workbench.view.review.review import Review, Scope
from workbench.view.wrapping import Line

_KEYS: Final = "↑↓ Move   Enter Diff   {compare.check=c} Check…   {compare.close=escape} Close"
_MANY_KEYS: Final = (
    "↑↓ Move   Enter Diff   {compare.other=tab} Other session   {compare.check=c} Check…   {compare.close=escape} Close"
)
_HIGH: Final = 30
"""The rows from which more than the last line of a failed check is shown."""
_MOST_LINES: Final = 8
Check = Callable[[str, Cancel], Mapping[str, CheckResult | str]]
"""Runs a command on the final files of each session; returns its result by session, or why there is none."""


class ComparisonScreen(ComparedScreen[Comparison]):
    """Shows a comparison; the files are those of the first session and one other, which Tab changes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "check", "Run a check on the files of each session", id="compare.check"),
    ]

    def __init__(self, read: Callable[[], Comparison], check: Check, review: Review) -> None:
        """`read` and `check` are called in a thread; changes are applied to the workspace of the `review`.

        The second argument of `check` ends it, because it may take minutes.
        """
        super().__init__(read, review)
        self._check = check
        self._command = ""
        self._cancel = Cancel()
        """Ends the check that was started last."""

    def parts(self) -> Iterable[Widget]:
        """Return the input line, which is hidden."""
        line = Input(placeholder="Command to run on the files of each, such as pytest -q", id="compare-line")
        line.display = False
        return (line,)

    def on_unmount(self) -> None:
        """End a check that is running: the screen was closed, or the app exits."""
        self._cancel.set()

    def page(self, compared: Comparison, width: int) -> list[Line]:
        """Return the table of figures, and where the sessions of the pair first differ."""
        return [*figures_page(compared, width), *pair_lines(compared, self.pair, width)]

    def pairs(self, compared: Comparison) -> int:
        """Return how many sessions the first one is compared with."""
        return len(compared.pairs)

    def files(self, compared: Comparison) -> Sequence[FileDelta]:
        """Return the files that differ in the current pair; none if they cannot be compared."""
        files = compared.pairs[self.pair].files
        return () if isinstance(files, str) else files.files

    def workspace(self, compared: Comparison) -> str:
        """Return the workspace of the first session."""
        return compared.sessions[0].entry.workspace

    def scopes(self, compared: Comparison) -> list[Scope]:
        """Return both directions of the difference."""
        return pair_scopes(compared, self.pair, self._review.directory)

    def frame(self, compared: Comparison) -> tuple[str, str]:
        """Return the title and the key hints."""
        return f"Compare · {len(compared.sessions)} sessions", _MANY_KEYS if len(compared.pairs) > 1 else _KEYS

    def action_check(self) -> None:
        """Ask for the command of a check."""
        if self.compared is not None:
            line = self.query_one(Input)
            line.display, line.value = True, self._command
            self.set_focus(line)

    @on(Input.Submitted)
    def on_submitted(self, event: Input.Submitted) -> None:
        """Run the check in a thread; an empty command runs nothing."""
        event.stop()
        self._command = event.value.strip()
        self._close_line()
        if self._command:
            self._cancel.set()
            self._cancel = Cancel()
            self.note(f"Running {visible(self._command, lines=False)} …")
            self.run_worker(self._run_check(self._command), group="check", exclusive=True)

    async def _run_check(self, command: str) -> None:
        try:
            checks = await in_daemon(partial(self._check, command, self._cancel))
        except WorkbenchError as error:
            self.note(visible(str(error), lines=False))
            return
        if self.compared is not None:
            self.compared = with_checks(self.compared, checks)
            lines = list(check_lines(self.compared))
            self.note("\n".join(lines[-(_MOST_LINES if self.size.height >= _HIGH else 1) :]))
            self.show_pair()

    def _close_line(self) -> None:
        self.query_one(Input).display = False
        self.focus_files()

    def action_leave(self) -> None:
        """Close the input line or, if it is not open, the screen."""
        if self.query_one(Input).display:
            self._close_line()
        else:
            super().action_leave()
