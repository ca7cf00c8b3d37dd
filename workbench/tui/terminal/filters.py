"""Line filters: no control characters reach the terminal; for terminals without colors (NO_COLOR) or Unicode."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from workbench.ascii import TABLE
from workbench.lazy_pattern import lazy_pattern
from workbench.text import HIDDEN

_STANDS_OUT: Final = 0.1
"""Minimum difference in brightness (0 to 1) from the surroundings at which a background is shown as reversed."""


class NoColor(LineFilter):
    """Removes colors but keeps bold and the like; a background that stands out, such as a cursor's, is reversed."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without colors."""
        around = round(background.brightness, 2)
        return [
            segment if segment.control or segment.style is None else _bare(segment.text, segment.style, around)
            for segment in segments
        ]


def _bare(text: str, style: Style, around: float) -> Segment:
    return Segment(text, _attributes(style, around))


@lru_cache(2_000)
def _attributes(style: Style, around: float) -> Style:
    background_color = style.bgcolor
    plain = style.without_color
    if background_color is None or background_color.is_default:
        return plain
    differs = abs(Color.from_rich_color(background_color).brightness - around) > _STANDS_OUT
    return plain + Style(reverse=not style.reverse) if differs else plain


class AsciiFilter(LineFilter):
    """Replaces characters that are not ASCII; one without an ASCII equivalent becomes a question mark per cell."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments in ASCII, or the same list if they are ASCII already."""
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


# The characters that `visible` escapes, and tabs and line breaks: none may be left. The joiners, which emoji use, have
# a rule of their own below.
_UNWANTED = lazy_pattern(f"[{HIDDEN}\n\t]".replace("\u200b-\u200f", "\u200b\u200e\u200f"))
# These two join the parts of an emoji; anywhere else they are just invisible.
_JOINERS = lazy_pattern("(?<![\u2190-\u2bff\u3030-\u303d\ufe0f\U0001f000-\U0001faff])[\u200c\u200d]")


class ControlFilter(LineFilter):
    """Drops control and invisible characters from the lines about to be written."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without such characters, or the same list if there are none."""
        if not any(_is_unsafe(segment.text) for segment in segments if not segment.control):
            return segments
        return [_cleaned(segment) for segment in segments]


def _is_unsafe(text: str) -> bool:
    return not (text.isascii() and text.isprintable()) and bool(_UNWANTED.search(text) or _JOINERS.search(text))


def _cleaned(segment: Segment) -> Segment:
    if segment.control:
        return segment
    return Segment(_JOINERS.sub("", _UNWANTED.sub("", segment.text)), segment.style)
