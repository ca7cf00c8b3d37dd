"""The Sessions screen: lists all sessions, and filters, searches, opens, renames, exports and deletes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.session.storage.session_list import SearchMatch
from workbench.text import visible
from workbench.tui.key_names import key_of, page_hints
from workbench.tui.widgets.grouped_list import GroupedList
from workbench.tui.widgets.strips import css_beside
from workbench.view import clock
from workbench.view.approval.quiet_time import Confirmation
from workbench.view.formatting.sessions import SessionRow, day, details, directory_heading, session_row, title
from workbench.view.sessions import SessionShelf
from workbench.view.wrapping import Line, Piece


class SessionList(GroupedList):
    """Shows rows below their directories; Enter or a click chooses one."""

    keeps_cursor = True

    class Chosen(Message):
        """Posted to open the session of a row."""

        def __init__(self, row: SessionRow) -> None:
            super().__init__()
            self.row = row

    class Moved(Message):
        """Posted when the cursor has moved to another row."""

    def __init__(self, is_twin: Callable[[SessionRow], bool], *, id: str | None = None) -> None:
        """`is_twin` returns whether another session has the same title as a row's session."""
        super().__init__(id=id)
        self._is_twin = is_twin
        self._rows: Sequence[SessionRow] = ()
        self._empty = ""

    @property
    def current(self) -> SessionRow | None:
        """The row under the cursor."""
        return self._rows[self.row_index] if self._rows and self.row_index >= 0 else None

    def show(self, rows: Sequence[SessionRow], empty: str, *, is_grouped: bool) -> None:
        """Replace the rows, keeping the cursor on its session; `empty` is the text shown if there are none.

        If `is_grouped`, the first row of a directory has the directory as its heading.
        """
        before = self.current if self.row_index > 0 else None  # a cursor on the first row stays there
        self._rows, self._empty = rows, empty
        at = next((at for at, row in enumerate(rows) if _name(row) == _name(before)), 0) if before else 0
        groups = [(bool(row.entry.damaged), row.directory) if is_grouped else None for row in rows]
        self.set_rows(groups, lambda index: directory_heading(rows[index]), at)

    def row_line(self, index: int, width: int) -> Line:
        """Return one row; the first row of a day in a directory names the day."""
        if not self._rows:
            return [Piece(self._empty, "dim")]
        row, before, now = self._rows[index], self._rows[index - 1] if index else None, clock.now()
        is_first = before is None or _group(before, now) != _group(row, now)
        return session_row(row, width, now, is_twin=self._is_twin(row), is_first=is_first)

    def watch_cursor(self, before: int, after: int) -> None:
        """Report the move, so that the screen can describe the row."""
        super().watch_cursor(before, after)
        self.post_message(self.Moved())

    def choose_row(self, index: int) -> None:
        """Open the session under the cursor."""
        self.post_message(self.Chosen(self._rows[index]))


def _group(row: SessionRow, now: datetime) -> tuple[bool, str, str]:
    return bool(row.entry.damaged), row.directory, day(row.entry.updated, now)


def _name(row: SessionRow | None) -> tuple[str, int]:
    return (row.entry.id, row.match.seq if row.match else 0) if row else ("", 0)


NEW_SESSION: Final = ""
"""The screen's result if a new session is wanted, in place of an id."""
_PLACEHOLDERS: Final = {
    "filter": "Filter by title, directory or ID",
    "search": "Search messages, commands and results",
    "rename": "New title (empty = first message)",
    "export": "File: .md .html .jsonl .svg .cast",
}
"""The placeholder of the input line, by what the line is used for."""
_SUBMIT_HINTS: Final = {
    "rename": "Enter Save the title   {sessions.close=escape} Cancel",
    "export": "Enter Write the file   {sessions.close=escape} Cancel",
}
_FIND_HINTS: Final = "Enter Go to the list   {sessions.close=escape} Cancel"
_KEYS: Final = (
    "Enter Open   {sessions.new=n} New   {sessions.filter=slash} Filter   {sessions.search=s} Search   "
    "{sessions.rename=r} Rename   {sessions.export=x} Export   {sessions.delete=d} Delete   "
    "{sessions.close=escape} %s"
)


