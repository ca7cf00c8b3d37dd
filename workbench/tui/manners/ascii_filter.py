"""The screen in ASCII: borders and signs become what looks like them, cell for cell."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from workbench.ascii import TABLE


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
