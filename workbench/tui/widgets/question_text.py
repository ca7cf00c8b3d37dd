"""Parts of a question: the waiting actions, the line about the hunks, and wrapped text. Used by QuestionBox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from workbench.tui.widgets.strips import as_content, css_beside, style_of, update_content
from workbench.view.approval.proposal import Proposal
from workbench.view.diff.lines import wrap_offsets
from workbench.view.formatting.approval import StyledLine, batch_lines
from workbench.view.formatting.cards import hunk_line
from workbench.view.state import ActionItem
from workbench.view.wrapping import row_starts


class BatchList(Static):
    """The waiting actions, with the one in question marked; hidden if it is the only one."""

    def __init__(self, waiting: Sequence[ActionItem], at: int) -> None:
        super().__init__(id="batch")
        self.show_waiting(waiting, at)

    def show_waiting(self, waiting: Sequence[ActionItem], at: int) -> None:
        """Set the waiting actions; call `lay_out` afterwards."""
        self._waiting = tuple(waiting)
        self._at = at
        self.display = len(self._waiting) > 1

    def lay_out(self, width: int) -> int:
        """Lay out for a width; return the number of rows, including the gap below."""
        if not self.display:
            return 0
        lines = batch_lines(self._waiting, self._at, width)
        update_content(self, as_content(lines))
        return len(lines) + 1


class HunkLine(Static):
    """Says which hunks are accepted; hidden for a single hunk that has not been edited or excluded."""

    def __init__(self, proposal: Proposal) -> None:
        super().__init__(id="hunks")
        self._proposal = proposal
        self.display = False

    def lay_out(self, current: int) -> int:
        """Show which hunks are accepted now; return the number of rows that this takes."""
        self.display = self._proposal.count > 1 or bool(self._proposal.count and self._proposal.is_changed)
        if self.display:
            update_content(self, as_content([hunk_line(self._proposal, current)]))
        return int(self.display)


_LEAST_INDENT: Final = 4
_LOOKS: Final = {
    "command": "bold $foreground",
    "label": "$panel-title",
    "argument": "$foreground",
    "dim": "$dim",
    "added": "on $diff-added",
    "removed": "on $diff-removed",
    "risk-low": "$risk-low",
    "risk-medium": "$risk-medium",
    "risk-high": "bold $risk-high",
    "risk-unknown": "$risk-unknown",
}


class QuestionText(ScrollView, can_focus=False):
    """Shows all of its lines at any width; with `by_word` it wraps prose at spaces, otherwise text breaks anywhere."""

    DEFAULT_CSS = css_beside(__file__)

    def __init__(self, lines: Sequence[StyledLine], *, by_word: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines = tuple(lines)
        self._by_word = by_word
        self._rows: list[StyledLine] = []
        self._rows_width = 0
        self._is_new = True

    def set_lines(self, lines: Sequence[StyledLine]) -> None:
        """Replace the lines; call `lay_out` afterwards."""
        self._lines = tuple(lines)
        self._rows_width = 0

    def rows_at(self, width: int) -> int:
        """Return the number of rows that the text takes at a width."""
        if width != self._rows_width:
            self._rows = [row for line in self._lines for row in self._wrapped(line, max(4, width))]
            self._rows_width = width
            self._is_new = True
        return len(self._rows)

    def lay_out(self, width: int) -> None:
        """Wrap for a width, which must be the widget's without its scrollbar."""
        self.virtual_size = Size(width, self.rows_at(width))
        if self._is_new:
            self._is_new = False
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint screen line `y`."""
        index = y + int(self.scroll_offset.y)
        if index >= len(self._rows):
            return Strip.blank(self.size.width, self.rich_style)
        text, name, _ = self._rows[index]
        style = self.rich_style
        if name:
            style += style_of(self.app, _LOOKS[name])
        return Strip([Segment(text, style)]).adjust_cell_length(self.size.width, self.rich_style)

    def _wrapped(self, line: StyledLine, width: int) -> Iterator[StyledLine]:
        text, style, indent = line
        starts = row_starts if self._by_word or indent or style == "label" else wrap_offsets
        breaks = [*starts(text, width), len(text)]
        if indent and len(breaks) > 2:
            indent = indent if indent * 2 <= width else _LEAST_INDENT
            rest = breaks[1]
            breaks = [0, rest, *(rest + offset for offset in starts(text[rest:], width - indent)[1:]), len(text)]
        for first, end in pairwise(breaks):
            yield StyledLine(f"{' ' * indent if first else ''}{text[first:end]}", style)
