"""The diff viewer over the whole screen: files on the left, the chosen one's changes on the right. Opened by F5.

Searching, comments and taking back are in the classes it inherits from, one on the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from workbench.client.threads import in_daemon
from workbench.diff.hunks import FileDiff, compare
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tui.screens.viewer_taking_back import ViewerTakingBack
from workbench.tui.widgets.diff_view import DiffView
from workbench.tui.widgets.file_list import FileList, FileRow
from workbench.tui.widgets.key_hints import KeyHints
from workbench.tui.widgets.painting import css_beside
from workbench.tui.widgets.review_line import ReviewLine
from workbench.tui.widgets.review_view import ReviewView
from workbench.tui.widgets.viewer_lines import viewer_title
from workbench.view.formatting.actions import short_path
from workbench.view.formatting.rows import whose, whose_sign
from workbench.view.review.review import Review, Scope
from workbench.view.state import FileState

_AT_ONCE = 300_000
"""Characters that are compared without leaving the screen's own thread."""


class DiffViewerScreen(ViewerTakingBack):
    """The changed files of a scope; without a `review` nothing can be done but look."""

    DEFAULT_CSS = css_beside(__file__)
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012  (as Textual)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket,f", "file(1)", "Next file", id="viewer.next-file"),
        Binding("left_square_bracket,F", "file(-1)", "Previous file", id="viewer.previous-file"),
        Binding("full_stop", "scope", "Scope", id="viewer.scope"),
    ]

    def __init__(
        self,
        files: Sequence[FileState],
        workspace: str,
        chosen: str | None = None,
        *,
        review: Review | None = None,
        scope: str = "",
        action_id: str = "",
    ) -> None:
        """`files` are shown where there is no `review`; with one, the scope of that name (or its first) is shown."""
        super().__init__(review)
        self._workspace = workspace
        self._wanted = chosen
        self._action_id = action_id
        self._scopes = review.scopes(action_id) if review else [Scope("", lambda: files)]
        self._scope = next((at for at, found in enumerate(self._scopes) if found.name == scope), 0)
        self._diffs: dict[str, tuple[FileState, FileDiff]] = {}
        self._shown: FileDiff | None = None

    def compose(self) -> ComposeResult:
        """Title, list and diff, what is said, keys."""
        yield Static(id="viewer-title")
        with Horizontal(id="viewer-body"):
            yield FileList([])
            yield ReviewView(id="viewer-diff")
            yield Static(id="viewer-empty")
        yield ReviewLine()
        yield Static(id="viewer-status")
        yield KeyHints()

    def on_mount(self) -> None:
        """The chosen file is open and the diff has the keys; from now on the session is followed."""
        if self.review is not None:
            self.review.watching = self
        self.call_after_refresh(self._load)

    def _load(self) -> None:
        scope = self._scopes[self._scope]
        if scope.is_slow:
            if self._shown is None:
                self._show_nothing("Asking git …")
            self.run_worker(self._load_slow(scope), exclusive=True, group="scope")
        else:
            self.workers.cancel_group(self, "scope")
            self.update_files(scope.files())

    async def _load_slow(self, scope: Scope) -> None:
        try:
            files = await in_daemon(scope.files)
        except WorkbenchError as error:
            self.files = []
            self._show_nothing(visible(str(error)))
        else:
            self.update_files(files)

    def update_files(self, files: Sequence[FileState]) -> None:
        """Other contents, the same file stays chosen when it is still there."""
        path = self._wanted or (self.files[self.chosen].path if self.files else None)
        self._wanted = None
        self.files = [replace(file) for file in files if file.before != file.after or file.note]
        self.chosen = next((place for place, file in enumerate(self.files) if file.path == path), 0)
        listed = self.query_one(FileList)
        listed.display = len(self.files) > 1
        listed.show([self._row(file) for file in self.files])
        if self.files:
            self._show_file()
        else:
            self._show_nothing("No changes yet." if not self._scopes[self._scope].name else "No changes here.")

    def _show_nothing(self, why: str) -> None:
        self._shown = None
        empty = self.query_one("#viewer-empty", Static)
        empty.update(Content(why))
        empty.display, self.query_one(ReviewView).display = True, False
        self.tell_title()

    def _show_file(self) -> None:
        file = self.files[self.chosen]
        diff = self.known_diff(file)
        self.query_one(FileList).choose(self.chosen)
        if diff is None:
            self._show_nothing("Comparing …")
            self.run_worker(self._compare_later(file), exclusive=True, group="compare")
            return
        view = self.query_one(ReviewView)
        self.query_one("#viewer-empty").display, view.display = False, True
        before, self._shown = self._shown, diff
        if before is not None and before is not diff and before.path == diff.path:
            view.update(diff)
        elif before is not diff:
            view.show([diff])
        if self.focused is None:
            view.focus()
        self.file_shown(file, diff)
        self.tell_title()

    async def _compare_later(self, file: FileState) -> None:
        await in_daemon(lambda: self.compared(file))
        if self.files and self.files[self.chosen] is file:
            self._show_file()

    def known_diff(self, file: FileState) -> FileDiff | None:
        """What is known already, or found at once; None where it would take longer than a frame or two."""
        known = self._diffs.get(file.path)
        is_known = known is not None and (known[0].before, known[0].after) == (file.before, file.after)
        if is_known or len(file.before or "") + len(file.after or "") < _AT_ONCE:
            return self.compared(file)
        return None

    def compared(self, file: FileState) -> FileDiff:
        """The difference of a file, kept until the file changes; safe to call in a thread."""
        known = self._diffs.get(file.path)
        if known is None or (known[0].before, known[0].after, known[0].note) != (file.before, file.after, file.note):
            path = short_path(file.path, self._workspace)
            diff = unshown(path, file) if file.note else compare(path, file.before, file.after)
            known = self._diffs[file.path] = (file, diff)
        return known[1]

    def _row(self, file: FileState) -> FileRow:
        sign = "M" if file.note else "A" if file.before is None else "D" if file.after is None else "M"
        added, removed = (-1, -1) if file.note else (file.added, file.removed)
        return FileRow(sign, short_path(file.path, self._workspace), added, removed, whose_sign(file))

    def tell_title(self) -> None:
        """Scope, file, hunk."""
        hunk = self.query_one(ReviewView).current if self._shown is not None else -1
        title = viewer_title(self._scopes[self._scope].name, self._shown, hunk, self.chosen, len(self.files))
        by = whose(self.files[self.chosen]) if self._shown is not None else ""
        said = Content.assemble(title, ("   " + by, "$dim")) if by else title
        self.query_one("#viewer-title", Static).update(said)

    @on(DiffView.Stepped)
    def on_stepped(self) -> None:
        """The title says which hunk is chosen."""
        self.tell_title()

    @on(FileList.Chosen)
    def on_file_chosen(self, chosen: FileList.Chosen) -> None:
        """A click on a file."""
        self.go_to(chosen.place)

    def action_file(self, by: int) -> None:
        """The next or previous file, round the ends."""
        if self.files:
            self.go_to((self.chosen + by) % len(self.files))

    def go_to(self, place: int) -> None:
        """Show a file of the list."""
        self.chosen = place
        self._show_file()

    def action_scope(self) -> None:
        """The next scope; the same file stays chosen when it is in that one too."""
        if len(self._scopes) > 1:
            self._scope = (self._scope + 1) % len(self._scopes)
            self._shown, self.said, self.matches = None, "", []
            self._load()

    def fixed(self) -> str:
        """Why nothing of the scope can be taken back."""
        return self._scopes[self._scope].fixed

    def reload(self) -> None:
        """The session went on: show what the scope holds now."""
        self._load()


def unshown(path: str, file: FileState) -> FileDiff:
    """A file whose lines cannot be shown: why, and what is known of it before and after."""
    known = [text.strip() for text in (file.before, file.after) if text]
    note = ": ".join(filter(None, (file.note, " → ".join(known))))
    return replace(compare(path, None, None), note=note)
