"""The main screen: conversation, panels and prompt; turns keys and widget messages into commands to the engine."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from workbench.client.client import Client
from workbench.client.deferred_client import DeferredClient
from workbench.errors import WorkbenchError
from workbench.protocol.commands import Condense, Interrupt
from workbench.text import visible
from workbench.tui.focus import focus_now
from workbench.tui.garbage_collection import freeze
from workbench.tui.messages import (
    ActionChosen,
    PastRequested,
    RedoRequested,
    RewindRequested,
    TimeRequested,
)
from workbench.tui.open_screens import (
    copy_answer,
    export_session,
    open_action,
    show_ports,
)
from workbench.tui.screens.main.session_screen import SessionScreen
from workbench.tui.screens.main.session_view import SessionView
from workbench.tui.screens.main.submitter import NO_MODEL_MESSAGE, BeginShell, Submitter
from workbench.tui.screens.mode_switch import ModeSwitch
from workbench.tui.screens.plan_opener import PlanOpener
from workbench.tui.screens.question_opener import QuestionOpener
from workbench.tui.screens.rejected_key import RejectedKeyOpener
from workbench.tui.screens.rewind_opener import RewindOpener
from workbench.tui.screens.time_opener import TimeOpener
from workbench.tui.widgets.activity import Activity, is_working
from workbench.tui.widgets.composer import Composer
from workbench.tui.widgets.draft import Draft
from workbench.tui.widgets.engine_lost import show_engine_lost
from workbench.tui.widgets.key_hints import KeyHints, hints_now
from workbench.tui.widgets.message_queue import QueueList
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.status_line import StatusLine
from workbench.tui.widgets.timeline import Timeline
from workbench.view.app_session import AppSession
from workbench.view.prompt.completion import mention_of
from workbench.view.review.review import Review
from workbench.view.state import Changed, SessionState

_KEYS: Final[tuple[BindingType, ...]] = (
    Binding("f9", "app.page('time')", "Look back in time", id="time", priority=True, show=False),
    Binding("f8", "question", "Pending approvals", id="question", priority=True),
    Binding("shift+tab", "mode", "Next mode", id="mode", priority=True),
    Binding("alt+y", "copy_answer", "Copy the last answer", id="copy-answer", priority=True, show=False),
    Binding("escape", "leave", "Back to the prompt, then stop the agent", id="leave"),
)

_PAST: Final = {"rewind": RewindRequested, "redo": RedoRequested, "time": TimeRequested}


class MainScreen(SessionScreen):
    """Shows one session; its actions and handlers delegate to the parts of the screen."""

    AUTO_FOCUS = "#prompt"
    BINDINGS: ClassVar[list[BindingType]] = [*_KEYS]

    def __init__(self, session: AppSession, state: SessionState, composer: Composer, begin_shell: BeginShell) -> None:
        """Create the screen; `begin_shell` begins a session by running a command."""
        super().__init__()
        client = self.client = session.client or DeferredClient(_no_model)
        self.state, self.composer, self.has_session = state, composer, session.client is not None
        self._status, self._activity, self._hints = StatusLine(state, session.workspace), Activity(state), KeyHints()
        self.view = SessionView(client, state, session, self.show, self._activity.show_hint, composer=lambda: composer)
        show = self.view.show_pending
        self.submitter = Submitter(
            self, session, client, state, composer=composer, begin_shell=begin_shell, show_pending=show
        )
        self._questions, self._modes = QuestionOpener(self, client, state), ModeSwitch(self, client, state)
        self.review = Review.of(session, client, state, self.submitter.send, self._questions.open_above)
        self._plan = PlanOpener(self, client, state, self._modes)
        self._rewinds = RewindOpener(self, client, state, session)
        self._times = TimeOpener(self, state, session, self._rewinds, composer, answer=self.action_question)
        self._rejected_key = RejectedKeyOpener(self, state)
        self._draft = Draft(self, state, session.keep, session.unsent)

    def compose(self) -> ComposeResult:
        """Yield the parts of the screen from top to bottom."""
        yield from (self._status, self.view, self._activity, self.composer, self._hints)

    def on_mount(self) -> None:
        """Paint the empty screen, then begin to follow the session."""
        self.show(None)
        self.watch(self.query_one(Timeline), "cursor", self.on_keys_changed, init=False)
        if self.has_session:
            self.call_after_refresh(self.view.start)
        self.submitter.send_first()

    def on_unmount(self) -> None:
        """Save the text in the prompt as a draft."""
        self._draft.flush()

    def show(self, changed: Changed | None) -> None:
        """Repaint what has changed, or everything if `changed` is None."""
        if not self.app.is_running:
            return  # an ending app removes the widgets while the engine may still send events
        self.view.show(changed, self.submitter.outbox.pending)
        if changed is not None and changed.is_only_live:
            return self._activity.show()
        self.submitter.restore(changed)
        show_ports(self.app, changed)
        if changed is None:
            freeze()
            self._draft.restore(self.query_one(Prompt))
        self._status.update(changed)
        self.refresh_status()
        for opener in (self._questions, self._plan, self._rewinds, self._rejected_key):
            opener.refresh(changed)
        self.review.update(changed)

    def refresh_status(self) -> None:
        """Repaint the key hints, the activity, the queue, and the number of messages on their way."""
        if not self.composer.query(Prompt):
            return  # not mounted yet, or removed already
        show_engine_lost(self.app, self.state)
        self._hints.show(hints_now(self, self.state, self.query_one(Prompt), has_model=self.submitter.has_model))
        self._activity.show()
        self.submitter.show_waiting()

    def warn(self, text: str) -> None:
        """Show a warning as a notification."""
        self.notify(visible(text), severity="warning", markup=False)

    @on(events.ScreenSuspend)
    @on(events.ScreenResume)
    @on(events.DescendantFocus)
    def on_keys_changed(self) -> None:
        """Update the key hints after the next refresh, because other keys work now."""
        self.call_after_refresh(self.refresh_status)

    @on(Prompt.Changed)
    @on(Composer.ListChanged)
    def on_prompt_changed(self) -> None:
        """Save the draft, and open a waiting question if the prompt has become empty."""
        self._draft.note(self.query_one(Prompt))
        self.refresh_status()
        self._questions.refresh()

    @on(Prompt.Submitted)
    async def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        """Send the text as a message, or run it as a command."""
        await self.submitter.submit(event)

    @on(QueueList.Withdrawn)
    def on_queue_list_withdrawn(self, event: QueueList.Withdrawn) -> None:
        """Withdraw a queued message."""
        self.submitter.withdraw(event)

    @on(ActionChosen)
    def on_action_chosen(self, event: ActionChosen) -> None:
        """Open the question of a waiting action, or the details of any other."""
        if not self._questions.open(event.action_id):
            open_action(self.app, self.state, event.action_id, self.client, self.view.search.words)

    def action_mode(self, mode: str = "") -> None:
        """Change to a mode by name, or to the next one."""
        if self.has_session:
            self._modes.request(mode)
        else:
            self.warn(NO_MODEL_MESSAGE)

    def action_leave(self) -> None:
        """Focus the prompt; if it has the focus already, stop the agent."""
        if not self.query_one(Prompt).has_focus:
            self.view.search.end()
            focus_now(self.query_one(Prompt))
        elif is_working(self.state):
            self.client.send(Interrupt())
        else:
            self._rewinds.escape()

    def action_stop(self) -> None:
        """End the run; an action waiting for approval is not executed."""
        if self.state.work == "idle":
            self.warn("nothing is running; /quit quits")
        self.client.send(Interrupt())

    def action_past(self, what: str) -> None:
        """Let the user choose an earlier state to return to, undo the last rewind, or look back in time."""
        self._times.handle(_PAST[what]())

    @on(PastRequested)
    def on_past_requested(self, message: PastRequested) -> None:
        """Offer to return to an earlier state, undo the last rewind, show what a rewind undid, or look back in time."""
        self._times.handle(message)

    def action_question(self) -> None:
        """Open the next waiting question or, if none waits, the one about the plan."""
        if not self._plan.open():
            self._questions.open_next()

    def action_compact(self, undo: bool = False) -> None:
        """Ask the engine to condense the history, or to undo the last condensation."""
        if self.has_session:
            self.client.send(Condense(undo=undo))

    def action_export(self, file: str = "") -> None:
        """Write the session to a file, in the format of the file's suffix; without a name, as Markdown."""
        self.run_worker(export_session(self.app, self.review.locations, self.state.session_id, file))

    def action_copy_answer(self, number: str = "1") -> None:
        """Copy the last answer, or the one that is `number`th from the end."""
        copy_answer(self.app, self.state, number)

    def action_queue(self) -> None:
        """Focus the list of queued messages."""
        self.composer.enter_queue()

    def action_init(self, focus: str = "") -> None:
        """Ask the agent to write or update its notes on the workspace."""
        self.submitter.request_notes(focus)

    def action_named_prompt(self, name: str) -> None:
        """Send a custom command, or request a prompt of an MCP server."""
        self.submitter.choose(name)

    def action_mention(self, path: str) -> None:
        """Mention a file in the prompt, so that it is sent with the message."""
        self.query_one(Prompt).type_in(f"{mention_of(path)} ")

    def action_paste_image(self) -> None:
        """Mention the image on the clipboard in the prompt."""
        self.query_one(Prompt).paste_image()


def _no_model() -> Client:
    raise WorkbenchError("no model is set up")
