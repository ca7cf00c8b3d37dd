"""A compositor that paints each cell once, from the front to the back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from textual._compositor import ChopsUpdate, Compositor, ReflowResult
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

Span: TypeAlias = tuple[int, int]
"""Columns of a line, half open."""
Canvas: TypeAlias = list[dict[int, Strip]]
"""The pieces of each line, by the column where they begin."""


class FrontToBackCompositor(Compositor):
    """A compositor that does not render the covered parts of widgets, and reports every widget that was resized.

    Reason: Textual 8.2.8 renders every widget on the changed lines, containers under their content too, and cuts each
    line at the edges of all of them. Here only the changed spans are filled. It also compares each layout
    with the last map. If the whole map was requested between a change and its layout, that map is new already: no
    resize is reported, and the timeline no longer follows its end.
    Upstream: `Compositor.render_partial_update`, `_render_chops` and `reflow`; `_dirty_regions`, `_full_map` and
    `_regions_to_spans` are read.
    Without it: `LowLatencyScreen` keeps Textual's compositor when this module cannot be imported; an override that is
    not called leaves Textual's way of painting. `test_compositor.py` compares both, cell by cell.
    """

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Lay out everything; return the widgets that are hidden, shown and resized now."""
        result = super().reflow(parent, size)
        resized = {widget for widget, now in self._full_map.items() if widget.outer_size != now.region.size}
        return result._replace(resized=result.resized | (resized - result.shown))

    def render_partial_update(self) -> ChopsUpdate | None:
        """Return an update of the changed spans, or None if there are none."""
        screen = self.size.region
        regions = [region.intersection(screen) for region in self._dirty_regions]
        self._dirty_regions.clear()
        spans = list(self._regions_to_spans(region for region in regions if region))
        if not spans:
            return None
        empty: list[list[Span]] = [[] for _ in range(self.size.height)]
        for y, first, last in spans:
            empty[y].append((first, last))
        canvas = self._fill(empty)
        ends = [[x + strip.cell_length for x, strip in line.items()] for line in canvas]
        return ChopsUpdate(canvas, spans, ends)

    def _render_chops(self, crop: Region, is_rendered_line: Callable[[int], bool]) -> Sequence[Mapping[int, Strip]]:
        """Render in full each line for which `is_rendered_line` is true."""
        width, height = self.size
        return self._fill([[(0, width)] if is_rendered_line(y) else [] for y in range(height)])

    def _fill(self, empty: list[list[Span]]) -> Canvas:
        """Return the lines with their empty spans filled by the frontmost widget at each place."""
        canvas: Canvas = [{} for _ in empty]
        unfilled_lines = sum(map(bool, empty))
        for widget, (region, clip) in self.visible_widgets.items():
            if not unfilled_lines:
                break
            visible = region.intersection(clip)
            rows = [y for y in visible.line_range if _overlaps(empty[y], visible.x, visible.right)]
            if not rows:
                continue
            first = rows[0]
            crop = Region(visible.x - region.x, first - region.y, visible.width, rows[-1] + 1 - first)
            strips = widget.render_lines(crop)
            for y in rows:
                if y - first < len(strips):
                    empty[y] = _put(canvas[y], strips[y - first], visible.x, empty[y])
                    unfilled_lines -= not empty[y]
        return [dict(sorted(line.items())) for line in canvas]


def _overlaps(spans: list[Span], x: int, right: int) -> bool:
    return any(first < right and x < last for first, last in spans)


def _put(line: dict[int, Strip], strip: Strip, x: int, spans: list[Span]) -> list[Span]:
    """Put the parts of a strip at `x` that lie in the spans on the line; return the spans that are still empty."""
    right = x + strip.cell_length
    empty: list[Span] = []
    for first, last in spans:
        begin, end = max(first, x), min(last, right)
        if begin >= end:
            empty.append((first, last))
            continue
        line[begin] = strip.crop(begin - x, end - x)
        if first < begin:
            empty.append((first, begin))
        if end < last:
            empty.append((end, last))
    return empty
