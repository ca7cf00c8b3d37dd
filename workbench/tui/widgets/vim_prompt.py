"""The prompt with vim's keys, where `terminal.vim` is set; its border says the mode."""

from __future__ import annotations

from pathlib import Path

from textual import events
from textual.content import Content

from workbench.tui.widgets.prompt import Prompt
from workbench.view.prompt.completion import Completer
from workbench.view.prompt.history import History
from workbench.view.prompt.vim import Done, Vim, offset_of, rest_in_normal, row_and_column


class VimPrompt(Prompt):
    """Begins in insert mode, with each message anew; what no mode takes is done as in the usual prompt."""

    def __init__(self, history: History, completer: Completer, folder: Path | None = None) -> None:
        super().__init__(history, completer, folder)
        self.vim = Vim()
        self._say_mode()

    def action_submit(self) -> None:
        """Send; the next message begins in insert mode."""
        super().action_submit()
        if not self.text:
            self.vim.begin()
            self._say_mode()

    async def on_key(self, event: events.Key) -> None:
        """Vim's keys; Textual passes all others on to the prompt by itself."""
        if self.completer.is_open and self.vim.mode == "insert":
            return
        done = self.vim.press(event.key, event.character, self.text, self._offset)
        if done is not None:
            event.prevent_default()
            event.stop()
            self._carry_out(done)

    def _carry_out(self, done: Done) -> None:
        before = self.text
        if done.edit is not None:
            start, end, text = done.edit
            self.type_over(row_and_column(before, start), row_and_column(before, end), text)
        if done.at is not None:
            self.move_cursor(row_and_column(self.text, done.at))
        if done.action:
            {"undo": self.undo, "up": self.action_cursor_up, "down": self.action_cursor_down}[done.action]()
        if self.vim.mode == "normal":
            self.move_cursor(row_and_column(self.text, rest_in_normal(self.text, self._offset)))
            self.completer.close()
        self._say_mode()

    @property
    def _offset(self) -> int:
        return offset_of(self.text, *self.cursor_location)

    def _say_mode(self) -> None:
        self.border_title = Content(self.vim.mode.upper())
