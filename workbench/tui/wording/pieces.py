"""A line as pieces of safe text with style names, fitted to a width in cells; no textual, so that rows stay pure.

Style names are keys of `STYLES` and names of `MARKS`, both in `widgets.painting`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, set_cell_size


class Piece(NamedTuple):
    """Text that is safe to show, on one line, and the name of its style ("" for plain)."""

    text: str
    style: str = ""


Line: TypeAlias = list[Piece]


def clip(text: str, width: int) -> str:
    """At most `width` cells, with an ellipsis where something was cut."""
    if width <= 0:
        return ""
    head = text[: width + 1]  # a sign is seldom narrower than a cell; those that are belong to the one before
    if len(head) == len(text) and cell_len(text) <= width:
        return text
    return set_cell_size(head, width - 1).rstrip() + "…"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Exactly `width` cells: clipped or filled with blanks (on the left when `right`)."""
    text = clip(text, width)
    blanks = " " * max(0, width - cell_len(text))
    return blanks + text if right else text + blanks


def line_width(line: Line) -> int:
    """Cells of a whole line."""
    return sum(cell_len(piece.text) for piece in line)


def spread(left: Line, right: Line, width: int) -> Line:
    """`left` clipped, then blanks, then `right` at the end of the line; `right` gives way on very narrow lines."""
    need = line_width(right)
    if need + 8 > width:
        right, need = [], 0
    room = width - need - (1 if need else 0)
    fitted: Line = []
    for piece in left:
        text = clip(piece.text, room)
        fitted.append(Piece(text, piece.style))
        room -= cell_len(text)
    return [*fitted, Piece(" " * (room + (1 if need else 0))), *right]
