"""A line filter that highlights the matches of a search on the main screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

_MARK: Final = Style(reverse=True, bold=True)


class HighlightFilter(LineFilter):
    """Shows each occurrence of a phrase, in any case, reversed and bold, so that it stands out even without colors."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._needle = words.lower()

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments with the phrase highlighted, split where an occurrence begins or ends."""
        text = "".join(segment.text for segment in segments if not segment.control).lower()
        if self._needle not in text:
            return segments
        inside = set(self._offsets(text))
        cut: list[Segment] = []
        at = 0
        for segment in segments:
            if segment.control:
                cut.append(segment)
                continue
            cut += _pieces(segment, [at + offset in inside for offset in range(len(segment.text))])
            at += len(segment.text)
        return cut

    def _offsets(self, text: str) -> Iterator[int]:
        start = text.find(self._needle)
        while start >= 0:
            end = start + len(self._needle)
            yield from range(start, end)
            start = text.find(self._needle, end)


def _pieces(segment: Segment, marked: list[bool]) -> Iterator[Segment]:
    start = 0
    for end in range(1, len(marked) + 1):
        if end == len(marked) or marked[end] is not marked[start]:
            style = (segment.style or Style()) + _MARK if marked[start] else segment.style
            yield Segment(segment.text[start:end], style)
            start = end
