"""The last filter before the terminal: removes control characters and invisible characters from widgets' text."""

from __future__ import annotations

import re

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from workbench.text import HIDDEN

# The characters that `visible` escapes, and tabs and line breaks: none may be left. The joiners, which emoji use, have
# a rule of their own below.
_UNWANTED = re.compile(f"[{HIDDEN}\n\t]".replace("\u200b-\u200f", "\u200b\u200e\u200f"))
# These two join the parts of an emoji; anywhere else they are just invisible.
_JOINERS = re.compile("(?<![\u2190-\u2bff\u3030-\u303d\ufe0f\U0001f000-\U0001faff])[\u200c\u200d]")


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