class SessionQuery:
    """Reads and searches the sessions in threads, which post their results to the screen as messages."""

    class Read(Message):
        """Posted when a thread has read some sessions; `is_last` if there are no more."""

        def __init__(self, rows: list[SessionRow], is_last: bool = False, problem: str = "") -> None:
            super().__init__()
            self.rows, self.is_last, self.problem = rows, is_last, problem

    class Searched(Message):
        """Posted when a thread has found matches; `number` identifies the search, `is_last` means it is complete."""

        def __init__(self, number: int, matches: list[SearchMatch], is_last: bool = False) -> None:
            super().__init__()
            self.number, self.matches, self.is_last = number, matches, is_last

    def __init__(self, shelf: SessionShelf, post: Callable[[Message], object]) -> None:
        self._shelf = shelf
        self._post = post
        self._matches: list[SearchMatch] = []
        self._number = 0
        """Counts the queries, so that the thread of an earlier one stops; -1 once the screen is closed."""
        self.kind = "filter"
        self.text = ""
        self.is_reading, self.is_searching = True, False

    @property
    def is_search(self) -> bool:
        """Whether the rows are the results of a search."""
        return self.kind == "search" and bool(self.text.strip())

    def rows(self) -> Sequence[SessionRow]:
        """Return the sessions read so far that match the filter, or the results of the search."""
        return self._shelf.match_rows(self._matches, self.text) if self.is_search else self._shelf.rows(self.text)

    def begin(self, kind: str, text: str) -> Callable[[], None] | None:
        """Set the filter or search and stop an earlier search; return the work for a thread, or None if not needed."""
        self.kind, self.text, self._matches = kind, text, []
        self._number += 1
        self.is_searching = self.is_search
        return partial(self._search, text, self._number) if self.is_searching else None

    def close(self) -> None:
        """Stop the threads."""
        self._number = -1

    def add_rows(self, read: Read) -> None:
        """Add the rows that a thread has read."""
        self._shelf.add(read.rows)
        self.is_reading = not read.is_last

    def add_matches(self, searched: Searched) -> bool:
        """Add the matches that a thread has found; return False, and add none, if they belong to an earlier search."""
        if searched.number != self._number:
            return False
        self._matches += searched.matches
        self.is_searching = not searched.is_last
        return True

    def read(self) -> None:
        """Read every session and post the rows as they come; called in a thread."""
        problem = ""
        try:
            self._shelf.read(lambda rows: self._send(self.Read(rows)), lambda: self._number < 0)
        except WorkbenchError as error:
            problem = str(error)
        self._send(self.Read([], True, problem))

    def _search(self, text: str, number: int) -> None:
        def report(matches: list[SearchMatch]) -> None:
            self._send(self.Searched(number, matches))

        # If the directory cannot be read, reading the list has reported that already.
        with suppress(WorkbenchError):
            self._shelf.search(text, report, lambda: self._number != number)
        self._send(self.Searched(number, [], is_last=True))

    def _send(self, message: Message) -> None:
        if self._number >= 0:
            self._post(message)


class SessionNote:
    """The line below the rows: a message about a session until the cursor leaves it, or the session's details."""

    def __init__(self, rows: SessionList) -> None:
        self.line = Static(id="sessions-note")
        self._rows = rows
        self._message = ""
        self._about: SessionRow | None = None

    def show(self, message: str) -> None:
        """Show a message about the session under the cursor."""
        self._message, self._about = message, self._rows.current
        self.refresh()

    def refresh(self) -> None:
        """Show the message or, if there is none, the details of the session under the cursor."""
        row = self._rows.current
        text = self._message or (details(row) if row else "")
        self.line.update(Content(visible(text)))

    def cursor_moved(self) -> bool:
        """Drop the message if the cursor has left the session that it is about; return whether it has."""
        row = self._rows.current
        is_other = self._about is None or row is None or self._about.entry.id != row.entry.id
        if is_other:
            self._message = ""
        self.refresh()
        return is_other


