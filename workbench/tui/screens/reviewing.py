"""What one can look at and change in a waiting action: hunks, texts, the whole of it. The approval modal decides."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.errors import WorkbenchError
from workbench.mcp.requests import SAMPLING
from workbench.text import visible
from workbench.tui.screens.approval_parts import EarlyKeys, open_text
from workbench.tui.screens.question import QuestionScreen, ResultT
from workbench.tui.widgets.diff_view import DiffView
from workbench.tui.widgets.place_editor import PlaceEditor, can_edit
from workbench.tui.widgets.question_box import QuestionBox
from workbench.view.approval.proposal import Proposal, argument_text, arguments_from
from workbench.view.approval.questions import Asked
from workbench.view.formatting.approval import files_written
from workbench.view.formatting.detail import full_text
from workbench.view.state import ActionItem, FileState

_HIDDEN = "it holds signs that the editor here would hide or change; E opens it in your own editor"
_PAGE = 10


class ReviewScreen(QuestionScreen[ResultT]):
    """One waiting action in a box; what the person makes of it is in `proposal`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit", id="approval.edit"),
        Binding("E", "edit_outside", "Edit in your editor", id="approval.edit-outside"),
        Binding("space", "take", "Take the hunk in or out", id="approval.take"),
        Binding("v", "full", "Full text", id="approval.full"),
        Binding("d", "viewer", "Diff viewer", id="approval.viewer"),
        Binding("s", "diff('split')", "Side by side", id="approval.split"),
        Binding("j", "diff('step(1)')", "Next hunk", id="approval.next"),
        Binding("k", "diff('step(-1)')", "Previous hunk", id="approval.previous"),
        Binding("enter", "diff('fold')", "More lines around", id="approval.fold"),
        Binding("down", "move(1)", "Down", show=False, id="approval.down"),
        Binding("up", "move(-1)", "Up", show=False, id="approval.up"),
        Binding("pagedown", "move(10)", "Page down", show=False, id="approval.page-down"),
        Binding("pageup", "move(-10)", "Page up", show=False, id="approval.page-up"),
        Binding("end", "move(1000000)", "End", show=False, id="approval.end"),
        Binding("home", "move(-1000000)", "Top", show=False, id="approval.home"),
    ]

    def __init__(self, asked: Asked, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self.item = asked.action
        self.proposal = asked.proposal or proposal_of(asked.action)
        self.box = QuestionBox(asked, self.proposal)
        self.early = EarlyKeys()
        self._edited_hunk = -1

    def compose(self) -> ComposeResult:
        """Nothing but the box."""
        yield self.box

    def on_resize(self) -> None:
        """Take the room there is now."""
        self.box.fit(self.size)
        self.call_after_refresh(self.tell)

    @property
    def is_busy(self) -> bool:
        """Whether the keys are text: a note or an edit is being written."""
        return self.box.is_writing or self.box.editor is not None

    @on(DiffView.Stepped)
    def on_stepped(self) -> None:
        """Another hunk is chosen."""
        self.box.fit(self.size)
        self.tell()

    async def action_diff(self, command: str) -> None:
        """Pass a command on to the diff."""
        if self.box.diff is not None and not self.is_busy:
            await self.box.diff.run_action(command)
            self.box.fit(self.size)

    def action_take(self) -> None:
        """Take the chosen hunk out, or in again; without a diff it is one page on."""
        hunk = self._chosen_hunk()
        if self.is_busy or self.box.diff is None:
            self.action_move(_PAGE)
        elif hunk >= 0:
            self.proposal.toggle(hunk)
            self.box.diff.refresh()
            self.on_stepped()

    def _chosen_hunk(self) -> int:
        """The hunk that keys act on: the chosen one, else the first in sight, which is chosen then; -1 for none."""
        diff = self.box.diff
        if diff is None or not self.proposal.count:
            return -1
        if diff.current < 0:
            diff.action_step(1)
        return diff.current

    def _to_edit(self) -> tuple[str, str]:
        """A title and the text that `e` and `E` edit: the chosen hunk's, else the arguments."""
        self._edited_hunk = self._chosen_hunk()
        if self._edited_hunk < 0:
            return argument_text(self.item.tool, self.proposal.arguments or self.item.arguments)
        path, first, last = self.proposal.where(self._edited_hunk)
        lines = f"lines {first}–{last}" if last > first else f"line {first}"
        return f"{path}, new text for {lines}", self.proposal.text(self._edited_hunk)

    @property
    def may_edit(self) -> bool:
        """Whether the arguments are the agent's: what a server asks of the model is not changed on its way."""
        return self.item.tool != SAMPLING

    def _is_sent_as_it_is(self) -> bool:
        if not self.may_edit:
            self.early.end(None)
            self.say("what a server asks of the model is sent as it is, or not at all")
        return not self.may_edit

    async def action_edit(self) -> None:
        """Edit the new text of the hunk, or the arguments, in place."""
        if self.is_busy or self._is_sent_as_it_is():
            return
        title, text = self._to_edit()
        if not can_edit(text):
            self.early.end(None)
            self.say(_HIDDEN)
            return
        await self.box.open_editor(text, title)
        self.early.end(open_text(self.box))
        self.tell()

    async def action_edit_outside(self) -> None:
        """Edit it in the person's own editor."""
        from workbench.tui.outside_editor import edit_outside

        if self.is_busy or self._is_sent_as_it_is():
            return
        _, text = self._to_edit()
        name = self.proposal.where(self._edited_hunk)[0] if self._edited_hunk >= 0 else "text.sh"
        try:
            self._take_text(edit_outside(self.app, text, name))
        except WorkbenchError as error:
            self.say(str(error))
        self.box.show_proposal()
        self.appeared()

    @on(PlaceEditor.Kept)
    def on_text_kept(self, kept: PlaceEditor.Kept) -> None:
        """The edited text is taken, if it can be."""
        try:
            self._take_text(kept.text)
        except WorkbenchError as error:
            if self.box.editor is not None:
                self.box.editor.complain(str(error))
            return
        self.on_text_discarded()

    @on(PlaceEditor.Discarded)
    def on_text_discarded(self) -> None:
        """Back to the question, which takes answers after a quiet time again."""
        self.box.close_editor()
        self.box.show_proposal()
        self.appeared()

    def _take_text(self, text: str) -> None:
        if self._edited_hunk >= 0:
            self.proposal.edit(self._edited_hunk, text)
            return
        arguments = arguments_from(self.item.tool, self.item.arguments, text)
        self.proposal.arguments = None if arguments == self.item.arguments else arguments

    def action_move(self, lines: int) -> None:
        """Scroll the question."""
        self.box.scroll_on(lines)

    def action_full(self) -> None:
        """Everything as one text that can be searched."""
        from workbench.tui.screens.pager import PagerScreen

        self.app.push_screen(PagerScreen(Content("The whole action"), full_text(self.item, self.proposal)))

    def action_viewer(self) -> None:
        """The diff over the whole screen, as it would be written now."""
        from workbench.tui.screens.diff_viewer import DiffViewerScreen

        if self.item.preview:
            written = dict(self.proposal.written())
            files = [FileState(delta.path, delta.before, written[delta.path]) for delta in self.item.preview]
            self.app.push_screen(DiffViewerScreen(files, self.item.working_dir))

    def say(self, text: str) -> None:
        """A line beside the question."""
        self.notify(visible(text), severity="warning", markup=False)


def proposal_of(action: ActionItem) -> Proposal:
    """The action as it was proposed."""
    return Proposal(files_written(action), [delta.path for delta in action.preview])
