"""Text as lines, and lines as they are painted: every sign of a line can be seen. Used by the whole diff view."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len, get_character_cell_size

from workbench.text import visible

TAB = 4
DOT = "·"
_LONG_BLANKS = re.compile(r"(?<=\S) {3,}| +$")


@dataclass(frozen=True)
class PaintedLine:
    """One line ready to paint; `places[i]` is where sign `i` of the raw line begins (`None`: nothing moved)."""

    text: str
    places: tuple[int, ...] | None = None

    def place(self, index: int) -> int:
        """Where sign `index` of the raw line stands in the painted text."""
        if self.places is None:
            return min(index, len(self.text))
        return self.places[min(index, len(self.places) - 1)]


def is_plain(body: str) -> bool:
    """Whether a line without its end is painted as it is, one cell a sign."""
    return body.isascii() and body.isprintable() and "   " not in body.strip(" ") and not body.endswith(" ")


def paint_line(line: str) -> PaintedLine:
    """The line without its newline: tabs to their stops, long or trailing blanks as dots, hidden signs as escapes."""
    body = line.removesuffix("\n")
    if is_plain(body):
        return PaintedLine(body)
    body = _LONG_BLANKS.sub(lambda run: DOT * len(run.group()), body)
    if body.isprintable() and visible(body, lines=False) == body:
        return PaintedLine(body)
    pieces: list[str] = []
    places = [0]
    column = 0
    for piece in _painted_signs(body):
        shown = " " * (TAB - column % TAB) if piece == "\t" else piece
        pieces.append(shown)
        column += cell_len(shown)
        places.append(places[-1] + len(shown))
    return PaintedLine("".join(pieces), tuple(places))


def _painted_signs(body: str) -> Iterator[str]:
    for sign in body:
        escaped = sign if sign == "\t" else visible(sign, lines=False)
        is_hidden = escaped == sign and not sign.isprintable() and sign != "\t"
        yield f"\\u{ord(sign):04x}" if is_hidden else escaped


def line_cells(line: str) -> int:
    """How many cells the painted line takes."""
    body = line.removesuffix("\n")
    return len(body) if is_plain(body) else cell_len(paint_line(line).text)


def wrap_places(text: str, width: int) -> list[int]:
    """Where each painted row of `width` cells begins; at least one row, a wide sign is never cut in two."""
    if len(text) <= width and text.isascii():
        return [0]
    if text.isascii():
        return list(range(0, len(text), max(1, width)))
    places, cells = [0], 0
    for index, sign in enumerate(text):
        size = get_character_cell_size(sign)
        if cells + size > width and index > places[-1]:
            places.append(index)
            cells = 0
        cells += size
    return places


def cut_cells(text: str, start: int, width: int) -> tuple[int, int, int]:
    """The signs that lie whole in `width` cells from cell `start`: first, end, and blank cells in front of them."""
    if text.isascii():
        return min(start, len(text)), min(start + width, len(text)), 0
    first, cell = 0, 0
    while first < len(text) and cell < start:
        cell += get_character_cell_size(text[first])
        first += 1
    indent = cell - start if first < len(text) or cell > start else 0
    end, room = first, width - indent
    while end < len(text) and (size := get_character_cell_size(text[end])) <= room:
        room -= size
        end += 1
    return first, end, max(0, indent)
