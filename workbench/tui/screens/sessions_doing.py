"""What the Sessions screen does with the session under the cursor: give it a title, write it to a file, delete it."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tui.widgets.session_list import SessionList
from workbench.view.approval.questions import Confirmation
from workbench.view.formatting.sessions import SessionRow, details, title
from workbench.view.sessions import Shelf


class SessionsDoing(ModalScreen[str | None]):
    """The part that changes sessions; the list itself is `SessionsScreen`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "ask('rename')", "Rename", id="sessions.rename"),
        Binding("x", "ask('export')", "Export", id="sessions.export"),
        Binding("d", "delete", "Delete", id="sessions.delete"),
    ]
    shelf: Shelf
    set_title: Callable[[str], None]
    _said = ""
    _said_of: SessionRow | None = None
    confirmation: Confirmation
    """Of the session that is to be deleted."""

    @abstractmethod
    def refresh_rows(self) -> None:
        """Show the sessions as they are now."""

    @property
    def row(self) -> SessionRow | None:
        """The one under the cursor."""
        return self.query_one(SessionList).current

    def refused(self, line: str) -> str:
        """Why this cannot be asked for the session under the cursor; empty when it can."""
        if line not in ("rename", "export"):
            return ""
        if self.row is None:
            return "there is no session"
        return (
            "a damaged session can only be deleted, or repaired: `ohw sessions repair`"
            if self.row.entry.damaged
            else ""
        )

    async def carry_out(self, line: str, row: SessionRow, text: str) -> None:
        """Save a title, or write a file; its own engine writes the title of the session on screen."""
        name = row.entry.id
        if line == "rename" and row.is_current:
            self.set_title(text)
            self.shelf.retitle(name, text)
            await self._do(lambda: None, "saved")
        elif line == "rename":
            await self._do(partial(self.shelf.rename, name, text), "saved")
        elif text:
            file = Path(text).expanduser().absolute()
            self.say("writing …")
            await self._do(partial(self.shelf.export, name, file), f"written: {file}")

    async def action_delete(self) -> None:
        """Delete the session under the cursor; asked for twice."""
        row = self.row
        if row is None or isinstance(self.focused, Input):
            return
        if row.is_current:
            self.say("this is the session on the screen; open another one to delete it")
        elif row.is_busy:
            self.say("another process works in this session; end that first")
        elif not self.confirmation.is_answered(row.entry.id):
            self.confirmation.ask(row.entry.id)
            self.say(f"d again deletes for good: {title(row.entry)}")
        else:
            await self._do(partial(self.shelf.delete, row.entry.id), "deleted")

    def on_key(self, event: events.Key) -> None:
        """A key that was pressed before the question stood there deletes nothing."""
        if not self.confirmation.hears(event.key, time.monotonic() - event.time):
            event.stop()

    async def _do(self, work: Callable[[], None], said: str) -> None:
        try:
            await in_daemon(work)
        except WorkbenchError as error:
            said = str(error)
        self.confirmation.forget()
        if self.is_running:
            self.refresh_rows()
            self.say(said)

    def say(self, text: str) -> None:
        """One line below the rows, until the cursor moves."""
        self._said, self._said_of = text, self.row
        self.tell_note()

    def tell_note(self) -> None:
        """What there is to say, else what is known of the session under the cursor."""
        text = self._said or (details(self.row) if self.row else "")
        self.query_one("#sessions-note", Static).update(Content(visible(text, lines=False)))

    @on(SessionList.Moved)
    def on_moved(self) -> None:
        """What was said was of another row."""
        if self._said_of is None or self.row is None or self._said_of.entry.id != self.row.entry.id:
            self._said = ""
            self.confirmation.forget()
        self.tell_note()
