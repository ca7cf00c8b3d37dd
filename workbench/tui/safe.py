"""The last wall before the terminal: no control or invisible character leaves with any widget's text."""

from __future__ import annotations

import re

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

# C0 and C1 controls, DEL, marks that turn the direction, zero-width signs, line separators, tag characters.
_UNWANTED = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
# Inside an emoji these two join; anywhere else they hide.
_JOINERS = re.compile("(?<![\u2190-\u2bff\u3030-\u303d\ufe0f\U0001f000-\U0001faff])[\u200c\u200d]")


class ControlFilter(LineFilter):
    """Drops control and invisible characters from what is about to be written."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments; a new list only where one of them held something unwanted."""
        if not any(_is_unsafe(segment.text) for segment in segments if not segment.control):
            return segments
        return [_cleaned(segment) for segment in segments]


def _is_unsafe(text: str) -> bool:
    return not (text.isascii() and text.isprintable()) and bool(_UNWANTED.search(text) or _JOINERS.search(text))


def _cleaned(segment: Segment) -> Segment:
    if segment.control:
        return segment
    return Segment(_JOINERS.sub("", _UNWANTED.sub("", segment.text)), segment.style)
