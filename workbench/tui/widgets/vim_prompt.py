"""The prompt with vim keys, used if `terminal.keymap` is "vim"; its border shows the mode."""

from __future__ import annotations

from pathlib import Path

from textual import events
from textual.content import Content

from workbench.tui.widgets.prompt import Prompt
from workbench.view.prompt.completion import Completer
from workbench.view.prompt.prompt_history import PromptHistory
from workbench.view.prompt.vim import Done, Vim, offset_of, rest_in_normal, row_and_column


class VimPrompt(Prompt):
    """Starts each message in insert mode; keys that vim does not use have the same effect as in the default prompt."""

    def __init__(self, history: PromptHistory, completer: Completer, directory: Path | None = None) -> None:
        super().__init__(history, completer, directory)
        self.vim = Vim()
        self._show_mode()

    def action_submit(self) -> None:
        """Send the text; the next message begins in insert mode."""
        super().action_submit()
        if not self.text:
            self.vim.begin()
            self._show_mode()

    async def on_key(self, event: events.Key) -> None:
        """Handle vim's keys; Textual passes all others on to the prompt."""
        if (self.completer.is_open or self.completer.is_searching) and self.vim.mode == "insert":
            return
        done = self.vim.press(event.key, event.character, self.text, offset_of(self.text, *self.cursor_location))
        if done is not None:
            event.prevent_default()
            event.stop()
            self._apply(done)

    def _apply(self, done: Done) -> None:
        before = self.text
        if done.edit is not None:
            start, end, text = done.edit
            self.type_over(row_and_column(before, start), row_and_column(before, end), text)
        if done.at is not None:
            self.move_cursor(row_and_column(self.text, done.at))
        if done.action:
            {"undo": self.undo, "up": self.action_cursor_up, "down": self.action_cursor_down}[done.action]()
        if self.vim.mode == "normal":
            offset = offset_of(self.text, *self.cursor_location)
            self.move_cursor(row_and_column(self.text, rest_in_normal(self.text, offset)))
            self.completer.close()
        self._show_mode()

    def _show_mode(self) -> None:
        self.border_title = Content(self.vim.mode.upper())
