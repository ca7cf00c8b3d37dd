"""The prompt: a multi-line input; up and down at its edges go through the history, large pastes are folded, and a paste
never sends.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final, TypeAlias

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from workbench.client.threads import in_daemon
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.view.prompt.completion import Completer, CompletionRow, mention_of, request_at
from workbench.view.prompt.pastes import Pastes
from workbench.view.prompt.prompt_history import PromptHistory
from workbench.view.state import SessionState

_KEYS: Final[list[BindingType]] = [
    Binding("enter", "submit", "Send", id="send"),
    Binding("ctrl+j,shift+enter,alt+enter", "newline", "New line", id="newline"),
    Binding("tab", "complete", "Accept the suggestion", id="take", show=False),
    Binding("escape", "close_list", "Close the list", id="close-list", show=False),
    Binding("ctrl+r", "search_history", "Search the prompt history", id="search-history"),
    Binding("ctrl+underscore", "undo", "Undo", show=False, id="undo"),
    Binding("ctrl+g", "edit_outside", "Write in $EDITOR", id="edit-outside"),
    Binding("pageup", "page(-1)", "Page up", show=False, id="page-up"),
    Binding("pagedown", "page(1)", "Page down", show=False, id="page-down"),
    Binding("question_mark", "app.help", "Help, if the prompt is empty", show=False, id="prompt-help"),
    Binding("ctrl+d", "delete_or_quit", "Quit, if the prompt is empty", show=False, id="quit-empty"),
    Binding("ctrl+v", "paste", "Paste an image or text copied here", id="paste", show=False),
]
NO_MATCH: Final = "No earlier message contains these words"


class HistorySearch:
    """Searches the history for the text of a prompt; restores the text from before the search if it is canceled."""

    def __init__(self) -> None:
        self._before = ("", (0, 0), False)

    def step(self, prompt: Prompt) -> None:
        """Start the search or, if it has started, choose the next older match; without a match, cancel it."""
        if not prompt.completer.is_searching:
            self._before = prompt.text, prompt.cursor_location, prompt.is_foreign
        if not prompt.completer.search_history(prompt.text):
            self.close(prompt)
            prompt.app.notify(NO_MATCH, timeout=3)

    def close(self, prompt: Prompt) -> None:
        """Close the prompt's list, and cancel the search if there is one."""
        was_searching = prompt.completer.is_searching
        prompt.completer.close()
        if was_searching:
            text, position, is_foreign = self._before
            prompt.load_text(text)
            prompt.is_foreign = is_foreign
            prompt.move_cursor(position)
            prompt.completer.close()


class ForeignMessages:
    """Texts from servers that were sent from a prompt; when recalled, they are still treated as a server's."""

    def __init__(self) -> None:
        self._sent: tuple[str, ...] = ()

    def note_sent(self, text: str, *, is_foreign: bool) -> None:
        """Remember a text that was sent, if it came from a server."""
        if is_foreign:
            self._sent = (*self._sent, text.strip())

    def is_part_of(self, text: str) -> bool:
        """Return whether the text contains one of the sent texts as whole lines."""
        return any(f"\n{each}\n" in f"\n{text.strip()}\n" for each in self._sent)


class PromptSubmitted(Message):
    """Posted when the user has sent the text; the prompt is empty again, and `restore_text` undoes that."""

    def __init__(self, text: str, written: str, *, is_foreign: bool = False) -> None:
        """`written` is the text with its large pastes folded; with `is_foreign` it came from a server."""
        super().__init__()
        self.text = text
        self.written = written
        self.is_foreign = is_foreign


