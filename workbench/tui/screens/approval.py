"""The approval modal: one waiting action, whole, and the keys that decide it. Pushed by the main screen."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input

from workbench.tui.approving.arming import Overheard
from workbench.tui.approving.decision import Decision
from workbench.tui.fold.state import ActionItem, FileState
from workbench.tui.screens.question import QuestionScreen
from workbench.tui.widgets.painting import css_beside
from workbench.tui.widgets.question_box import Hint, QuestionBox
from workbench.tui.wording.explain import full_text

ANSWERS = frozenset({"y", "n", "tab"})
"""Keys that do nothing before the quiet time is over."""
_LETTERS = frozenset("ynvdsjk ")
"""Keys of the question that are letters: pressed too early, one alone is not the beginning of a word."""
_NOTE_ASKED = "a note to the model, sent with your answer"
_REASON_ASKED = "why not? goes to the model, may stay empty"


class ApprovalScreen(QuestionScreen[Decision | None]):
    """Asks about one action; dismisses with the decision, or None for later and for a question that is withdrawn."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "approve", "Approve", id="approval.approve"),
        Binding("n", "note(True)", "Reject", id="approval.reject"),
        Binding("tab", "note(False)", "Note", id="approval.note"),
        Binding("v", "full", "Full text", id="approval.full"),
        Binding("d", "viewer", "Diff viewer", id="approval.viewer"),
        Binding("s", "diff('split')", "Side by side", id="approval.split"),
        Binding("j", "diff('step(1)')", "Next hunk", id="approval.next"),
        Binding("k", "diff('step(-1)')", "Previous hunk", id="approval.previous"),
        Binding("enter", "diff('fold')", "More lines around", id="approval.fold"),
        Binding("escape", "later", "Later", id="approval.later"),
        Binding("down", "move(1)", "Down", show=False, id="approval.down"),
        Binding("up", "move(-1)", "Up", show=False, id="approval.up"),
        Binding("pagedown,space", "move(10)", "Page down", show=False, id="approval.page-down"),
        Binding("pageup", "move(-10)", "Page up", show=False, id="approval.page-up"),
        Binding("end", "move(1000000)", "End", show=False, id="approval.end"),
        Binding("home", "move(-1000000)", "Top", show=False, id="approval.home"),
        Binding("ctrl+down", "behind(3)", "Conversation down", show=False, id="approval.behind-down"),
        Binding("ctrl+up", "behind(-3)", "Conversation up", show=False, id="approval.behind-up"),
    ]

    def __init__(
        self,
        action: ActionItem,
        position: int,
        total: int,
        mode: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        typed: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`typed` takes the letters that were meant for the prompt."""
        super().__init__(clock)
        self.item = action
        self._box = QuestionBox(action, position, total, mode)
        self._rejecting = False
        self._overheard = Overheard(_LETTERS)
        self._typed = typed

    def compose(self) -> ComposeResult:
        """Nothing but the box."""
        yield self._box

    def unanswered(self) -> None:
        """Later."""

    def on_resize(self) -> None:
        """Take the room there is now."""
        self._box.fit(self.size)
        self.call_after_refresh(self.tell)

    def on_key(self, event: events.Key) -> None:
        """Each key before the quiet time is over begins it anew; none of those answers, and words go to the prompt."""
        if self.has_left and event.is_printable and event.character:
            self._type(event.character)  # it came in one burst with the letter that closed the question
            return
        if self.heard(event):
            self._overheard.forget()
            return
        if event.key in ANSWERS:
            event.stop()
        if event.is_printable and event.character and (text := self._overheard.hear(event.character)):
            event.stop()
            self._type(text)
        self.call_after_refresh(self.tell)

    def on_paste(self, event: events.Paste) -> None:
        """A paste is text for the prompt."""
        event.stop()
        self._type(event.text)

    def _type(self, text: str) -> None:
        """Text meant for the prompt goes there, and the question waits until it is called for."""
        self._overheard.forget()
        self._typed(text)
        self.leave(None)

    def tell(self) -> None:
        """Show the keys that work now."""
        if self.has_left:
            return
        seen = self._box.look()
        if self._box.is_writing:
            self._box.show_keys((("enter", "reject" if self._rejecting else "keep the note"), ("esc", "back")))
        else:
            self._box.show_keys(answer_keys(self.item, seen=seen, armed=self.is_armed))

    def action_approve(self) -> None:
        """Approve, if the question was seen to its end."""
        if self._box.look() and not self._box.is_writing:
            self.leave(Decision("approved", self._box.note))

    def action_note(self, rejecting: bool) -> None:
        """Ask for a reason, with which Enter rejects, or for a note that goes with either answer."""
        if not self._box.is_writing:
            self._rejecting = rejecting
            self._box.open_note(_REASON_ASKED if rejecting else _NOTE_ASKED)
            self.tell()

    @on(Input.Submitted)
    def on_note_written(self, written: Input.Submitted) -> None:
        """Enter in the note: keeps it, or rejects with it."""
        self._box.close_note(written.value.strip())
        if self._rejecting:
            self.leave(Decision("rejected", self._box.note))
        self.tell()

    def action_later(self) -> None:
        """Out of the note, or out of the question without an answer."""
        if self._box.is_writing:
            self._box.close_note(None)
            self.tell()
        else:
            self.leave(None)

    async def action_diff(self, command: str) -> None:
        """Pass a command on to the diff."""
        if self._box.diff is not None and not self._box.is_writing:
            await self._box.diff.run_action(command)
            self._box.fit(self.size)

    def action_move(self, lines: int) -> None:
        """Scroll the question."""
        self._box.scroll_on(lines)

    def action_full(self) -> None:
        """Everything as one text that can be searched."""
        from workbench.tui.screens.pager import PagerScreen

        self.app.push_screen(PagerScreen(Content("The whole action"), full_text(self.item)))

    def action_viewer(self) -> None:
        """The diff over the whole screen."""
        from workbench.tui.screens.diff_viewer import DiffViewerScreen

        if self.item.preview:
            files = [FileState(delta.path, delta.before, delta.after) for delta in self.item.preview]
            self.app.push_screen(DiffViewerScreen(files, self.item.working_dir))


def answer_keys(item: ActionItem, *, seen: bool, armed: bool) -> tuple[Hint, ...]:
    """The keys that work now; what still keeps `y` from working is said in its place."""
    if not armed:
        approve: Hint = ("", "y in a moment…")
    else:
        approve = ("y", "approve") if seen else ("", "↓ scroll to the end, then y")
    diff: tuple[Hint, ...] = (("j k", "hunks"), ("s", "split"), ("d", "viewer")) if item.preview else ()
    return (approve, ("n", "reject"), ("tab", "note"), *diff, ("v", "full text"), ("esc", "later"))
