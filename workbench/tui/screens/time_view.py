"""The time view: the main screen as it was at any event of the session, read-only (F9, or `[` on the timeline)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from workbench.client.read_only_client import ReadOnlyClient
from workbench.tui.focus import focus_now
from workbench.tui.key_names import key_of
from workbench.tui.messages import ActionChosen, PastRequested, StateChanged
from workbench.tui.open_screens import open_action
from workbench.tui.screens.main.session_screen import SessionScreen
from workbench.tui.screens.main.session_view import SessionView
from workbench.tui.screens.time_files import PastFiles
from workbench.tui.screens.time_scrubber import PresentActions, Scrubber
from workbench.tui.widgets.key_hints import KeyHints, bound_keys
from workbench.tui.widgets.status_line import StatusLine
from workbench.view.review.review import Review
from workbench.view.state import Changed, SessionState

if TYPE_CHECKING:
    from workbench.tui.screens.time_opener import TimeOpener
    from workbench.view.app_session import AppSession
    from workbench.view.moments import Moments

_HINTS: Final = (
    (("time.now",), "Return to now"),
    (("time.back", "time.forward"), "Event"),
    (("time.message-before", "time.message-after"), "Message"),
    (("time.rewind",), "Rewind here"),
    (("time.fork",), "Fork"),
    (("diff",), "Changes"),
    (("time.open",), "Open a file"),
    (("time.first", "time.last"), "First, last"),
)
"""The keys of each hint; on the timeline, a key of its own does the same as one of the screen."""
_READ_ONLY: Final = "This is the past, which cannot be changed"


class TimeScreen(SessionScreen):
    """Shows `live` as it was at event `seq`; the main screen below follows the session meanwhile."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left_square_bracket", "step(-1)", "One event back", id="time.back"),
        Binding("right_square_bracket", "step(1)", "One event forward", id="time.forward"),
        Binding("left_curly_bracket", "message(-1)", "To your message before", id="time.message-before"),
        Binding("right_curly_bracket", "message(1)", "To your next message", id="time.message-after"),
        Binding("home", "go_to(1)", "First event", id="time.first", priority=True),
        Binding("end", "go_to(0)", "Last event", id="time.last", priority=True),
        Binding("r", "request('rewind')", "Rewind to this event", id="time.rewind"),
        Binding("f", "request('fork')", "Fork from this event", id="time.fork"),
        Binding("o", "request('open')", "Open a file as it was", id="time.open"),
        Binding("f8", "request('answer')", "Return to now and answer", id="time.question", priority=True),
        Binding("escape,f9", "now", "Return to now", id="time.now"),
    ]

    def __init__(self, opener: TimeOpener, live: SessionState, session: AppSession, moments: Moments, seq: int) -> None:
        """`opener` carries out what the user asks for in the present, once this screen is closed."""
        super().__init__()
        state = self.state = SessionState(
            workspace=live.workspace, only_turn=live.only_turn, work="idle", mode=live.mode, model=live.model
        )
        client = self._client = ReadOnlyClient(self._refuse)
        self._status, self._hints = StatusLine(state, session.workspace), KeyHints()
        scrubber = self.scrubber = Scrubber(
            self, live, moments, seq, lambda *state_and_past: self.view.replace(*state_and_past)
        )
        present = self._present = PresentActions(self, opener, state, scrubber)
        self.view = SessionView(
            client, state, session, self.show, scrubber.bar.show_hint, composer=present.composer, empty=scrubber.note
        )
        self.review = Review(
            client,
            state,
            session.workspace,
            lambda _: self._refuse(),
            answer=present.answer,
            live=live,
            fixed=_READ_ONLY,
            locations=session.locations,
        )

    def compose(self) -> ComposeResult:
        """Yield the parts of the main screen, with the bar in place of the prompt."""
        yield from (self._status, self.view, self.scrubber.bar, self._hints)

    def on_mount(self) -> None:
        """Show the event once the panels have their sizes."""
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        timeline = self.view.side.query_one("#timeline", Widget)
        focus_now(timeline if timeline.size else self.view.conversation)
        self.scrubber.go_to(self.scrubber.seq)

    def show(self, changed: Changed | None) -> None:
        """Repaint what has changed, or everything if `changed` is None."""
        self.view.show(changed, ())
        self._status.show()
        self._show_keys()

    @on(StateChanged)
    def on_state_changed(self) -> None:
        """Show that the session has continued, and what waits for the user."""
        self.scrubber.bar.refresh()

    def on_descendant_focus(self) -> None:
        """Show the keys that work now."""
        self.call_after_refresh(self._show_keys)

    def _show_keys(self) -> None:
        keys = {name.replace("timeline.", "time."): key for name, key in bound_keys(self).items()}
        self._hints.show(
            (" ".join(keys[name] for name in names), words) for names, words in _HINTS if keys.keys() >= {*names}
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Home and End to an input line that is being edited."""
        if action == "go_to" and isinstance(self.focused, Input):
            return False
        return super().check_action(action, parameters)

    def action_step(self, by: int) -> None:
        """Go one event back or forward; forward from the last one is now."""
        self._present.step(by)

    def action_go_to(self, seq: int) -> None:
        """Go to event `seq`, or to the last one for 0."""
        self.scrubber.go_to(seq)

    async def action_message(self, by: int) -> None:
        """Go to the user's message before or after the shown event."""
        await self.scrubber.go_to_message(by)

    def action_now(self) -> None:
        """End the search or, if there is none, return to the session as it is now."""
        if self.view.search.words:
            self.view.search.end()
        else:
            self.dismiss(None)

    def action_request(self, what: str) -> None:
        """Return to now, to rewind, fork or answer there, or ask which file to `open` as it was."""
        if what == "open":
            self.run_worker(PastFiles(self, self.state, self.review.locations).choose(), group="open", exclusive=True)
        else:
            self._present.leave_for(what)

    @on(PastRequested)
    def on_past_requested(self, message: PastRequested) -> None:
        """Go to the row of the timeline, rewind to it or fork from it, or show an inactive branch."""
        if not self._present.handle(message):
            self._refuse()

    @on(ActionChosen)
    def on_action_chosen(self, event: ActionChosen) -> None:
        """Show the details of an action as they were."""
        open_action(self.app, self.state, event.action_id, self._client, self.view.search.words)

    def _refuse(self) -> None:
        key = key_of(self.app, "time.now", "escape")
        self.notify(f"{_READ_ONLY}; {key} returns to now", severity="warning", timeout=4)
