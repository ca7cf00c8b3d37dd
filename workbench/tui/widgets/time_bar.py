"""The bar of the time view, which names the shown event and its place in the session, and a note for empty states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from workbench.tui.key_names import key_of
from workbench.tui.widgets.activity import waiting_text
from workbench.tui.widgets.strips import css_beside
from workbench.view import clock
from workbench.view.formatting.time_bar import age_text, event_name, gauge, no_event_text
from workbench.view.state import SessionState

if TYPE_CHECKING:
    from workbench.protocol.events import Event

_NOTHING_YET = "No messages yet at this point of the session"


class TimeNote(Static):
    """Says why there is no conversation at an event, or why the event cannot be shown."""

    DEFAULT_CSS = css_beside(__file__)

    def __init__(self) -> None:
        super().__init__(id="time-note")
        self.problem = Content("")

    def show(self, sent: Sequence[str], *, is_needed: bool) -> None:
        """Show the problem, if any, in place of the content; hide the note if it is not needed."""
        self.display = is_needed
        if is_needed:
            self.update(self.problem if self.problem.plain else Content.styled(_NOTHING_YET, "$dim"))


class TimeBar(Widget):
    """Shows which event of how many is shown, what it is and how old, and what waits for the user now."""

    DEFAULT_CSS = css_beside(__file__)

    def __init__(self, live: SessionState, seq: int) -> None:
        """`live` is the session as it is now, `seq` the event that will be shown first."""
        super().__init__(id="time-bar")
        self._live = live
        self._entered = live.last_seq
        self._seq = seq
        self._event: Event | None = None
        self._is_missing = False
        self._hint = Content("")

    def show(self, seq: int, event: Event | None, *, is_read: bool) -> None:
        """Show that event number `seq` is asked for; `event` is the one that is shown, if it `is_read` already."""
        self._seq = seq
        self._event = event if is_read else None
        self._is_missing = is_read and (event is None or event.seq != seq)
        self.refresh()

    def show_hint(self, hint: Content) -> None:
        """Show how to return to the end of the conversation."""
        self._hint = hint
        self.refresh()

    def render(self) -> Content:
        """Return two lines: the words, and how far into the session they are."""
        width = self.size.width
        filled, rest = gauge(self._seq, self._live.last_seq, width)
        line = Content.assemble((filled, "$secondary"), (rest, "$border-blurred"))
        return Content("\n").join([self._words(width), line])

    def _words(self, width: int) -> Content:
        parts = [(f"Event {self._seq:,} of {self._live.last_seq:,}", "bold")]
        if self._is_missing:
            parts.append((no_event_text(self._seq), "$warning"))
        elif self._event is not None:
            parts += [(event_name(self._event), ""), (age_text(self._event.at, clock.now()), "$dim")]
        if self._live.last_seq > self._entered:
            parts.append((f"{self._live.last_seq - self._entered:,} new", "$sign-running"))
        words = Content.styled(" · ", "$dim").join(
            [
                Content.assemble(("PAST", "bold $secondary"), (" read-only", "$dim")),
                *(Content.styled(*part) for part in parts),
            ]
        )
        right = self._right()
        if not right.plain:
            return words.truncate(width, ellipsis=True)
        words = words.truncate(max(0, width - right.cell_length - 1), ellipsis=True)
        return Content.assemble(words, " " * max(1, width - words.cell_length - right.cell_length), right)

    def _right(self) -> Content:
        """Return what waits for the user now, or else the hint."""
        if not self._live.waiting:
            return self._hint
        return Content.styled(waiting_text(self._live, key_of(self.app, "time.question", "f8")), "bold $sign-waiting")
