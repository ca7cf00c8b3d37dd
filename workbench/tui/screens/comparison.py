"""The Compare screen: figures of some sessions side by side, and the files that differ, whose diffs can be applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.llm.model import Cancel
from workbench.protocol.events import FileDelta
from workbench.session.comparison.check import CheckResult
from workbench.text import visible
from workbench.tui.key_names import hint_content
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.widgets.line_list import LineList
from workbench.tui.widgets.strips import as_content, css_beside
from workbench.view.comparison import Comparison, pair_scopes, with_checks
from workbench.view.formatting.comparison import check_lines, figures_page, file_row, pair_lines
from workbench.view.review.review import Review
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


class DifferingFiles(LineList):
    """The files in which two sessions differ; Enter or a click opens the diff of one."""

    class Opened(Message):
        """Posted to show the diff of a file."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self) -> None:
        super().__init__(id="compare-list")
        self._files: tuple[FileDelta, ...] = ()
        self._workspace = ""

    def update(self, files: tuple[FileDelta, ...], workspace: str) -> None:
        """Show these files, with paths relative to a directory."""
        self._files, self._workspace = files, workspace
        self.set_count(len(files))
        self.forget()

    def line(self, index: int, width: int) -> Line:
        """Return one row."""
        return file_row(self._files[index], self._workspace, width)

    def choose(self, index: int) -> None:
        """Show the diff of a file."""
        self.post_message(self.Opened(index))


class ComparisonScreen(ModalScreen[None]):
    """Shows a comparison; the files are those of the first session and one other, which Tab changes."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Close", id="compare.close"),
        Binding("tab", "other", "Compare with the other session", id="compare.other"),
        Binding("c", "check", "Run a check on the files of each session", id="compare.check"),
        Binding("d", "diff", "Diff", show=False, id="compare.diff"),
    ]

    def __init__(self, read: Callable[[], Comparison], check: Check, review: Review) -> None:
        """`read` and `check` are called in a thread; changes are applied to the workspace of the `review`.

        The second argument of `check` ends it, because it may take minutes.
        """
        super().__init__(id="compare")
        self._read = read
        self._check = check
        self._review = review
        self._comparison: Comparison | None = None
        self._pair = 0
        """Which pair of sessions is shown, from 0."""
        self._files = DifferingFiles()
        self._command = ""
        self._cancel = Cancel()
        """Ends the check that was started last."""

    def compose(self) -> ComposeResult:
        """Yield the figures, the files, the note and the input line."""
        with Vertical(id="compare-box", classes="page-box") as box:
            box.border_title = "Compare"
            yield Static(id="compare-page")
            yield self._files
            yield Static(id="compare-note")
            yield Input(placeholder="Command to run on the files of each, such as pytest -q", id="compare-line")

    def on_mount(self) -> None:
        """Read the sessions in a thread."""
        self.query_one(Input).display = False
        self.set_focus(self._files)
        self._note("Reading …")
        self.run_worker(self._load())

    def on_unmount(self) -> None:
        """End a check that is running: the screen was closed, or the app exits."""
        self._cancel.set()

    async def _load(self) -> None:
        try:
            self._comparison = await in_daemon(self._read)
        except (WorkbenchError, OSError) as error:
            self._note(visible(str(error), lines=False))
        else:
            self._note("")
            self._show()

    def on_resize(self) -> None:
        """Fit the figures to the width."""
        self.call_after_refresh(self._show)

    def _note(self, text: str) -> None:
        """Show a text that is safe to show; nothing if it is empty."""
        note = self.query_one("#compare-note", Static)
        note.update(Content(text))
        note.display = bool(text)

    def _show(self) -> None:
        comparison = self._comparison
        if comparison is None or not self.is_attached:
            return
        page = self.query_one("#compare-page", Static)
        width = max(20, page.size.width)
        lines = [*figures_page(comparison, width), *pair_lines(comparison, self._pair, width)]
        page.update(as_content(lines))
        files = comparison.pairs[self._pair].files
        self._files.update(() if isinstance(files, str) else files.files, comparison.sessions[0].entry.workspace)
        self._files.display = not isinstance(files, str) and bool(files.files)
        box = self.query_one("#compare-box")
        box.border_title = Content(f"Compare · {len(comparison.sessions)} sessions")
        box.border_subtitle = hint_content(self.app, _MANY_KEYS if len(comparison.pairs) > 1 else _KEYS)

    def action_other(self) -> None:
        """Show the files of the next pair of sessions."""
        if self._comparison is not None:
            self._pair = (self._pair + 1) % len(self._comparison.pairs)
            self._show()

    @on(DifferingFiles.Opened)
    def on_opened(self, opened: DifferingFiles.Opened) -> None:
        """Show the diff, beginning with a file."""
        self._open_diff(opened.index)

    def action_diff(self) -> None:
        """Show the diff, beginning with the file under the cursor."""
        self._open_diff(self._files.cursor)

    def _open_diff(self, index: int) -> None:
        directory = self._review.directory
        scopes = pair_scopes(self._comparison, self._pair, directory) if self._comparison is not None else []
        files = scopes[0].files() if scopes else ()
        if files:
            path = files[min(index, len(files) - 1)].path
            self.app.push_screen(DiffViewerScreen((), str(directory), path, review=self._review, scopes=scopes))
        else:
            self.notify("no file differs", timeout=3)

    def action_check(self) -> None:
        """Ask for the command of a check."""
        if self._comparison is not None:
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
            self._note(f"Running {visible(self._command, lines=False)} …")
            self.run_worker(self._run_check(self._command), group="check", exclusive=True)

    async def _run_check(self, command: str) -> None:
        try:
            checks = await in_daemon(partial(self._check, command, self._cancel))
        except WorkbenchError as error:
            self._note(visible(str(error), lines=False))
            return
        if self._comparison is not None:
            self._comparison = with_checks(self._comparison, checks)
            lines = list(check_lines(self._comparison))
            self._note("\n".join(lines[-(_MOST_LINES if self.size.height >= _HIGH else 1) :]))
            self._show()

    def _close_line(self) -> None:
        self.query_one(Input).display = False
        self.set_focus(self._files)

    def action_leave(self) -> None:
        """Close the input line or, if it is not open, the screen."""
        if self.query_one(Input).display:
            self._close_line()
        else:
            self.dismiss(None)
