"""The parts of the time view: one moves from event to event, the other leads back to now, to do something there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from textual.content import Content
from textual.screen import Screen

from workbench.client.client import Past
from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tui.messages import BranchChosen, ForkRequested, PastRequested, RewindRequested, TimeRequested
from workbench.tui.screens.time_opener import TimeOpener
from workbench.tui.widgets.composer import Composer
from workbench.tui.widgets.time_bar import TimeBar, TimeNote
from workbench.view.moments import Moments, end_of_row
from workbench.view.state import Item, SessionState

_AHEAD: Final = 100
"""Events before the shown one that are read in advance, so that the next steps need no reading."""


class Scrubber:
    """Moves from event to event: at once if the event has been read, or else once it has been."""

    def __init__(
        self,
        screen: Screen[None],
        live: SessionState,
        moments: Moments,
        seq: int,
        show: Callable[[SessionState, Past | None], None],
    ) -> None:
        """`live` is the session now, `seq` the event to begin with.

        `show` shows an earlier state, whose older parts are read from its second argument.
        """
        self._screen, self._live, self._moments, self._show = screen, live, moments, show
        self.bar, self.note = TimeBar(live, seq), TimeNote()
        self.seq = seq
        """The event that the user has moved to."""

    def go_to(self, seq: int) -> None:
        """Show the session as it was at event `seq`, or at the last one if there is no such event."""
        self.seq = seq if 0 < seq < self._live.last_seq else self._live.last_seq
        self._screen.workers.cancel_group(self._screen, "moment")
        if self._moments.has(self.seq):
            self._show_moment()
        else:
            self.bar.show(self.seq, None, is_read=False)
            self._screen.run_worker(self._read_moment(self.seq), group="moment")

    def step(self, by: int) -> bool:
        """Go some events back or forward, not beyond the first; return False beyond the last one, which is now."""
        if self.seq + by > self._live.last_seq:
            return False
        self.go_to(max(1, self.seq + by))
        return True

    async def go_to_message(self, by: int) -> None:
        """Go to the user's message before or after the shown event; without one, to the first or the last event."""
        try:
            messages = await in_daemon(self._moments.messages)
        except WorkbenchError as error:
            self._screen.notify(visible(str(error)), severity="warning", markup=False)
        else:
            later = min((seq for seq in messages if seq > self.seq), default=0)
            self.go_to(max((seq for seq in messages if seq < self.seq), default=1) if by < 0 else later)

    def _show_moment(self) -> None:
        moment = self._moments.at(self.seq)
        self.note.problem = Content("")
        self.bar.show(self.seq, moment.event, is_read=True)
        self._show(moment.state, moment.past)
        ahead = max(1, self.seq - _AHEAD)
        if not self._moments.has(ahead):
            self._screen.run_worker(self._read_ahead(ahead), group="ahead", exclusive=True)

    async def _read_moment(self, seq: int) -> None:
        try:
            await in_daemon(lambda: self._moments.read(seq))
        except WorkbenchError as error:
            self.note.problem = Content(visible(str(error)))
            self._show(SessionState(workspace=self._live.workspace), None)
        else:
            self._show_moment()

    async def _read_ahead(self, seq: int) -> None:
        with suppress(WorkbenchError):  # the step that needs it shows why
            await in_daemon(lambda: self._moments.read(seq))


class PresentActions:
    """Closes the time view, and does in the present what the user asks for."""

    def __init__(self, screen: Screen[None], opener: TimeOpener, state: SessionState, scrubber: Scrubber) -> None:
        self._screen, self._opener, self._state, self._scrubber = screen, opener, state, scrubber

    def handle(self, message: PastRequested) -> bool:
        """Go to an event, show an inactive branch, or do something in the present; return False for anything else."""
        item: Item | None = getattr(message, "item", None)
        end = end_of_row(self._state, item) if item is not None else None
        if isinstance(message, TimeRequested) and end is not None:
            self._scrubber.go_to(end)
        elif isinstance(message, TimeRequested):
            self.step(message.by)
        elif isinstance(message, BranchChosen):
            self._opener.rewinds.handle(message)
        elif isinstance(message, RewindRequested | ForkRequested):
            if end is None:
                self.leave_for("fork" if isinstance(message, ForkRequested) else "rewind")
            else:
                self._close_then(lambda: self._opener.rewinds.handle(message))
        else:
            return False
        return True

    def step(self, by: int) -> None:
        """Go some events back or forward; forward from the last one is now."""
        if not self._scrubber.step(by):
            self._screen.dismiss(None)

    def leave_for(self, what: str) -> None:
        """Return to now and `rewind` or `fork` at the last checkpoint before the shown event, or `answer`."""
        seq, rewinds = self._scrubber.seq, self._opener.rewinds
        if what == "rewind":
            self._close_then(lambda: rewinds.open_at(seq))
        elif what == "fork":
            self._close_then(lambda: rewinds.fork_at(seq))
        else:
            self._close_then(self._opener.answer)

    def answer(self, action_id: str) -> None:
        """Return to now from a page above the time view, and open what waits for the user."""
        self._screen.app.pop_screen()
        self.leave_for("answer")

    def composer(self) -> Composer:
        """Return to now, and return what takes the text that is typed there."""
        self._screen.dismiss(None)
        return self._opener.composer

    def _close_then(self, then: Callable[[], object]) -> None:
        self._screen.dismiss(None)
        self._screen.app.call_later(then)