class Prompt(TextArea):
    """A text area that grows with its text; enter sends it. `completer` provides the list above it."""

    Submitted: TypeAlias = PromptSubmitted
    BINDINGS: ClassVar[list[BindingType]] = _KEYS
    runs_own_bindings: ClassVar[bool] = True  # in its own handler, in the order they were typed

    is_foreign = False
    """Whether some of the text came from a server; it is never a command."""

    def __init__(self, history: PromptHistory, completer: Completer, directory: Path | None = None) -> None:
        """Paths of images are relative to `directory`; None if the session's files are on another machine."""
        super().__init__(
            id="prompt",
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder=placeholder(SessionState(), has_model=True),
        )
        self.past, self.completer, self.pastes = history, completer, Pastes(directory)
        self._store_image = _stored_image if directory is not None else _refuse_image
        self.leave_upwards: Callable[[], bool] = lambda: False
        self._foreign, self.search = ForeignMessages(), HistorySearch()

    def bring(self, text: str) -> None:
        """Insert a server's text before the typed text, and scroll to its beginning."""
        self.is_foreign = True
        self.load_text(f"{text}\n{self.text}".strip())
        self.scroll_home(animate=False)

    def restore_text(self, text: str) -> None:
        """Put back a text that could not be sent, before the text typed since."""
        self._replace_all(f"{text}\n{self.text}".strip())

    def load_text(self, text: str) -> None:
        """Replace the text; it stays marked as a server's if it was, or if it contains a sent text from a server."""
        self.is_foreign = bool(text) and (self.is_foreign or self._foreign.is_part_of(text))
        super().load_text(text)

    def _replace_all(self, text: str) -> None:
        self.load_text(text)
        self.move_cursor(self.document.end)
        self.completer.close()

    def type_in(self, text: str) -> None:
        """Insert text that was typed or pasted while another widget had the focus."""
        self.type_over(*self.selection, self.pastes.collapse(text))
        self.focus()

    def type_over(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        """Replace a range with text and put the cursor after it, as typing does."""
        self.replace(text, start, end, maintain_selection_offset=False)

    def action_submit(self) -> None:
        """Insert the row chosen in the list; without one, or if it runs a command, send the text if it is not blank."""
        choice = self.completer.chosen
        if self.completer.is_searching and choice is None:
            return self.app.notify(NO_MATCH, timeout=3)
        if choice and not _is_typed(choice, self) and not self._insert_choice(choice, is_sent=choice.runs).runs:
            return
        written, text, is_foreign = self.text, self.pastes.expand(self.text), self.is_foreign
        if text.strip():
            self._foreign.note_sent(text, is_foreign=is_foreign)
            self.past.remember(text, keep=not is_foreign)
            self.load_text("")
            self.pastes.forget()
            self.completer.forget()
            self.post_message(self.Submitted(text, written, is_foreign=is_foreign))
        elif not written:
            self.post_message(self.Submitted("", ""))

    async def action_delete_or_quit(self) -> None:
        """Delete the character at the cursor; in an empty prompt, quit."""
        await self.run_action("delete_right" if self.text else "app.quit")

    def action_newline(self) -> None:
        """Start a new line at the cursor."""
        self.insert("\n")
        self.scroll_cursor_visible()

    def action_complete(self) -> None:
        """Replace the typed part with the row chosen in the list, or with the first row."""
        if self.completer.is_open:
            self._insert_choice(self.completer.chosen or self.completer.choices[0])

    def action_close_list(self) -> None:
        """Close the list without changing the text; after a search, the text is the one before it."""
        self.search.close(self)

    def action_search_history(self) -> None:
        """List sent messages that contain the typed words; each further press chooses the next older one."""
        self.search.step(self)

    def action_edit_outside(self) -> None:
        """Edit the text in the user's own editor, with large pastes unfolded."""
        from workbench.tui.external_editor import edit_outside

        try:
            text = edit_outside(self.app, self.pastes.expand(self.text), "message.md")
        except WorkbenchError as error:
            self.app.notify(visible(str(error)), severity="warning", markup=False)
            return
        self._replace_all(visible(text.rstrip("\n")))

    def action_paste(self) -> None:
        """Paste the image on the system clipboard or, without one, the text that was copied here."""
        if self.app.clipboard and not _can_read_images():
            super().action_paste()
        else:
            self.paste_image(or_text=True)

    def paste_image(self, *, or_text: bool = False) -> None:
        """Insert a mention of the image on the system clipboard once a thread has read it, or report an error."""
        self.run_worker(self._paste(or_text), group="paste", exclusive=True)

    async def _paste(self, or_text: bool) -> None:
        try:
            mention = await in_daemon(self._store_image)
        except WorkbenchError as error:
            if or_text and self.app.clipboard:
                super().action_paste()
            else:
                self.app.notify(visible(str(error)), severity="warning", markup=False)
        else:
            self._insert_paste(mention, apart=True)

    async def on_paste(self, event: events.Paste) -> None:
        """Insert the paste as text, with hidden characters made visible."""
        event.prevent_default()
        event.stop()
        folded = self.pastes.collapse(event.text)
        self._insert_paste(folded, apart=folded.startswith("@") and not event.text.startswith("@"))

    def _insert_paste(self, text: str, *, apart: bool) -> None:
        """Replace the selection; with `apart`, for a mention, keep the text apart from a word before it."""
        row, column = min(self.selection)
        before = self.document.get_line(row)[:column]
        gap = " " if apart and before and not before[-1].isspace() else ""
        self.type_over(*self.selection, gap + text)
        self.scroll_cursor_visible()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the keys of the list only while it is open, and escape also in a search that matches nothing."""
        is_escape = action == "close_list" and self.completer.is_searching
        return is_escape or self.completer.is_open if action in ("complete", "close_list") else True

    def action_cursor_up(self, select: bool = False) -> None:
        """Move up a row of the list, or a line; in the first line, back in the history."""
        if self.completer.is_open and not select:
            self.completer.move(-1)
        elif not self.text and not select and self.leave_upwards():
            return
        elif select or self.navigator.is_first_wrapped_line(self.cursor_location) is False or not self._recall(-1):
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Move down a row of the list, or a line; in the last line, forward in the history."""
        if self.completer.is_open and not select:
            self.completer.move(1)
        elif select or self.navigator.is_last_wrapped_line(self.cursor_location) is False or not self._recall(1):
            super().action_cursor_down(select)

    async def action_page(self, pages: int) -> None:
        """Scroll a long text by a page; otherwise the conversation."""
        if self.max_scroll_y > 0:
            (self.action_cursor_page_up if pages < 0 else self.action_cursor_page_down)()
        else:
            await self.run_action(f"screen.scroll(0, {pages})")

    def update_suggestion(self) -> None:
        """Update the list for the text before the cursor, at once, so that the next keys act on the new list."""
        if self.is_foreign and not self.text:  # the user starts over, and no undo may bring the server's words back
            self.is_foreign = False
            self.history.clear()
        (row, column), lines = self.cursor_location, self.document.lines
        if self.is_mounted and row < len(lines):
            is_own = self.selection.is_empty and not self.is_foreign
            self.completer.update(request_at(lines, row, column) if is_own else None, self.text)

    def watch_selection(self, before: Selection, now: Selection) -> None:
        """Update the list for the new position of the cursor."""
        self.update_suggestion()

    def _insert_choice(self, choice: CompletionRow, *, is_sent: bool = False) -> CompletionRow:
        completion, (row, column) = self.completer.request, self.cursor_location
        self.completer.forget()
        if completion is None or completion.kind == "history":
            self.is_foreign = False
            self._replace_all(choice.insert)
        else:
            self.type_over((row, completion.start), (row, column), choice.insert if is_sent else _with_space(choice))
        return choice

    def _recall(self, step: int) -> bool:
        """Show another text from the history; return False if there is none, or if the prompt's text would be lost."""
        can_leave = not self.is_foreign or self._foreign.is_part_of(self.text)
        text = self.past.step(step, self.text) if can_leave else None
        if text is not None:
            self.is_foreign = False
            self._replace_all(text)
        return text is not None

    async def on_key(self, event: events.Key) -> None:
        """Run the prompt's own keys here; if the app ran them, letters typed after them would overtake them."""
        active = None if event.is_printable and self.text else self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self and active.enabled:
            event.prevent_default()
            event.stop()
            await self.app.run_action(active.binding.action, self)


def placeholder(state: SessionState, *, has_model: bool) -> Content:
    """Return what an empty prompt says; in a read-only session that is how to take control, if that is possible."""
    if not state.has_control:
        return Content("Read-only   / commands" if state.is_viewer else "Read-only   /pen takes control   / commands")
    if state.is_over:
        return Content("/ commands")
    return Content(f"{'Ask anything' if has_model else 'Connect a model to ask'}   / commands   @ files   ! shell")


def _is_typed(choice: CompletionRow, prompt: Prompt) -> bool:
    """Return whether enter sends the text, because it has the choice; a search through the history sends nothing."""
    if prompt.completer.is_searching:
        return False
    completion, (row, column) = prompt.completer.request, prompt.cursor_location
    return completion is not None and prompt.document.lines[row][completion.start : column] == choice.insert


def _with_space(choice: CompletionRow) -> str:
    """Return the text to insert, with a space after it unless nothing may follow or the text continues right there."""
    is_whole = choice.runs and not choice.may_continue
    return choice.insert if is_whole or choice.insert.endswith(("/", '/"', "=")) else f"{choice.insert} "


def _can_read_images() -> bool:
    from workbench.tui.terminal.clipboard import can_read_images

    return can_read_images(os.environ)


def _stored_image() -> str:
    """Store the image on the clipboard and return the mention of its file. Raises WorkbenchError."""
    from workbench.tui.terminal.clipboard import store_image

    image = store_image(Locations.from_environment().state / "pasted", os.environ)
    return f"{mention_of(str(image))} "


def _refuse_image() -> str:
    """Refuse the image: the agent could not read its file. Raises WorkbenchError."""
    raise WorkbenchError("Only images on the session's machine can be sent; mention one with @")


def send_label(prompt: Prompt) -> str:
    """Return what the send key does while the completion list is open."""
    if prompt.completer.is_searching:
        return "Insert"
    choice, request = prompt.completer.chosen, prompt.completer.request
    is_command = request is not None and request.kind in ("command", "argument")
    if choice is not None and not choice.runs and not _is_typed(choice, prompt):
        return "Complete and continue" if is_command else "Insert"
    return "Run" if is_command else "Send"
