"""Where the person writes: several lines, history at the edges, large pastes folded, and a paste that never sends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets.text_area import Selection

from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tui.widgets.pasting_area import ForeignText
from workbench.view.prompt.attachments import Pastes
from workbench.view.prompt.completion import Choice, Completer, wish_at
from workbench.view.prompt.history import History


class Prompt(ForeignText):
    """A text area that grows with its text; enter sends. `completer` is the list above it."""

    runs_own_bindings: ClassVar[bool] = True
    """Its keys act in its own handler, in the order they were typed."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", id="send"),
        Binding("ctrl+j,shift+enter,alt+enter", "newline", "New line", id="newline"),
        Binding("tab", "take", "Take what is chosen", id="take", show=False),
        Binding("escape", "close_list", "Close the list", id="close-list", show=False),
        Binding("ctrl+r", "search_history", "Search what was sent before", id="search-history"),
        Binding("ctrl+underscore", "undo", "Undo", show=False, id="undo"),
        Binding("ctrl+g", "edit_outside", "Write in $EDITOR", id="edit-outside"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="page-up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="page-down"),
    ]

    class Submitted(Message):
        """The person sent the text; the prompt is empty again, and `give_back` undoes that."""

        def __init__(self, text: str, written: str, *, is_foreign: bool = False) -> None:
            """`written` is the text with its large pastes folded; a foreign one came from a server."""
            super().__init__()
            self.text = text
            self.written = written
            self.is_foreign = is_foreign

    def __init__(self, history: History, completer: Completer, folder: Path | None = None) -> None:
        """`folder` is where paths of images are looked for."""
        super().__init__(
            id="prompt",
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder=Content("Ask anything   / commands   @ files   ! shell"),
        )
        self.past = history
        self.completer = completer
        self.pastes = Pastes(folder)
        self.leave_upwards: Callable[[], bool] = lambda: False

    def give_back(self, text: str) -> None:
        """Text that could not be taken stands here again, before what was typed since."""
        self.load_text(f"{text}\n{self.text}".strip())
        self.move_cursor(self.document.end)
        self.completer.close()

    def action_submit(self) -> None:
        """Take what is chosen in the list; otherwise send what is written and start anew, before the next letter comes.

        Blanks alone are nothing.
        """
        choice = self.completer.chosen
        if choice is not None and not self._is_written(choice) and not self._take(choice).runs:
            return
        written, text = self.text, self.pastes.expand(self.text)
        if text.strip():
            is_foreign = self.is_foreign
            self.note_sent(text)
            self.past.remember(text, keep=not is_foreign)
            self.load_text("")
            self.pastes.forget()
            self.completer.forget()
            self.post_message(self.Submitted(text, written, is_foreign=is_foreign))

    def action_newline(self) -> None:
        """Start a new line at the cursor."""
        self.insert("\n")
        self.scroll_cursor_visible()

    def action_take(self) -> None:
        """Put what is chosen in the list in place of what was typed of it."""
        if self.completer.is_open:
            self._take(self.completer.chosen or self.completer.choices[0])

    def action_close_list(self) -> None:
        """Leave the text as it is."""
        self.completer.close()

    def action_search_history(self) -> None:
        """Show what was sent before and holds the words typed; again: the next older one."""
        if not self.completer.search_history(self.text):
            self.completer.close()
            self.app.notify("nothing that was sent before holds these words", timeout=3)

    def action_edit_outside(self) -> None:
        """Go on writing in the person's own editor; large pastes are whole there."""
        from workbench.tui.outside_editor import edit_outside

        try:
            text = edit_outside(self.app, self.pastes.expand(self.text), "message.md")
        except WorkbenchError as error:
            self.app.notify(visible(str(error)), severity="warning", markup=False)
            return
        self.load_text(visible(text.rstrip("\n")))
        self.move_cursor(self.document.end)
        self.completer.close()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Two keys are the prompt's own only while the list is open."""
        return self.completer.is_open if action in ("take", "close_list") else True

    def action_cursor_up(self, select: bool = False) -> None:
        """Up a row of the list, or a line; in the first one, back in the history."""
        if self.completer.is_open and not select:
            self.completer.move(-1)
        elif not self.text and not select and self.leave_upwards():
            return
        elif select or self.navigator.is_first_wrapped_line(self.cursor_location) is False or not self._recall(-1):
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down a row of the list, or a line; in the last one, forth in the history."""
        if self.completer.is_open and not select:
            self.completer.move(1)
        elif select or self.navigator.is_last_wrapped_line(self.cursor_location) is False or not self._recall(1):
            super().action_cursor_down(select)

    async def action_page(self, pages: int) -> None:
        """A page up or down in a long text; otherwise in the conversation."""
        if self.max_scroll_y > 0:
            (self.action_cursor_page_up if pages < 0 else self.action_cursor_page_down)()
        else:
            await self.run_action(f"screen.page({pages})")

    def update_suggestion(self) -> None:
        """The text has changed: at once, in the order of the keys, the list fits what stands before the cursor."""
        super().update_suggestion()
        (row, column), lines = self.cursor_location, self.document.lines
        if self.is_mounted and row < len(lines):
            has_wish = self.selection.is_empty and not self.is_foreign
            self.completer.look(wish_at(lines, row, column) if has_wish else None, self.text)

    def watch_selection(self, before: Selection, now: Selection) -> None:
        """The cursor has moved: what stands before it may be something else."""
        self.update_suggestion()

    def _is_written(self, choice: Choice) -> bool:
        wish, (row, column) = self.completer.wish, self.cursor_location
        return wish is not None and self.document.lines[row][wish.start : column] == choice.insert

    def _take(self, choice: Choice) -> Choice:
        wish, (row, column) = self.completer.wish, self.cursor_location
        if wish is None or wish.kind == "history":
            self.completer.forget()
            self.is_foreign = False
            self.load_text(choice.insert)
            self.move_cursor(self.document.end)
            self.completer.close()
            return choice
        goes_on = choice.insert.endswith(("/", '/"', "=")) or choice.runs
        self.completer.forget()
        self.type_over((row, wish.start), (row, column), choice.insert + ("" if goes_on else " "))
        return choice

    def _recall(self, step: int) -> bool:
        text = self.past.step(step, self.text) if self.can_leave else None
        if text is None:
            return False
        self.is_foreign = False
        self.load_text(text)
        self.move_cursor(self.document.end)
        self.completer.close()
        return True

    async def on_key(self, event: events.Key) -> None:
        """Run the prompt's own keys here: by way of the app they would be overtaken by letters typed after them."""
        active = None if event.is_printable else self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self and active.enabled:
            event.prevent_default()
            event.stop()
            await self.app.run_action(active.binding.action, self)
