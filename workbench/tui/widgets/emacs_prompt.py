"""The prompt with the keys of Emacs and readline, used if `terminal.keymap` is "emacs".

`Ctrl+A`, `Ctrl+E` and `Ctrl+D` act like this in every prompt. The palette and the search of the session, whose keys are
needed here, get others: see `EMACS_KEYS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from workbench.tui.widgets.prompt import Prompt

EMACS_KEYS: Final[Mapping[str, str]] = {"palette": "alt+x", "find": "ctrl+s"}
"""Other keys for the bindings whose default keys the prompt uses with this keymap; the user's own keys replace them."""

_KEYS: Final[list[BindingType]] = [
    Binding("ctrl+b", "cursor_left", "Character left", show=False, id="emacs.left"),
    Binding("ctrl+f", "cursor_right", "Character right", show=False, id="emacs.right"),
    Binding("alt+b", "cursor_word_left", "Word left", show=False, id="emacs.word-left"),
    Binding("alt+f", "cursor_word_right", "Word right", show=False, id="emacs.word-right"),
    Binding("ctrl+p", "cursor_up", "Line up, or older message", show=False, id="emacs.up"),
    Binding("ctrl+n", "cursor_down", "Line down, or newer message", show=False, id="emacs.down"),
    Binding("ctrl+k", "kill('line_end')", "Delete to the end of the line", show=False, id="emacs.kill-line"),
    Binding("ctrl+u", "kill('line_start')", "Delete to the line start", show=False, id="emacs.kill-start"),
    Binding("ctrl+w,alt+backspace", "kill('word_left')", "Delete word before", show=False, id="emacs.kill-left"),
    Binding("alt+d", "kill('word_right')", "Delete word after", show=False, id="emacs.kill-right"),
    Binding("ctrl+y", "edit('yank')", "Insert what was deleted last", show=False, id="emacs.yank"),
    Binding("ctrl+t", "edit('transpose')", "Swap two characters", show=False, id="emacs.transpose"),
]


class EmacsPrompt(Prompt):
    """Moves, deletes and inserts as readline does; `Ctrl+Y` inserts what was deleted last with one of these keys."""

    BINDINGS: ClassVar[list[BindingType]] = _KEYS
    _killed = ""

    def action_kill(self, what: str) -> None:
        """Delete from the cursor to a position and keep the text for `yank`; at the end of a line, its line break."""
        row, column = at = self.cursor_location
        line = self.document.get_line(row)
        end = (row, len(line))
        if column == len(line) and row + 1 < self.document.line_count:
            end = (row + 1, 0)
        targets = {
            "line_start": (row, 0),
            "line_end": end,
            "word_left": self.get_cursor_word_left_location(),
            "word_right": self.get_cursor_word_right_location(),
        }
        start, stop = sorted((at, targets[what]))
        if start != stop:
            self._killed = self.get_text_range(start, stop)
            self.type_over(start, stop, "")

    def action_edit(self, what: str) -> None:
        """Insert the text that `kill` deleted last (`yank`), or swap the characters around the cursor (`transpose`)."""
        if what == "transpose":
            _transpose(self)
        elif self._killed:
            self.type_over(*self.selection, self._killed)


def _transpose(prompt: Prompt) -> None:
    """Swap the characters around the cursor and move on; at the end of a line, the two before it."""
    row, column = prompt.cursor_location
    line = prompt.document.get_line(row)
    at = min(column, len(line) - 1)
    if at >= 1 and column:
        prompt.type_over((row, at - 1), (row, at + 1), line[at] + line[at - 1])
