"""The Sessions screen: all of them, filtered by a few letters or searched through; opened, named, exported, deleted."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.session.storage.catalog import SearchMatch
from workbench.tui.screens.sessions_doing import SessionsDoing
from workbench.tui.widgets.painting import css_beside
from workbench.tui.widgets.session_list import SessionList
from workbench.view.approval.questions import Confirmation
from workbench.view.formatting.sessions import SessionRow, title
from workbench.view.sessions import Shelf

_HINTS = {
    "filter": "letters of a title, a folder or an id",
    "search": "words that were said, run or answered in any session",
    "rename": "a title; empty for what was said first",
    "export": "a file: .md .html .jsonl .svg .cast",
}
_NEXT = {"rename": "enter saves the title · esc leaves it", "export": "enter writes the file · esc does not"}
_KEYS = "enter open · / filter · s search · r rename · x export · d delete · esc close"
_SHORT_KEYS = "enter open · / s find · r x d · esc"


class SessionsScreen(SessionsDoing):
    """Dismisses with the id of the session to open; `set_title` tells the engine of the one on screen its title."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", id="sessions.close"),
        Binding("slash", "ask('filter')", "Filter", id="sessions.filter"),
        Binding("s", "ask('search')", "Search in all of them", id="sessions.search"),
        Binding("down", "rows", "To the rows", show=False, id="sessions.rows"),
    ]

    class Read(Message):
        """A thread has read some sessions; `is_last` when that is all."""

        def __init__(self, rows: list[SessionRow], is_last: bool = False, problem: str = "") -> None:
            super().__init__()
            self.rows, self.is_last, self.problem = rows, is_last, problem

    class Searched(Message):
        """A thread has found words; `number` is that of its search."""

        def __init__(self, number: int, places: list[SearchMatch], is_last: bool = False) -> None:
            super().__init__()
            self.number, self.places, self.is_last = number, places, is_last

    def __init__(self, shelf: Shelf, set_title: Callable[[str], None], search: str = "") -> None:
        super().__init__(id="sessions")
        self.shelf = shelf
        self.set_title = set_title
        self.confirmation = Confirmation(self.call_after_refresh, time.monotonic)
        self._begin = search
        self._line = self._shown = "filter"  # what the line is for, and what the rows are
        self._query = ""
        self._found: list[SearchMatch] = []
        self._number = 0
        self._is_reading, self._is_searching = True, False

    def compose(self) -> ComposeResult:
        """A line to write in, the rows, and what there is to say."""
        with Vertical(id="sessions-box"):
            yield Input(id="sessions-line", select_on_focus=False)
            yield SessionList(self.shelf.is_twin, id="sessions-list")
            yield Static(id="sessions-note")

    def on_mount(self) -> None:
        """Read them beside the screen; the first rows are there at once."""
        self.query_one(Input).display = False
        self.set_focus(self.query_one(SessionList))
        self.run_worker(in_daemon(self._read))
        self.refresh_rows()
        if self._begin:
            self.action_ask("search")
            self.query_one(Input).value = self._begin

    def on_resize(self) -> None:
        """The keys that fit."""
        keys = _KEYS if self.size.width >= len(_KEYS) + 10 else _SHORT_KEYS
        self.query_one("#sessions-box").border_subtitle = Content(keys)

    def on_unmount(self) -> None:
        """The threads stop."""
        self._number = -1

    def _read(self) -> None:
        problem = ""
        try:
            self.shelf.read(lambda rows: self._tell(self.Read(rows)), lambda: self._number < 0)
        except WorkbenchError as error:
            problem = str(error)
        self._tell(self.Read([], True, problem))

    def _tell(self, message: Message) -> None:
        if self._number >= 0 and self.is_running:
            self.post_message(message)

    @on(Read)
    def on_read(self, read: Read) -> None:
        """More rows."""
        self.shelf.add(read.rows)
        self._is_reading = not read.is_last
        self.refresh_rows()
        if read.problem:
            self.say(read.problem)

    @on(Searched)
    def on_searched(self, searched: Searched) -> None:
        """More places, if it is still what is searched."""
        if searched.number == self._number:
            self._found += searched.places
            self._is_searching = not searched.is_last
            self.refresh_rows()

    def action_ask(self, line: str) -> None:
        """Write in the line: what to filter or search by, a title, a file."""
        if why := self.refused(line):
            self.say(why)
            return
        row, self._line = self.row, line
        begin = {line: self._query if self._shown == line else ""}
        begin |= {"rename": title(row.entry), "export": f"{row.entry.id}.md"} if row else {}
        entry = self.query_one(Input)
        entry.placeholder, entry.display = _HINTS[line], True
        with self.prevent(Input.Changed):
            entry.value = begin[line]
        entry.cursor_position = len(entry.value)
        self.set_focus(entry)  # now: what is typed next is meant for it
        self.say(_NEXT.get(line, ""))

    @on(Input.Changed)
    def on_typed(self, event: Input.Changed) -> None:
        """Other letters to filter or search by."""
        if self._line in ("filter", "search"):
            self._find(self._line, event.value)

    def _find(self, how: str, text: str) -> None:
        """Show what fits; words are looked for in a thread, and whoever looked for others stops."""
        self._shown, self._query, self._found = how, text, []
        self._number += 1
        self._is_searching = how == "search" and bool(text.strip())
        if self._is_searching:
            self.run_worker(in_daemon(partial(self._look, text, self._number)))
        self.refresh_rows()

    def _look(self, text: str, number: int) -> None:
        try:
            give = lambda places: self._tell(self.Searched(number, places))  # noqa: E731
            self.shelf.search(text, give, lambda: self._number != number)
        except WorkbenchError:
            pass  # the folder cannot be read: the list has said so
        self._tell(self.Searched(number, [], is_last=True))

    @on(Input.Submitted)
    def on_submitted(self, event: Input.Submitted) -> None:
        """Back to the rows; a title is saved, a file written."""
        event.stop()
        line, row = self._line, self.row
        self.action_rows()
        if row is not None and line in _NEXT:
            self.run_worker(self.carry_out(line, row, event.value.strip()))

    @on(SessionList.Chosen)
    def on_chosen(self, chosen: SessionList.Chosen) -> None:
        """Open it; one that is damaged says why not."""
        entry = chosen.row.entry
        if entry.damaged:
            self.say(f"it cannot be opened: {entry.damaged}")
        else:
            self.dismiss(entry.id)

    def action_rows(self) -> None:
        """From the line to the rows; it stays while it says what they are."""
        entry = self.query_one(Input)
        if self._line in _NEXT:
            self._line = self._shown
            with self.prevent(Input.Changed):
                entry.value = self._query
        entry.display = bool(self._query.strip())
        self.set_focus(self.query_one(SessionList))
        self.say("")

    def action_leave(self) -> None:
        """Out of the line, then back to all sessions, then out of the screen."""
        is_writing = isinstance(self.focused, Input)
        if is_writing and self._line in _NEXT:
            self.action_rows()
        elif is_writing or self._query:
            self._find("filter", "")
            self.action_rows()
        else:
            self.dismiss(None)

    def refresh_rows(self) -> None:
        """Show what fits, and in the border how many there are."""
        is_search = self._shown == "search" and self._query.strip()
        rows = self.shelf.found(self._found, self._query) if is_search else self.shelf.rows(self._query)
        goes_on = self._is_searching or self._is_reading
        none = "No session yet" if not self._query else "Nothing fits" if not is_search else "Nothing found"
        self.query_one(SessionList).show(rows, "…" if goes_on else none)
        count, damaged = self.shelf.count()
        parts = ["Sessions", f"{len(rows)} found" if is_search else f"{count:,}{' …' if self._is_reading else ''}"]
        parts += [f"{damaged} damaged"] if damaged else []
        parts += ["searching …"] if self._is_searching else []
        self.query_one("#sessions-box").border_title = Content(" · ".join(parts))
        self.tell_note()
