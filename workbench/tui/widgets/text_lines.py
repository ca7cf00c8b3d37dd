"""The text of the pager: as many rows as you like, only those in sight are painted."""

from __future__ import annotations

from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from workbench.tui.widgets.line_list import LineList
from workbench.view.formatting.wrapping import MOST_MATCHES, Line, Piece, WrappedText


class TextLines(LineList):
    """A wrapped text that scrolls; the cursor is not shown, keys move the text."""

    def __init__(self, text: str, *, headings: bool = False, id: str | None = None) -> None:
        """With `headings` lines in capitals that are not indented stand out."""
        super().__init__(id=id)
        self._headings = headings
        self._text = WrappedText(text)
        self._current = -1

    def on_resize(self) -> None:
        """Wrap for the new width; the same line stays at the top."""
        top = self.scroll_offset.y
        seen = self._text.rows[top] if top < len(self._text.rows) else None
        self._text.wrap(max(2, self.size.width - 2))  # beside the cursor's place and the scrollbar's
        self.set_count(len(self._text.rows))
        self.forget()
        if seen is not None:
            self.scroll_to(y=self._text.row_of(seen.line, seen.start), animate=False, force=True)

    def line(self, index: int, width: int) -> Line:
        """One row, with its matches."""
        pieces = self._text.pieces(index, self._current)
        if self._headings and pieces[0].text[:1].isupper() and "".join(piece.text for piece in pieces).isupper():
            return [Piece(piece.text, piece.style or "heading") for piece in pieces]
        return pieces

    def search(self, needle: str) -> None:
        """Mark all places and go to the first one from the top of the screen on."""
        self._text.find(needle)
        top = self.scroll_offset.y
        rows = (self._text.row_of(line, start) for line, start, _ in self._text.matches)
        self._current = next((index for index, row in enumerate(rows) if row >= top), 0) - 1
        self.go_to_match(1)

    def go_to_match(self, by: int) -> None:
        """The next or previous match, around the ends."""
        matches = self._text.matches
        self._current = (self._current + by) % len(matches) if matches else -1
        self.forget()
        if matches:
            line, start, _ = matches[self._current]
            self._show_row(self._text.row_of(line, start))

    def position(self) -> str:
        """Where one is: the match, or how many lines there are."""
        count = len(self._text.matches)
        if count:
            more = "+" if count >= MOST_MATCHES else ""
            return f"{self._current + 1} of {count}{more}"
        return f"{len(self._text.lines)} lines"

    def first_line_in_sight(self) -> int:
        """The line of the text at the top of the screen, counted from 0."""
        rows = self._text.rows
        return rows[min(self.scroll_offset.y, len(rows) - 1)].line if rows else 0

    def action_move(self, by: int) -> None:
        """Scroll by lines."""
        self._scroll(self.scroll_offset.y + by)

    def action_page(self, by: int) -> None:
        """Scroll by screenfuls."""
        self._scroll(self.scroll_offset.y + by * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """To the top."""
        self._scroll(0)

    def action_last(self) -> None:
        """To the end."""
        self._scroll(self._count)

    def _show_row(self, row: int) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if not top <= row < top + height:
            self._scroll(row - height // 3)

    def _scroll(self, to: int) -> None:
        self.scroll_to(y=max(0, min(to, self.max_scroll_y)), animate=False, force=True)

    def _paint(self, index: int, width: int, mark: str, base: Style) -> Strip:
        return super()._paint(index, width, "", base)

    def set_count(self, count: int) -> None:
        """So many rows; nothing is followed."""
        self._count = count
        self.virtual_size = Size(self.size.width, count)
