"""The main screen: conversation, panels, prompt. It turns keys and messages of widgets into commands of the link."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget

from workbench.client.client import Client
from workbench.config.modes import MODES
from workbench.protocol.commands import Interrupt
from workbench.text import visible
from workbench.tui.focusing import give_keys
from workbench.tui.garbage import freeze
from workbench.tui.later import load_later
from workbench.tui.messages import ActionChosen, DiffChosen, FileChosen, TextChosen
from workbench.tui.opening import open_action, open_action_diff, open_diff, open_text
from workbench.tui.outbox import Outbox
from workbench.tui.screens.mode_switch import ModeSwitch
from workbench.tui.screens.question_opener import Asking
from workbench.tui.screens.sending import NO_MODEL, Sending
from workbench.tui.screens.server_prompts import said_below, sent_before
from workbench.tui.widgets.activity import Activity, is_working
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.draft import Draft
from workbench.tui.widgets.engine_lost import say_engine_lost
from workbench.tui.widgets.key_hints import KeyHints, hints_now
from workbench.tui.widgets.painting import entitle
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.side import SidePanels, panel_titles
from workbench.tui.widgets.status_line import StatusLine
from workbench.tui.widgets.timeline import Timeline
from workbench.tui.widgets.welcome import Welcome
from workbench.tui.widgets.writing import Writing
from workbench.view.review.review import Review
from workbench.view.state import Changed, SessionState

if TYPE_CHECKING:
    from workbench.view.follower import Follower


class MainScreen(Sending):
    """One session on screen; what happens is decided in `Asking`, `Follower` and the widgets."""

    AUTO_FOCUS = "#prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "diff", "Diff viewer", id="diff", priority=True),
        Binding("f8", "question", "Answer what waits", id="question", priority=True),
        Binding("shift+tab", "mode", "Next mode", id="mode", priority=True),
        Binding("escape", "leave", "Back to the prompt, then stop the agent", id="leave"),
    ]

    def __init__(
        self,
        link: Client,
        state: SessionState,
        workspace: Path,
        *,
        has_session: bool,
        writing: Writing,
        message: str = "",
        keep: Callable[[str], Path] | None = None,
        unsent: Path | None = None,
    ) -> None:
        super().__init__()
        self.link = link
        self.state = state
        self._workspace = workspace
        self.has_session = has_session
        self.writing = writing
        self._message = message
        self.outbox = Outbox()
        self._review = Review(link, state, workspace, self.send, keep)
        self._asking = Asking(self, link, state)
        self._modes = ModeSwitch(self)
        self._draft = Draft(self, state, keep, unsent)

    @cached_property
    def follower(self) -> Follower:
        """What reads the session; not before the first frame."""
        from workbench.view.follower import Follower

        return Follower(self.link, self.state, self.show, partial(_is_behind, self), load_later)

    def _follow(self) -> None:
        self.run_worker(self.follower.run(), name="follower")

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield StatusLine(self.state, self._workspace)
        with Horizontal(id="body"):
            with Vertical(id="talk"):
                yield Welcome(self.state, self.has_session)
                yield Conversation(id="conversation", classes="panel")
            yield SidePanels()
        yield Activity(self.state)
        yield self.writing
        yield KeyHints()

    def on_mount(self) -> None:
        """Paint the empty screen, then begin to follow the session behind it."""
        if not self.has_session:
            self.state.work = "idle"
        self.show(None)
        if self.has_session:
            self.call_after_refresh(self._follow)
        if self._message and self.has_session:
            self.send(self._message, self._message)
        elif self._message:
            self.query_one(Prompt).give_back(self._message)

    def on_unmount(self) -> None:
        """What is typed is kept."""
        self._draft.flush()

    def show(self, changed: Changed | None) -> None:
        """Repaint what changed; None repaints everything."""
        if not self.app.is_running:
            return  # the end of the app takes the widgets away while the link still brings something
        if changed is not None and changed.is_only_live:
            _show_live(self, changed)
            return
        has_items = bool(self.state.items or self.state.live)
        self.show_welcome()
        self.query_one(Conversation).display = has_items
        self.query_one(Conversation).show(self.state, changed)
        side = self.query_one(SidePanels)
        side.show(self.state, changed)
        titles = panel_titles(self.state, self.query_one(Timeline))
        side.entitle(titles)
        for name, title in titles.items():
            entitle(self.query_one(f"#{name}", Widget), title)
        self.take_back(changed)
        if changed is None:
            freeze()
            self.writing.recall(sent_before(self.state))
            self._draft.restore(self.query_one(Prompt))
        self.query_one(StatusLine).take(changed)
        self.refresh_hints()
        self._asking.look(changed)
        self._review.look(changed)
        self.let_go()

    def refresh_hints(self) -> None:
        """The keys that work now, the activity, and what waits in the prompt's border."""
        if not self.query(Prompt):
            return  # not there yet, or no more
        say_engine_lost(self.app, self.state)
        prompt = self.query_one(Prompt)
        self.query_one(KeyHints).show(hints_now(self, self.state, prompt.has_focus))
        self.query_one(Activity).show()
        self.writing.show_queue(list(self.state.queued))
        said = said_below(self.state, self.outbox.count, is_foreign=prompt.is_foreign)
        entitle(prompt, Content(said), below=True)

    def show_welcome(self) -> None:
        """How to begin, or what is on its way, while there is nothing else."""
        self.query_one(Welcome).show(self.outbox.texts, is_needed=not (self.state.items or self.state.live))

    def say(self, text: str) -> None:
        """One line for the person, beside what is shown."""
        self.app.notify(visible(text), severity="warning", markup=False)

    @on(events.ScreenSuspend)
    @on(events.ScreenResume)
    def on_covered(self) -> None:
        """What lies over it has the keys, or its own work again."""
        self.call_after_refresh(self.refresh_hints)

    def on_descendant_focus(self) -> None:
        """Other keys work now."""
        self.call_after_refresh(self.refresh_hints)

    @on(Prompt.Changed)
    @on(Writing.ListChanged)
    def on_prompt_changed(self) -> None:
        """Other keys work now, and a question may open when the prompt is empty again."""
        self._draft.note(self.query_one(Prompt))
        self.refresh_hints()
        self._asking.look()

    @on(ActionChosen)
    def on_action_chosen(self, chosen: ActionChosen) -> None:
        """A waiting action is asked about, any other shows all it did."""
        if not self._asking.open(chosen.action_id):
            open_action(self.app, self.state, chosen.action_id, self.link, self.sought)

    @on(DiffChosen)
    def on_diff_chosen(self, chosen: DiffChosen) -> None:
        """What one action changed."""
        if not open_action_diff(self.app, self._review, chosen.action_id):
            self.say("this action changed no file")

    @on(FileChosen)
    def on_file_chosen(self, chosen: FileChosen) -> None:
        """The file's diff, full screen."""
        open_diff(self.app, self._review, chosen.path)

    @on(TextChosen)
    def on_text_chosen(self, chosen: TextChosen) -> None:
        """Show the whole text."""
        open_text(self.app, chosen.title, chosen.text)

    def action_diff(self) -> None:
        """Everything that changed in this session."""
        if not open_diff(self.app, self._review):
            self.say("nothing has changed yet")

    def action_mode(self, mode: str = "") -> None:
        """Change when to ask: to a mode by name, or to the next one."""
        if mode and mode not in MODES:
            self.say(f"there is no mode {mode}; choose one of {', '.join(MODES)}")
            return
        if not self.has_session:
            self.say(NO_MODEL)
            return
        if mode:
            self._modes.choose(mode)
        else:
            self._modes.step()

    def action_leave(self) -> None:
        """From a panel to the prompt; from the prompt it stops the agent."""
        prompt = self.query_one(Prompt)
        if not prompt.has_focus:
            self.end_search()
            give_keys(prompt)
        elif is_working(self.state):
            self.link.send(Interrupt())

    def action_stop(self) -> None:
        """End the run, also while a question waits: what waits is not run."""
        if self.state.work == "idle":
            self.say("nothing runs; /quit leaves")
        self.link.send(Interrupt())

    def action_question(self) -> None:
        """Open the question that waits."""
        self._asking.ask_again()


def _is_behind(screen: MainScreen) -> bool:
    """Whether the conversation still mounts or removes; no longer when the app has taken it away."""
    return any(each.is_behind for each in screen.query(Conversation))


def _show_live(screen: MainScreen, changed: Changed) -> None:
    """More of the answer that streams, many times a second: nothing else looks different."""
    conversation = screen.query_one(Conversation)
    if not conversation.display:
        screen.query_one(Welcome).display = False
        conversation.display = True
    conversation.show(screen.state, changed)
    screen.query_one(Activity).show()