class SessionActions:
    """Renames, exports and deletes the session under the cursor; a delete needs a second press."""

    def __init__(
        self,
        shelf: SessionShelf,
        rows: SessionList,
        note: SessionNote,
        confirmation: Confirmation,
        *,
        set_title: Callable[[str], None],
        refresh: Callable[[], None],
    ) -> None:
        """`set_title` asks the engine to rename the open session; `refresh` shows the rows again."""
        self._shelf = shelf
        self._rows = rows
        self._note = note
        self._confirmation = confirmation
        self._set_title = set_title
        self._refresh = refresh

    def refusal(self, kind: str) -> str:
        """Return why the session under the cursor cannot be renamed or exported; empty if it can."""
        row = self._rows.current
        if kind not in _SUBMIT_HINTS:
            return ""
        if row is None:
            return "No session selected"
        is_damaged = bool(row.entry.damaged)
        return "A damaged session can only be deleted, or repaired: `ohw sessions repair`" if is_damaged else ""

    async def rename(self, row: SessionRow, text: str) -> None:
        """Save a title; for the open session, the engine writes it."""
        if row.is_current:
            self._set_title(text)
            self._shelf.retitle(row.entry.id, text)
            await self._run(lambda: None, "Saved")
        else:
            await self._run(partial(self._shelf.rename, row.entry.id, text), "Saved")

    async def export(self, row: SessionRow, text: str) -> None:
        """Write a session to the file named `text`; do nothing if it is empty."""
        if text:
            file = Path(text).expanduser().absolute()
            self._note.show("Writing …")
            await self._run(partial(self._shelf.export, row.entry.id, file), f"Exported to {file}")

    async def delete(self) -> None:
        """Delete the session under the cursor, or ask for a second press."""
        row = self._rows.current
        if row is None:
            return
        if row.is_current:
            self._note.show("This session is open; open another one to delete it")
        elif row.is_busy:
            self._note.show("Another process is working in this session; end it first")
        elif not self._confirmation.is_answered(row.entry.id):
            self._confirmation.ask(row.entry.id)
            key = key_of(self._rows.app, "sessions.delete", "d")
            self._note.show(f'Delete "{title(row.entry)}" permanently? Press {key} again.')
        else:
            await self._run(partial(self._shelf.delete, row.entry.id), "Deleted")

    async def _run(self, work: Callable[[], None], message: str) -> None:
        try:
            await in_daemon(work)
        except WorkbenchError as error:
            message = str(error)
        self._confirmation.forget()
        if self._rows.is_running:
            self._refresh()
            self._note.show(message)


