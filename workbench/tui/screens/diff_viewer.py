"""The diff viewer over the whole screen: files on the left, the chosen one's changes on the right. Opened by F5."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.diff.hunks import FileDiff, compare
from workbench.tui.fold.state import FileState
from workbench.tui.widgets.diff_view import DiffView
from workbench.tui.widgets.file_list import FileList, FileRow
from workbench.tui.widgets.painting import css_beside
from workbench.tui.wording.summaries import short_path

_KEYS = (
    *(("j k", "hunks"), ("] [", "files"), ("enter", "more lines"), ("s", "split"), ("w", "wrap"), ("← →", "sideways")),
    ("esc", "close"),
)


class DiffViewerScreen(ModalScreen[None]):
    """All changed files of a session or an action; nothing can be changed here."""

    DEFAULT_CSS = css_beside(__file__)
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012  (as Textual)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f5", "close", "Close", id="viewer.close"),
        Binding("right_square_bracket,f", "file(1)", "Next file", id="viewer.next-file"),
        Binding("left_square_bracket,F", "file(-1)", "Previous file", id="viewer.previous-file"),
    ]

    def __init__(self, files: Sequence[FileState], workspace: str, chosen: str | None = None) -> None:
        super().__init__()
        self._files = [file for file in files if file.before != file.after]
        self._workspace = workspace
        self._chosen = next((place for place, file in enumerate(self._files) if file.path == chosen), 0)
        self._diffs: dict[int, FileDiff] = {}

    def compose(self) -> ComposeResult:
        """Title, list and diff, keys."""
        yield Static(id="viewer-title")
        with Horizontal(id="viewer-body"):
            yield FileList([self._row(file) for file in self._files])
            yield DiffView(id="viewer-diff")
            yield Static(Content("No changes yet."), id="viewer-empty")
        hints = [Content.assemble((key, "bold $primary"), f" {words}") for key, words in _KEYS]
        yield Static(Content("   ").join(hints), id="viewer-keys")

    def on_mount(self) -> None:
        """The chosen file is open and the diff has the keys."""
        has_files = bool(self._files)
        self.query_one(FileList).display = len(self._files) > 1
        self.query_one("#viewer-diff").display = has_files
        self.query_one("#viewer-empty").display = not has_files
        if has_files:
            self.query_one(DiffView).focus()
        self.call_after_refresh(self._show_file)

    def update_files(self, files: Sequence[FileState]) -> None:
        """Other contents, the same file stays chosen when it is still there."""
        path = self._files[self._chosen].path if self._files else None
        self._files = [file for file in files if file.before != file.after]
        self._chosen = next((place for place, file in enumerate(self._files) if file.path == path), 0)
        self._diffs.clear()
        self.query_one(FileList).show([self._row(file) for file in self._files])
        self.on_mount()

    def _show_file(self) -> None:
        title = self._title()
        if self._files:
            self.query_one(FileList).choose(self._chosen)
            self.query_one(DiffView).show([self._diff(self._chosen)])
        self.query_one("#viewer-title", Static).update(title)

    def _diff(self, place: int) -> FileDiff:
        if place not in self._diffs:
            file = self._files[place]
            self._diffs[place] = compare(short_path(file.path, self._workspace), file.before, file.after)
        return self._diffs[place]

    def _row(self, file: FileState) -> FileRow:
        sign = "A" if file.before is None else "D" if file.after is None else "M"
        return FileRow(sign, short_path(file.path, self._workspace), file.added, file.removed)

    def _title(self, hunk: int = -1, count: int = 0) -> Content:
        if not self._files:
            return Content.styled("Changes", "bold $panel-title-focus")
        diff = self._diff(self._chosen)
        path = PurePath(diff.path)
        folder = "" if str(path.parent) == "." else f"{path.parent}/"
        where = (
            f"   hunk {hunk + 1} of {count}"
            if hunk >= 0
            else f"   {len(diff.hunks)} hunk{'s' if len(diff.hunks) != 1 else ''}"
        )
        files = f"   file {self._chosen + 1} of {len(self._files)}" if len(self._files) > 1 else ""
        return Content.assemble(
            (f"{diff.sign} ", "bold $primary"),
            (folder, "$dim"),
            (path.name, "bold"),
            (f"  +{diff.added}" if diff.added or not diff.removed else " ", "$sign-ok"),
            (f" −{diff.removed}" if diff.removed else "", "$sign-failed"),
            (where + files, "$dim"),
        )

    @on(DiffView.Stepped)
    def on_stepped(self, stepped: DiffView.Stepped) -> None:
        """The title says which hunk is chosen."""
        self.query_one("#viewer-title", Static).update(self._title(stepped.hunk, stepped.count))

    @on(FileList.Chosen)
    def on_file_chosen(self, chosen: FileList.Chosen) -> None:
        """A click on a file."""
        self._go_to(chosen.place)

    def action_file(self, by: int) -> None:
        """The next or previous file, round the ends."""
        if self._files:
            self._go_to((self._chosen + by) % len(self._files))

    def _go_to(self, place: int) -> None:
        self._chosen = place
        self._show_file()

    def action_close(self) -> None:
        """Back to where the viewer was opened."""
        self.dismiss(None)
