"""What the Compare screens share: a page of figures, and the files that differ, whose diffs can be applied."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.protocol.events import FileDelta
from workbench.text import visible
from workbench.tui.key_names import hint_content
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.widgets.line_list import LineList
from workbench.tui.widgets.strips import as_content, css_beside
from workbench.view.formatting.comparison import file_row
from workbench.view.review.review import Review, Scope
from workbench.view.wrapping import Line

T = TypeVar("T")


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


class ComparedScreen(ModalScreen[None], Generic[T]):
    """Shows what `read` returns: lines at the top, and the files of one of several pairs, which Tab changes."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Close", id="compare.close"),
        Binding("tab", "other", "The next session or attempt", id="compare.other"),
        Binding("shift+tab", "other(-1)", "The session or attempt before", id="compare.previous", show=False),
        Binding("d", "diff", "Diff", show=False, id="compare.diff"),
    ]

    def __init__(self, read: Callable[[], T], review: Review) -> None:
        """`read` is called in a thread; changes are applied to the workspace of the `review`."""
        super().__init__(id="compare")
        self._read = read
        self._review = review
        self.compared: T | None = None
        """What is compared, once it was read."""
        self.pair = 0
        """Which pair is shown, from 0."""
        self._files = DifferingFiles()

    @abstractmethod
    def page(self, compared: T, width: int) -> list[Line]:
        """Return the lines above the files."""

    @abstractmethod
    def pairs(self, compared: T) -> int:
        """Return how many pairs there are."""

    @abstractmethod
    def files(self, compared: T) -> Sequence[FileDelta]:
        """Return the files that differ in the current pair; none if they cannot be compared."""

    @abstractmethod
    def workspace(self, compared: T) -> str:
        """Return the directory that the paths of the files are in."""

    @abstractmethod
    def scopes(self, compared: T) -> list[Scope]:
        """Return the scopes of the diff viewer for the current pair."""

    @abstractmethod
    def frame(self, compared: T) -> tuple[str, str]:
        """Return the title, and the key hints as `hint_content` takes them."""

    def compose(self) -> ComposeResult:
        """Yield the lines, the files and the note."""
        with Vertical(id="compare-box", classes="page-box") as box:
            box.border_title = "Compare"
            yield Static(id="compare-page")
            yield self._files
            yield Static(id="compare-note")
            yield from self.parts()

    def parts(self) -> Iterable[Widget]:
        """Return the widgets below the note."""
        return ()

    def on_mount(self) -> None:
        """Read what is compared in a thread."""
        self.set_focus(self._files)
        self.note("Reading …")
        self.run_worker(self._load())

    async def _load(self) -> None:
        try:
            self.compared = await in_daemon(self._read)
        except (WorkbenchError, OSError) as error:
            self.note(visible(str(error), lines=False))
        else:
            self.note("")
            self.show_pair()

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self.call_after_refresh(self.show_pair)

    def note(self, text: str) -> None:
        """Show a text that is safe to show; nothing if it is empty."""
        note = self.query_one("#compare-note", Static)
        note.update(Content(text))
        note.display = bool(text)

    def show_pair(self) -> None:
        """Show the current pair, if it was read."""
        compared = self.compared
        if compared is None or not self.is_attached:
            return
        page = self.query_one("#compare-page", Static)
        page.update(as_content(self.page(compared, max(20, page.size.width))))
        files = tuple(self.files(compared))
        self._files.update(files, self.workspace(compared))
        self._files.display = bool(files)
        if files and self.focused is None:  # the list was hidden before, for a pair without files
            self.focus_files()
        box = self.query_one("#compare-box")
        title, hints = self.frame(compared)
        box.border_title = Content(title)
        box.border_subtitle = hint_content(self.app, hints)

    def action_other(self, step: int = 1) -> None:
        """Show the files of the next pair, or of the one before."""
        if self.compared is not None and (count := self.pairs(self.compared)):
            self.pair = (self.pair + step) % count
            self.show_pair()

    def focus_files(self) -> None:
        """Let keys move in the list of files."""
        self.set_focus(self._files)

    @on(DifferingFiles.Opened)
    def on_opened(self, opened: DifferingFiles.Opened) -> None:
        """Show the diff, beginning with a file."""
        self._open_diff(opened.index)

    def action_diff(self) -> None:
        """Show the diff, beginning with the file under the cursor."""
        self._open_diff(self._files.cursor)

    def _open_diff(self, index: int) -> None:
        scopes = self.scopes(self.compared) if self.compared is not None else []
        files = scopes[0].files() if scopes else ()
        if files:
            path, directory = files[min(index, len(files) - 1)].path, str(self._review.directory)
            self.app.push_screen(DiffViewerScreen((), directory, path, review=self._review, scopes=scopes))
        else:
            self.notify("No file differs", timeout=3)

    def action_leave(self) -> None:
        """Close the screen."""
        self.dismiss(None)