class SessionsScreen(ModalScreen[str | None]):
    """Lists the sessions; dismisses with the id of the one to open, or None. `set_title` renames the open session."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", id="sessions.close"),
        Binding("n", "new", "New session", id="sessions.new"),
        Binding("slash", "ask('filter')", "Filter", id="sessions.filter"),
        Binding("s", "ask('search')", "Search in all of them", id="sessions.search"),
        Binding("r", "ask('rename')", "Rename", id="sessions.rename"),
        Binding("x", "ask('export')", "Export", id="sessions.export"),
        Binding("d", "delete", "Delete", id="sessions.delete"),
        Binding("down", "rows", "To the rows", show=False, id="sessions.rows"),
    ]

    def __init__(self, shelf: SessionShelf, set_title: Callable[[str], None], search: str = "") -> None:
        """If `search` is not empty, the screen starts with a search for it."""
        super().__init__(id="sessions")
        self._shelf = shelf
        self._initial_search = search
        self._line_kind = "filter"
        """The use of the input line, a key of `_PLACEHOLDERS`."""
        self._rows = SessionList(shelf.is_twin, id="sessions-list")
        self._note = SessionNote(self._rows)
        self._query = SessionQuery(shelf, self._post)
        self.confirmation = Confirmation(self.call_after_refresh, time.monotonic)
        """Confirms the deletion of a session by a second press."""
        self._actions = SessionActions(
            shelf, self._rows, self._note, self.confirmation, set_title=set_title, refresh=self.refresh_rows
        )

    def compose(self) -> ComposeResult:
        """Yield the input line, the rows, and the note."""
        with Vertical(id="sessions-box", classes="page-box"):
            yield Input(id="sessions-line", select_on_focus=False)
            yield self._rows
            yield self._note.line

    def on_mount(self) -> None:
        """Start reading the sessions in a thread, and begin the search that the screen was opened with."""
        self.query_one(Input).display = False
        self.set_focus(self._rows)
        self.run_worker(in_daemon(self._query.read))
        self.refresh_rows()
        if self._initial_search:
            self.action_ask("search")
            self.query_one(Input).value = self._initial_search

    def on_resize(self) -> None:
        """Show the keys that fit."""
        self._show_keys()

    def on_descendant_focus(self) -> None:
        """Show the keys of the input line, where letters are text, or of the rows."""
        self._show_keys()

    def _show_keys(self) -> None:
        is_writing = isinstance(self.focused, Input)
        hints = _SUBMIT_HINTS.get(self._line_kind, _FIND_HINTS)
        if not is_writing:
            hints = _KEYS % ("Clear" if self._query.text else "Close")
        self.query_one("#sessions-box").border_subtitle = page_hints(self.app, hints, self.size.width)

    def on_unmount(self) -> None:
        """Stop the threads."""
        self._query.close()

    def _post(self, message: Message) -> None:
        if self.is_running:
            self.post_message(message)

    @on(SessionQuery.Read)
    def on_read(self, read: SessionQuery.Read) -> None:
        """Show more rows."""
        self._query.add_rows(read)
        self.refresh_rows()
        if read.problem:
            self._note.show(read.problem)

    @on(SessionQuery.Searched)
    def on_searched(self, searched: SessionQuery.Searched) -> None:
        """Show more matches."""
        if self._query.add_matches(searched):
            self.refresh_rows()

    def action_ask(self, kind: str) -> None:
        """Ask what to filter or search by, or for a title or a file."""
        if refusal := self._actions.refusal(kind):
            self._note.show(refusal)
            return
        row, self._line_kind = self._rows.current, kind
        values = {kind: self._query.text if self._query.kind == kind else ""}
        values |= {"rename": title(row.entry), "export": f"{row.entry.id}.md"} if row else {}
        line = self.query_one(Input)
        line.placeholder, line.display = _PLACEHOLDERS[kind], True
        with self.prevent(Input.Changed):
            line.value = values[kind]
        line.cursor_position = len(line.value)
        self.set_focus(line)  # at once, because the next key is text
        self._note.show("")

    @on(Input.Changed)
    def on_typed(self, event: Input.Changed) -> None:
        """Filter or search by the text of the input line as it is typed."""
        if self._line_kind not in _SUBMIT_HINTS:
            self._find(self._line_kind, event.value)

    def _find(self, kind: str, text: str) -> None:
        work = self._query.begin(kind, text)
        if work is not None:
            self.run_worker(in_daemon(work))
        self.refresh_rows()

    @on(Input.Submitted)
    def on_submitted(self, event: Input.Submitted) -> None:
        """Go back to the rows; rename or export the session if the input line was opened for that."""
        event.stop()
        kind, row = self._line_kind, self._rows.current
        self.action_rows()
        if row is not None and kind in _SUBMIT_HINTS:
            run = self._actions.rename if kind == "rename" else self._actions.export
            self.run_worker(run(row, event.value.strip()))

    @on(SessionList.Chosen)
    def on_chosen(self, chosen: SessionList.Chosen) -> None:
        """Open a session, or say why it cannot be opened."""
        entry = chosen.row.entry
        if entry.damaged:
            self._note.show(f"Cannot be opened: {entry.damaged}")
        else:
            self.dismiss(entry.id)

    @on(SessionList.Moved)
    def on_moved(self) -> None:
        """Show the details of the session under the cursor; cancel a pending deletion of another one."""
        if self._note.cursor_moved():
            self.confirmation.forget()

    def on_key(self, event: events.Key) -> None:
        """Stop a key that was pressed before the question was visible, so that it deletes nothing."""
        if not self.confirmation.hears(event.key, time.monotonic() - event.time):
            event.stop()

    async def action_delete(self) -> None:
        """Delete the session under the cursor, or ask first; do nothing while the input line is in use."""
        if not isinstance(self.focused, Input):
            await self._actions.delete()

    def action_rows(self) -> None:
        """Go from the input line to the rows; the input line stays visible while it filters the rows."""
        line = self.query_one(Input)
        if self._line_kind in _SUBMIT_HINTS:
            self._line_kind = self._query.kind
            with self.prevent(Input.Changed):
                line.value = self._query.text
        line.display = bool(self._query.text.strip())
        self.set_focus(self._rows)
        self._note.show("")

    def action_new(self) -> None:
        """Close the screen, and start a new session."""
        self.dismiss(NEW_SESSION)

    def action_leave(self) -> None:
        """Close the input line or, if it is not open, the filter or, if there is none, the screen."""
        is_writing = isinstance(self.focused, Input)
        if is_writing and self._line_kind in _SUBMIT_HINTS:
            self.action_rows()
        elif is_writing or self._query.text:
            self._find("filter", "")
            self.action_rows()
        else:
            self.dismiss(None)

    def refresh_rows(self) -> None:
        """Show the sessions that match, and their number in the border."""
        self._show_keys()
        query, rows = self._query, self._query.rows()
        is_working = query.is_searching or query.is_reading
        empty = "No sessions yet" if not query.text else "No match"
        self._rows.show(rows, "…" if is_working else empty, is_grouped=not query.text.strip())
        count, damaged = self._shelf.count()
        total = f"{len(rows)} found" if query.is_search else f"{count:,}{' …' if query.is_reading else ''}"
        parts = [total, f"{damaged} damaged" if damaged else "", "searching …" if query.is_searching else ""]
        self.query_one("#sessions-box").border_title = Content(" · ".join(["Sessions", *filter(None, parts)]))
        self._note.refresh()
