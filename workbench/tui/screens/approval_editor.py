"""The text fields of the approval screen, and the editing of the proposal: hunks, arguments, note."""

from __future__ import annotations

from typing import Any, Final

from textual import events
from textual.app import App
from textual.widget import Widget
from textual.widgets import Input

from workbench.errors import WorkbenchError
from workbench.mcp.requests import SAMPLING
from workbench.protocol.events import FileText
from workbench.rules.subject import NETWORK
from workbench.tools.ask_human.question import PUT_BACK
from workbench.tui.external_editor import edit_outside
from workbench.tui.widgets.inline_editor import can_edit
from workbench.tui.widgets.question_box import QuestionBox
from workbench.view.approval.proposal import Proposal, argument_text, arguments_from
from workbench.view.approval.questions import Decision
from workbench.view.formatting.approval import files_written
from workbench.view.state import ActionItem

_NOT_EDITABLE: Final = {
    SAMPLING: "what a server asks of the model is sent unchanged, or not at all",
    NETWORK: "a connection is allowed as it is, or not at all",
    PUT_BACK: "files are put back as they are, or not at all",
}
"""Why the arguments of a call cannot be edited, by its tool."""


_HIDDEN_CHARACTERS: Final = "it contains characters this editor would hide or change; press E for your own editor"


class TextFields:
    """The note and the editor of a question; at most one of them is open.

    Keys pressed right after the key that opens a field are text for it, even before the field exists and has the focus.
    """

    def __init__(self, box: QuestionBox) -> None:
        self._box = box
        self._held: list[events.Key] | None = None

    @property
    def open_field(self) -> Widget | None:
        """The field that receives keys as text, or None."""
        return self._box.query_one("#note", Input) if self._box.is_writing else self._box.editor

    @property
    def is_open(self) -> bool:
        """Whether keys are text input: a note or an edit is being written."""
        return self._box.is_writing or self._box.editor is not None

    def expect(self) -> None:
        """Start holding keys back, because a field is about to open."""
        self._held = []

    def claim(self, event: events.Key) -> bool:
        """Take a key that is meant for a text field; return False if it is not.

        A focused field handles printable keys itself, so a key that gets here was pressed before the field had the
        focus.
        """
        field = self.open_field
        if self._held is not None:
            self._held.append(event)
        elif field is not None and event.is_printable:
            _press(event, field)
        else:
            return False
        return True

    def release(self) -> None:
        """Send the held keys to the open field, or drop them if none has opened."""
        held, self._held = self._held or [], None
        field = self.open_field
        if field is not None:
            for event in held:
                _press(event, field)


def _press(event: events.Key, field: Widget) -> None:
    field.post_message(events.Key(event.key, event.character))


class ProposalEditor:
    """Edits a proposal: skips hunks, changes a hunk's new text or the arguments, in the question or in `$EDITOR`."""

    def __init__(self, item: ActionItem, proposal: Proposal, box: QuestionBox) -> None:
        self._item = item
        self._proposal = proposal
        self._box = box
        self._hunk = -1
        """The hunk whose text is edited; -1 for the arguments."""

    def toggle_hunk(self) -> bool:
        """Skip the chosen hunk or include it again; return whether there was one."""
        hunk = self._chosen_hunk()
        if hunk >= 0:
            self._proposal.toggle(hunk)
            if self._box.diff is not None:
                self._box.diff.show_skipped()
        return hunk >= 0

    async def open(self) -> str:
        """Open the editor in the question; return why it cannot be opened, or an empty string."""
        if not may_edit(self._item):
            return _NOT_EDITABLE[self._item.tool]
        title, text = self._select()
        if not can_edit(text):
            return _HIDDEN_CHARACTERS
        await self._box.open_editor(text, title)
        return ""

    def edit_outside(self, app: App[Any]) -> str:
        """Edit the text in the user's own editor; return why that failed, or an empty string."""
        if not may_edit(self._item):
            return _NOT_EDITABLE[self._item.tool]
        _, text = self._select()
        name = self._proposal.where(self._hunk)[0] if self._hunk >= 0 else "text.sh"
        try:
            self._apply(edit_outside(app, text, name))
        except WorkbenchError as error:
            return str(error)
        return ""

    def save(self, text: str) -> bool:
        """Save the edited text; if it is invalid, the editor stays open and says why. Return whether it was saved."""
        try:
            self._apply(text)
        except WorkbenchError as error:
            if self._box.editor is not None:
                self._box.editor.complain(str(error))
            return False
        return True

    def _chosen_hunk(self) -> int:
        """Return the index of the chosen hunk; -1 if there is no hunk."""
        return self._box.diff.current if self._box.diff is not None else -1

    def _select(self) -> tuple[str, str]:
        """Select the chosen hunk or, without one, the arguments for editing; return a title and the text to edit."""
        self._hunk = self._chosen_hunk()
        if self._hunk < 0:
            return argument_text(self._item.tool, self._proposal.arguments or self._item.arguments)
        path, first, last = self._proposal.where(self._hunk)
        lines = f"lines {first}–{last}" if last > first else f"line {first}"
        return f"{path}, new text for {lines}", self._proposal.text(self._hunk)

    def _apply(self, text: str) -> None:
        if self._hunk >= 0:
            self._proposal.edit(self._hunk, text)
            return
        arguments = arguments_from(self._item.tool, self._item.arguments, text)
        self._proposal.arguments = None if arguments == self._item.arguments else arguments


def may_edit(action: ActionItem) -> bool:
    """Return whether the user may edit the arguments."""
    return action.tool not in _NOT_EDITABLE


def proposal_of(action: ActionItem) -> Proposal:
    """Return the proposal of an action, without any edits."""
    return Proposal(files_written(action), [delta.path for delta in action.preview])


def decision_of(proposal: Proposal, note: str) -> Decision:
    """Return the approval of a proposal with the user's edits."""
    if not proposal.is_changed:
        return Decision("approved", note)
    if proposal.arguments is not None:
        return Decision("edited", note, edited=proposal.arguments)
    written = tuple(FileText(path=path, text=text) for path, text in proposal.written())
    return Decision("edited", note, hunks=proposal.accepted, written=written)
