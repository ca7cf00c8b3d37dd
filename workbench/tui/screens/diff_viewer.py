"""The full-screen diff viewer (F5): changed files on the left, their diffs as one page on the right."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.text import counted
from workbench.tui.open_screens import open_blame
from workbench.tui.screens.diff_viewer_comments import ViewerComments
from workbench.tui.screens.diff_viewer_files import ChangedFiles, ViewerStatus
from workbench.tui.screens.diff_viewer_progress import FileComparer, ReviewProgress
from workbench.tui.screens.diff_viewer_revert import Reverter
from workbench.tui.screens.diff_viewer_search import ViewerSearch
from workbench.tui.screens.diff_viewer_staging import ScopeReader, Stager
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.tui.widgets.diff_files import DiffFiles
from workbench.tui.widgets.diff_layout import new_line_at
from workbench.tui.widgets.diff_view import DiffView
from workbench.tui.widgets.file_list import FileList
from workbench.tui.widgets.hunk_ruler import HunkRuler
from workbench.tui.widgets.strips import css_beside
from workbench.tui.widgets.viewer_input import ViewerInput
from workbench.view.approval.plan import plan_ready
from workbench.view.review.review import Review, Scope
from workbench.view.state import Changed, FileState

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp


class DiffViewerScreen(ModalScreen[None]):
    """Shows the changed files of a scope; without a `review` it is read-only."""

    DEFAULT_CSS = css_beside(__file__)
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012  (as Textual)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket,f", "file(1)", "Next file", id="viewer.next-file"),
        Binding("left_square_bracket,F", "file(-1)", "Previous file", id="viewer.previous-file"),
        Binding("full_stop", "scope", "Scope", id="viewer.scope"),
        Binding("slash", "search", "Search", id="viewer.search"),
        Binding("N", "again(-1)", "Previous match", id="viewer.previous-match"),
        Binding("m", "reviewed", "Mark the file as reviewed", id="viewer.reviewed"),
        Binding("b", "blame", "Who wrote the line", id="viewer.blame"),
        Binding("c", "comment('ask')", "Comment on the line", id="viewer.comment"),
        Binding("d", "comment('drop')", "Delete the comment", id="viewer.drop-comment"),
        Binding("ctrl+s", "comment('send')", "Send the comments", id="viewer.send-comments"),
        Binding("x", "revert(False)", "Revert the hunk", id="viewer.take-back"),
        Binding("X", "revert(True)", "Revert the file", id="viewer.take-back-file"),
        Binding("R", "revert_all", "Revert every file", id="viewer.revert-all"),
        Binding("u", "undo", "Undo the revert", id="viewer.undo"),
        Binding("a", "stage(False)", "Stage or unstage the hunk", id="viewer.stage"),
        Binding("A", "stage(True)", "Stage or unstage the file", id="viewer.stage-file"),
        Binding("C", "commit", "Commit what is staged", id="viewer.commit"),
        Binding("f8", "answer", "Answer the pending question", id="viewer.answer"),
        Binding("escape,q,f5", "close", "Close", id="viewer.close"),
    ]

    def __init__(
        self,
        files: Sequence[FileState],
        workspace: str,
        chosen: str | None = None,
        *,
        review: Review | None = None,
        scope: str = "",
        scopes: Sequence[Scope] = (),
        action_id: str = "",
    ) -> None:
        """Show the review's scope named `scope`, or its first one; without a review, show `files`.

        `chosen` is the path of the first file; `scopes` replace the review's, to which `action_id` adds that action's.
        """
        super().__init__()
        self._review, self._action_id = review, action_id
        self._path = chosen
        """Path of the file under the cursor or, before files are shown, of the one to begin with."""
        self._scopes = [*scopes] or (review.scopes(action_id) if review else [Scope("", lambda: files)])
        self._scope = next((at for at, each in enumerate(self._scopes) if each.name == scope), 0)
        self._has_files = False
        """Whether files of the current scope are on screen."""
        self._view, self._empty = AnnotatedDiff(id="viewer-diff"), Static(id="viewer-empty")
        self._page = DiffFiles(self._view)
        self._ruler = HunkRuler(self._view, self._page)
        self._files = ChangedFiles(workspace, review, self._page)
        self._list = FileList(self._files.row)
        self._status = ViewerStatus(self, self._files, review, applies=any(scope.session for scope in self._scopes))
        self._progress = ReviewProgress(self._files, self._page, self._list, self._ruler, self._status)
        self._comparer = FileComparer(self, self._files, self._show_files)
        self._search = ViewerSearch(self._files, self._view, self._status, self._show_files)
        self._comments = ViewerComments(review, self._files, self._view, self._status)
        self._reverter = Reverter(review, self._files, self._view, self._status)
        self._reader = ScopeReader(self, self.update_files, self._show_nothing)
        self._stager = Stager(self, self._files, self._view, self._status, self._reader)

    def compose(self) -> ComposeResult:
        """Yield the title, the file list, the diff, the input line, the status line and the key hints."""
        yield self._progress.title
        with Horizontal(id="viewer-body"):
            yield self._list
            with Horizontal(id="viewer-page"):
                yield self._view
                yield self._ruler
            yield self._empty
        yield self._status.entry
        yield self._status.line
        yield self._status.hints

    def on_mount(self) -> None:
        """Load the files and follow the session from now on."""
        if self._review is not None:
            self._review.watching = self
        self.call_after_refresh(self._load)

    def on_unmount(self) -> None:
        """Stop following the session, however the viewer was closed."""
        if self._review is not None and self._review.watching is self:
            self._review.watching = None

    def follow(self, changed: Changed, refused: str) -> None:
        """Show the session's new changes; `refused` is the engine's reason if it refused a revert."""
        if changed.changes:
            self._search.matches = []
            self._load()
        self._reverter.follow(changed, refused)
        self._status.show(self._status.text)

    def _load(self) -> None:
        scope = self._scopes[self._scope]
        self._status.index = scope.index
        self._reader.read(scope, has_files=self._has_files)

    def update_files(self, files: Sequence[FileState]) -> None:
        """Replace the files; the cursor stays in its file if that is still among them."""
        self._files.update(files)
        self._list.show(len(self._files.files))
        if self._files.files:
            self._show_files()
        else:
            self._show_nothing("No changes yet." if not self._scope_name else "No changes here.")

    def _show_nothing(self, reason: str) -> None:
        self._has_files = False
        self._files.update(())
        self._list.show(0)
        self._empty.update(Content(reason))
        self._page.show([])
        self.set_class(True, "-empty")
        self._progress.show_title(self._scope_name)

    @property
    def _scope_name(self) -> str:
        return self._scopes[self._scope].name

    def _show_files(self) -> None:
        """Show the files that have been compared, and compare the others in a thread."""
        current = self._files.current if self._has_files else None
        number = self._files.number_of(current.path if current is not None else self._path)
        diffs = self._files.show(number)
        if self._has_files:
            self._page.update(diffs)
        else:
            self._has_files = True
            self.set_class(False, "-empty")
            self._page.show(diffs, number)
        if self.focused is None:
            self._view.focus()
        self._search.mark()
        self._comments.refresh()
        self._progress.show(self._scope_name)
        self._comparer.start()

    def on_descendant_focus(self) -> None:
        """Show the keys of the focused widget."""
        self._status.show_keys()

    @on(DiffView.Stepped)
    def on_stepped(self) -> None:
        """Show the current file and hunk in the title, and the lines of a file that were not read or compared yet."""
        if (file := self._files.current) is not None:
            self._path = file.path
        self._progress.show_title(self._scope_name)
        if not self._files.is_current_compared:
            self._comparer.start()

    @on(FileList.Chosen)
    def on_file_chosen(self, chosen: FileList.Chosen) -> None:
        """Go to the file that was clicked."""
        self._page.go_to(chosen.index)

    @on(ViewerInput.Written)
    def on_line_written(self, written: ViewerInput.Written) -> None:
        """Search for the written text, or save it as a comment."""
        self._view.focus()
        if written.asked == "search":
            self.run_worker(self._search.run(written.text, in_all_files=written.whole), exclusive=True, group="search")
        else:
            self._comments.write(written.text)

    @on(ViewerInput.Cancelled)
    def on_line_cancelled(self) -> None:
        """Go back to the diff."""
        self._view.focus()
        self._status.show("")

    def on_key(self, event: events.Key) -> None:
        """Note the time of the key: a confirmation ignores keys that were pressed before its question was shown."""
        self._reverter.confirmation.hears(event.key, time.monotonic() - event.time)

    def action_file(self, by: int) -> None:
        """Go to the next or previous file, wrapping around at the ends."""
        if self._files.files:
            self._page.go_to((self._files.chosen + by) % len(self._files.files))

    def action_scope(self, number: int = -1) -> None:
        """Show the next scope, or one by number; the selected file stays selected if it is in that scope too."""
        if len(self._scopes) > 1:
            self._scope = number if number >= 0 else (self._scope + 1) % len(self._scopes)
            self._has_files, self._status.text, self._search.matches = False, "", []
            self._load()

    def action_search(self) -> None:
        """Ask what to search for."""
        self._search.ask()

    def action_again(self, by: int) -> None:
        """Go to the next or previous match or, without matches, hunk."""
        self._search.step(by)

    def action_reviewed(self) -> None:
        """Mark the file as reviewed and go to the next unreviewed one, or remove its mark."""
        self._progress.toggle(self._scope_name)

    def action_answer(self) -> None:
        """Open the question of the waiting action, the one whose change is shown or else the next, or of a plan."""
        if self._review is not None and self._review.live.waiting:
            self._review.answer(self._action_id if self._scope_name == "this action" else "")
        elif self._review is not None and plan_ready(self._review.live):
            self._search.end()
            self.action_close()  # it covers the plan
            self.app.call_later(self.app.run_action, "screen.question")

    def action_comment(self, what: Literal["ask", "drop", "send"]) -> None:
        """Ask for a comment on the line under the cursor, delete it, or send every comment to the agent."""
        {"ask": self._comments.ask, "drop": self._comments.drop, "send": self._comments.send}[what]()

    def action_blame(self) -> None:
        """Show who wrote the line under the cursor, which is found in the file as it is now by its content."""
        if (file := self._files.current) is not None and self._review is not None:
            line = new_line_at(self._view.geometry, self._view.marks.cursor)
            open_blame(cast("WorkbenchApp", self.app), f"{file.path}:{line}", self._files.new_lines(file))

    def action_revert(self, whole_file: bool) -> None:
        """Revert the hunk under the cursor, or the whole file."""
        self._reverter.revert(self._scopes[self._scope], whole_file=whole_file)

    def action_revert_all(self) -> None:
        """Revert every file of the list on the second press; the first one asks."""
        self._reverter.revert_all(self._scopes[self._scope])

    def action_undo(self) -> None:
        """Undo the last revert."""
        self._reverter.undo()

    def action_stage(self, whole_file: bool) -> None:
        """Stage the hunk under the cursor or its file, or unstage it; in another scope, show what is not staged."""
        self._stager.stage(self._scopes, self._scope, whole_file=whole_file)

    def action_commit(self) -> None:
        """Close the viewer, also during a search, and propose the commit."""
        self._search.end()
        self.action_close()
        self.app.call_later(self.app.run_action, "app.page('commit')")

    def action_close(self) -> None:
        """End the search or, if there is none, close the viewer; unsent comments are kept."""
        if self._search.end():
            return
        if count := len(self._review.comments) if self._review is not None else 0:
            self.app.notify(f"{counted(count, 'unsent comment')} kept in the diff viewer", markup=False)
        self.dismiss(None)
