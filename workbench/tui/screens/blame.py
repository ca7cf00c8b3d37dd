"""The Blame screen (/blame, and b in the diff viewer): who wrote each line of a file, and the way to the action."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.session.blame.history import Writer
from workbench.text import counted, visible, visible_path
from workbench.tui.key_names import hint_content
from workbench.tui.widgets.line_list import LineList
from workbench.tui.widgets.strips import as_content, css_beside
from workbench.view import clock
from workbench.view.blame import BlameView, LineSource, blame_note, blame_row, row_with_line, summary
from workbench.view.wrapping import Line, Piece

_KEYS: Final = (
    "{list.open=enter} Go to the action   {blame.next=n} Next writer   {blame.previous=N} Previous   "
    "{blame.close=escape} Close"
)
_NARROW_KEYS: Final = (
    "{list.open=enter} Go   {blame.next=n} Next   {blame.previous=N} Previous   {blame.close=escape} Close"
)


class BlameLines(LineList):
    """Shows the lines of the file with their writers; enter or a click chooses one."""

    class Chosen(Message):
        """Posted to go to the action that wrote a line."""

        def __init__(self, source: LineSource) -> None:
            super().__init__()
            self.source = source

    class Moved(Message):
        """Posted when the cursor has moved to another line."""

    def __init__(self) -> None:
        super().__init__(id="blame-list")
        self.blame: BlameView | None = None

    def update(self, blame: BlameView) -> None:
        """Show this blame."""
        self.blame = blame
        self.set_count(len(blame.rows) or 1)
        self.forget()

    @property
    def current(self) -> LineSource | None:
        """The writer of the line under the cursor."""
        rows = self.blame.rows if self.blame is not None else ()
        return rows[self.cursor].source if self.cursor < len(rows) else None

    def line(self, index: int, width: int) -> Line:
        """Return one line."""
        if self.blame is None or not self.blame.rows:
            return [Piece("Reading …" if self.blame is None else "This file is empty", "dim")]
        digits = len(str(self.blame.rows[-1].number))
        return blame_row(self.blame.rows[index], digits, width, clock.now())

    def watch_cursor(self, before: int, after: int) -> None:
        """Report the move, so that the screen can describe the writer."""
        super().watch_cursor(before, after)
        self.post_message(self.Moved())

    def choose(self, index: int) -> None:
        """Choose a line."""
        if self.blame is not None and index < len(self.blame.rows):
            self.post_message(self.Chosen(self.blame.rows[index].source))

    def step(self, by: int) -> None:
        """Go to the first line of the next or previous run of lines with one writer."""
        rows = self.blame.rows if self.blame is not None else ()
        starts = [index for index, row in enumerate(rows) if row.is_first]
        others = [index for index in starts if (index > self.cursor if by > 0 else index < self.cursor)]
        if others:
            self.move_to(others[0] if by > 0 else others[-1])


class BlameScreen(ModalScreen[Writer | None]):
    """Shows who wrote each line of a file; the result is the action to go to, or None."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="blame.close"),
        Binding("n", "step(1)", "Next writer", id="blame.next"),
        Binding("N", "step(-1)", "Previous writer", id="blame.previous"),
    ]

    def __init__(
        self, read: Callable[[], BlameView], file: str, session_id: str, line: int = 0, lines: Sequence[str] = ()
    ) -> None:
        """`read` is called in a thread; `line`, from 0, is the first one under the cursor of `file`.

        It is a line of `lines`, the text in which the user chose it, or by default of the file as it is now.
        """
        super().__init__(id="blame")
        self._read_blame = read
        self._file, self._session_id = file, session_id
        self._line, self._text = line, lines
        self._lines = BlameLines()
        self._asked: Writer | None = None
        """The action in another session that a second enter opens."""

    def compose(self) -> ComposeResult:
        """Yield the lines, and below them the note on the writer."""
        with Vertical(id="blame-box", classes="page-box"):
            yield self._lines
            yield Static(id="blame-note")

    def on_mount(self) -> None:
        """Start reading in a thread."""
        self.set_focus(self._lines)
        self._show_frame()
        self.run_worker(self._read())

    async def _read(self) -> None:
        try:
            blame = await in_daemon(self._read_blame)
        except WorkbenchError as error:
            self.app.notify(visible(str(error)), severity="warning", markup=False)
            self.dismiss(None)
            return
        self._lines.update(blame)
        row, is_there = row_with_line(blame, self._text, self._line) if self._text else (self._line, True)
        self._lines.move_to(row)
        if not is_there:
            words = f"The line is not in {visible_path(blame.path)} any more; the cursor is where it was"
            self.app.notify(words, severity="warning", markup=False)
        self._show_frame()
        self._describe()

    def on_resize(self) -> None:
        """Show the keys that fit."""
        self._show_frame()

    def _show_frame(self) -> None:
        box, blame = self.query_one("#blame-box"), self._lines.blame
        parts = ["Blame", visible_path(blame.path if blame else self._file), *([summary(blame)] if blame else [])]
        if blame is not None and blame.notes:
            parts.append(counted(len(blame.notes), "problem"))
        box.border_title = Content(" · ".join(parts))
        box.border_subtitle = hint_content(self.app, _KEYS if self.size.width >= 100 else _NARROW_KEYS)

    @on(BlameLines.Moved)
    def on_moved(self) -> None:
        """Describe the writer of the line under the cursor."""
        self._asked = None
        self._describe()

    def _describe(self) -> None:
        source, blame = self._lines.current, self._lines.blame
        lines = blame_note(source, clock.now()) if source is not None else []
        if blame is not None and blame.notes:
            lines.append([Piece(f"! {blame.notes[0]}", "waiting")])
        self._show_note(lines)

    def _show_note(self, lines: list[Line]) -> None:
        self.query_one("#blame-note", Static).update(as_content(lines))

    @on(BlameLines.Chosen)
    def on_chosen(self, chosen: BlameLines.Chosen) -> None:
        """Go to the action; one in another session is opened on the second press."""
        source, writer = chosen.source, chosen.source.writer
        if not source.is_action:
            self._show_note([[Piece(source.title, "bold")], [Piece("There is no action to go to.", "dim")]])
        elif writer.session == self._session_id or self._asked == writer:
            self.dismiss(writer)
        else:
            self._asked = writer
            text = f"This action is in another session: {source.session} ({writer.session})."
            self._show_note(
                [[Piece(source.title, "bold")], [Piece(text)], [Piece("Enter opens that session", "accent")]]
            )

    def action_step(self, by: int) -> None:
        """Go to the next or previous run of lines with one writer."""
        self._lines.step(by)

    def action_close(self) -> None:
        """Close the screen."""
        self.dismiss(None)
