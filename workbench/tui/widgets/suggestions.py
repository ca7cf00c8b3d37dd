"""The list above the prompt: rows to choose from while typing. The prompt keeps the focus; a click chooses too."""

from __future__ import annotations

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from workbench.text import visible
from workbench.tui.widgets.strips import css_beside
from workbench.view.prompt.completion import Completer, CompletionRow, match_offsets

ROWS = 8
"""Number of rows in view at once; fewer on a low screen."""
_LOW, _LOW_ROWS = 30, 5


class Suggestions(Widget):
    """Shows the choices around the current one."""

    DEFAULT_CSS = css_beside(__file__)

    class Picked(Message):
        """Posted when a row was clicked."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def __init__(self, completer: Completer) -> None:
        super().__init__(id="suggestions")
        self._completer = completer
        self._first = 0
        self.display = False

    def show(self) -> None:
        """Show the completer's current choices."""
        completer = self._completer
        self.display = completer.is_open
        if not completer.is_open:
            self._first = 0
            return
        last = max(completer.at, 0)
        rows = self._rows()
        self._first = max(last - rows + 1, min(self._first, last), 0)
        self.border_title = Content(_title(completer))
        count = len(completer.choices)
        self.border_subtitle = Content(f"{last + 1} of {count}" if count > rows else "")
        self.refresh(layout=True)

    def render(self) -> Content:
        """Return one line for each choice in view."""
        completer, width = self._completer, max(10, self.size.width)
        in_view = completer.choices[self._first : self._first + self._rows()]
        query = completer.request.query if completer.request is not None else ""
        names = min(max((cell_len(choice.label) for choice in in_view), default=0), width - 4)
        return Content("\n").join(
            _row(choice, query, width, names, is_chosen=self._first + at == completer.at)
            for at, choice in enumerate(in_view)
        )

    def on_click(self, event: events.Click) -> None:
        """Pick the row under the mouse."""
        at = self._first + event.get_content_offset_capture(self).y
        if at < len(self._completer.choices):
            self.post_message(self.Picked(at))

    def _rows(self) -> int:
        return _LOW_ROWS if self.screen.size.height < _LOW else ROWS


def _title(completer: Completer) -> str:
    request = completer.request
    if request is not None and request.kind == "argument":
        return f"/{request.of}"
    return {"file": "Files", "history": "Sent before"}.get(request.kind if request is not None else "", "Commands")


def _row(choice: CompletionRow, query: str, width: int, names: int, *, is_chosen: bool) -> Content:
    label = visible(choice.label, lines=False)
    name = Content(label)
    if query and label == choice.label:
        offset = 1 if label.startswith("/") else 0
        for at in match_offsets(query, label[offset:]):
            name = name.stylize("bold $primary", at + offset, at + offset + 1)
    line = Content.assemble(("› " if is_chosen else "  ", "bold $primary"), name)
    if choice.words:
        gap = " " * max(2, names - cell_len(label) + 2)
        line = Content.assemble(line, gap, (visible(choice.words, lines=False), "" if is_chosen else "$dim"))
    line = line.truncate(width, ellipsis=True, pad=True)
    return line.stylize_before("$block-cursor-foreground on $block-cursor-background") if is_chosen else line
