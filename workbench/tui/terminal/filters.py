"""The screen without colours, where NO_COLOR is set: the terminal's own, and attributes where a ground stood out."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from workbench.ascii import TABLE

_STANDS_OUT: Final = 0.1
"""By how much a ground is lighter or darker than what is around it, of 1, so that it means something."""


class NoColour(LineFilter):
    """Leaves bold, dim, underlined and reversed text; a cursor and a selection are reversed."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same texts, without a colour."""
        around = round(background.brightness, 2)
        return [
            segment if segment.control or segment.style is None else _bare(segment.text, segment.style, around)
            for segment in segments
        ]


def _bare(text: str, style: Style, around: float) -> Segment:
    return Segment(text, _attributes(style, around))


@lru_cache(2_000)
def _attributes(style: Style, around: float) -> Style:
    ground = style.bgcolor
    plain = style.without_color
    if ground is None or ground.is_default:
        return plain
    differs = abs(Color.from_rich_color(ground).brightness - around) > _STANDS_OUT
    return plain + Style(reverse=not style.reverse) if differs else plain


class AsciiFilter(LineFilter):
    """For terminals without unicode; what has no likeness is a question mark in each of its cells."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments; a new list only where one of them is not ASCII."""
        if all(segment.text.isascii() for segment in segments):
            return segments
        return [_plain(segment) for segment in segments]


def _plain(segment: Segment) -> Segment:
    if segment.control or segment.text.isascii():
        return segment
    text = segment.text.translate(TABLE)
    if not text.isascii():
        text = "".join(sign if sign.isascii() else "?" * cell_len(sign) for sign in text)
    return Segment(text, segment.style)
