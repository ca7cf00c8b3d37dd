"""The Decisions screen (/decisions): who or what allowed and denied actions, in this session or in all."""

from __future__ import annotations

from functools import partial
from pathlib import Path
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
from workbench.text import counted, first_line, visible
from workbench.tui.key_names import page_hints
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.line_list import LineList
from workbench.tui.widgets.strips import css_beside
from workbench.view import clock
from workbench.view.decision_list import MOST_ROWS, DecisionList, page_of
from workbench.view.decisions import HELP, DecisionRow, details_of
from workbench.view.formatting.decisions import decision_row
from workbench.view.wrapping import Line, Piece

_PLACEHOLDERS: Final = {"filter": HELP, "export": "File: .json .csv .md"}
_OTHER: Final = "   {decisions.scope=tab} %s"
_KEYS: Final = (
    f"Enter Details   {{decisions.filter=slash}} Filter{_OTHER}   {{decisions.export=x}} Export   "
    "{decisions.close=escape} Close"
)
_LINE_KEYS: Final = {
    "filter": "Enter Go to the list   {decisions.close=escape} Back",
    "export": "Enter Write the file   {decisions.close=escape} Cancel",
}
"""The keys of the input line, by its use."""


class DecisionLines(LineList):
    """Shows the rows of a list of decisions; enter or a click chooses one."""

    keeps_cursor = True

    class Chosen(Message):
        """Posted to show everything about a decision."""

        def __init__(self, row: DecisionRow) -> None:
            super().__init__()
            self.row = row

    class Moved(Message):
        """Posted when the cursor has moved to another row."""

    def __init__(self, decisions: DecisionList, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._decisions = decisions

    @property
    def current(self) -> DecisionRow | None:
        """The row under the cursor."""
        rows = self._decisions.rows
        return rows[self.cursor] if self.cursor < len(rows) else None

    def update(self) -> None:
        """Show the rows as they are now."""
        self.set_count(len(self._decisions.rows) or 1)
        self.forget()

    def line(self, index: int, width: int) -> Line:
        """Return one row."""
        if not self._decisions.rows:
            empty = "Reading …" if self._decisions.is_reading else "No decisions"
            unfit = visible(self._decisions.filter.problem, lines=False) or "No decision fits"
            return [Piece(unfit if self._decisions.filter.text else empty, "dim")]
        row = self._decisions.rows[index]
        return decision_row(row, width, clock.now(), with_directory=self._decisions.is_all)

    def watch_cursor(self, before: int, after: int) -> None:
        """Report the move, so that the screen can describe the row."""
        super().watch_cursor(before, after)
        self.post_message(self.Moved())

    def choose(self, index: int) -> None:
        """Show the details of a row."""
        if index < len(self._decisions.rows):
            self.post_message(self.Chosen(self._decisions.rows[index]))


class DecisionsScreen(ModalScreen[None]):
    """Shows the decisions of the open session; Tab shows those of all sessions."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", id="decisions.close"),
        Binding("slash", "ask('filter')", "Filter", id="decisions.filter"),
        Binding("tab", "switch", "This session or all", id="decisions.scope", priority=True),
        Binding("x", "ask('export')", "Export", id="decisions.export"),
        Binding("down", "rows", "To the rows", show=False, id="decisions.rows"),
    ]

    class Read(Message):
        """Posted when a thread has read some decisions."""

        def __init__(self, number: int, rows: list[DecisionRow]) -> None:
            super().__init__()
            self.number, self.rows = number, rows

    class Ended(Message):
        """Posted when a thread has read all decisions, except in the sessions that `problems` names."""

        def __init__(self, number: int, problems: list[str]) -> None:
            super().__init__()
            self.number, self.problems = number, problems

    def __init__(self, decisions: DecisionList) -> None:
        super().__init__(id="decisions")
        self._decisions = decisions
        self._line_kind = "filter"
        self._lines = DecisionLines(decisions, id="decisions-list")
        self._message = ""

    def compose(self) -> ComposeResult:
        """Yield the input line, the rows, and the note."""
        with Vertical(id="decisions-box", classes="page-box"):
            line = Input(id="decisions-line", select_on_focus=False)
            line.display = False
            yield line
            yield self._lines
            yield Static(id="decisions-note")

    def on_mount(self) -> None:
        """Start reading in a thread."""
        self.set_focus(self._lines)
        self._begin(is_all=self._decisions.is_all)

    def on_unmount(self) -> None:
        """Stop the thread."""
        self._decisions.close()

    def on_resize(self) -> None:
        """Show the keys that fit."""
        self._show_frame()

    def on_descendant_focus(self) -> None:
        """Show the keys of the input line or of the rows."""
        self._show_frame()

    def _begin(self, *, is_all: bool) -> None:
        number = self._decisions.begin(is_all=is_all)
        self.run_worker(in_daemon(partial(self._read, number)))
        self._lines.cursor = 0
        self._refresh()

    def _read(self, number: int) -> None:
        """Read the decisions and post them as they come; called in a thread."""
        try:
            problems = self._decisions.read(number, lambda rows: self._post(self.Read(number, rows)))
        except WorkbenchError as error:
            problems = [str(error)]
        self._post(self.Ended(number, problems))

    def _post(self, message: Message) -> None:
        if self.is_running:
            self.post_message(message)

    @on(Read)
    def on_read(self, read: Read) -> None:
        """Show more rows."""
        if self._decisions.add(read.number, read.rows):
            self._refresh()

    @on(Ended)
    def on_ended(self, ended: Ended) -> None:
        """Say which sessions could not be read."""
        if self._decisions.end(ended.number, ended.problems):
            if ended.problems:
                more = f" and {len(ended.problems) - 1} more" if len(ended.problems) > 1 else ""
                self._message = f"Not read: {ended.problems[0]}{more}"
            self._refresh()

    def _refresh(self) -> None:
        self._lines.update()
        self._show_frame()
        self._show_note()

    def _show_frame(self) -> None:
        decisions, box = self._decisions, self.query_one("#decisions-box")
        scope = "all sessions" if decisions.is_all else "this session"
        count = counted(decisions.count, "decision")
        if words := decisions.filter.text:
            count = f"{len(decisions.rows):,} of {count} · {first_line(words, 40)}"
        reading = " · reading …" if decisions.is_reading else ""
        most = f" · the latest {MOST_ROWS:,}" if decisions.count >= MOST_ROWS else ""
        box.border_title = Content(f"Decisions · {scope} · {count}{most}{reading}")
        box.border_subtitle = page_hints(self.app, self._hints(), self.size.width)

    def _hints(self) -> str:
        """Return the keys that have an effect now: the letters are text in the input line."""
        if isinstance(self.focused, Input):
            return _LINE_KEYS[self._line_kind]
        decisions = self._decisions
        other = _OTHER % ("This session" if decisions.is_all else "All sessions")
        hints = _KEYS.replace(_OTHER, other if decisions.has_session else "")
        return hints.replace(" Close", " Clear") if decisions.filter.text else hints

    def _show_note(self) -> None:
        row = self._lines.current
        text = self._message or (details_of(row) if row else "")
        self.query_one("#decisions-note", Static).update(Content(visible(text, lines=False)))

    def action_switch(self) -> None:
        """Show the decisions of all sessions, or of this one again."""
        if self._decisions.has_session and self.query_one(Input).display is False:
            self._message = ""
            self._begin(is_all=not self._decisions.is_all)

    def action_ask(self, kind: str) -> None:
        """Ask what to filter by, or which file to write."""
        self._line_kind = kind
        line = self.query_one(Input)
        line.placeholder, line.display = _PLACEHOLDERS[kind], True
        with self.prevent(Input.Changed):
            line.value = self._decisions.filter.text if kind == "filter" else "decisions.md"
        line.cursor_position = len(line.value)
        self.set_focus(line)

    @on(Input.Changed)
    def on_typed(self, event: Input.Changed) -> None:
        """Filter by the text as it is typed."""
        if self._line_kind == "filter":
            self._decisions.set_filter(event.value)
            self._lines.cursor = 0
            self._refresh()

    @on(Input.Submitted)
    async def on_submitted(self, event: Input.Submitted) -> None:
        """Go back to the rows; if the input line was opened for a file name, write the file."""
        event.stop()
        is_export, name = self._line_kind == "export", event.value.strip()
        self.action_rows()
        if not (is_export and name):
            return
        try:
            self._message = await in_daemon(partial(self._decisions.export, Path(name).expanduser().absolute()))
        except WorkbenchError as error:
            self._message = str(error)
        if self.is_running:
            self._show_note()

    @on(DecisionLines.Moved)
    def on_moved(self) -> None:
        """Describe the decision under the cursor."""
        self._message = ""
        self._show_note()

    @on(DecisionLines.Chosen)
    def on_chosen(self, chosen: DecisionLines.Chosen) -> None:
        """Show everything about a decision."""
        self.app.push_screen(PagerScreen(Content(chosen.row.headline), page_of(chosen.row)))

    def action_rows(self) -> None:
        """Return from the input line to the rows; a filter stays."""
        line = self.query_one(Input)
        line.display = False
        self.set_focus(self._lines)

    def action_leave(self) -> None:
        """Leave the input line, drop the filter, or close the screen."""
        if self.query_one(Input).display:
            self.action_rows()
        elif self._decisions.filter.text:
            self._decisions.set_filter("")
            self._refresh()
        else:
            self.dismiss(None)
