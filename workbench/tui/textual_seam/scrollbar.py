"""Scrollbars that are painted as one cached column of cells."""

from __future__ import annotations

from functools import lru_cache, wraps
from typing import Any, Final

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

from workbench.tui.textual_seam.memory import patch

LINES: Final = "textual.scrollbar:ScrollBar.render_lines"
"""The method that `paint_scrollbars_at_once` patches."""
_MOST_COLUMNS: Final = 64
"""The most positions of scrollbars whose cells are cached; a column has at most five different cells."""


def paint_scrollbars_at_once() -> None:
    """Paint a vertical scrollbar without styling each of its lines.

    Reason: Textual 8.2.8 renders a scrollbar with Rich and applies the styles of a widget to every line of it, with
    each layout of the screen. For two panels that took 5 ms of a frame of 30 ms.
    Upstream: `ScrollBar.render_lines`, inherited from `Widget`, and the public `ScrollBar.render` and
    `ScrollBarRender.render_bar`. A renderer of another kind is left to Textual, and so is a horizontal scrollbar.
    Without it: nothing is patched, and scrollbars take longer.
    """
    patch(LINES, _in_one_column)


def _in_one_column(original: Any) -> Any:
    @wraps(original)
    def render_lines(bar: ScrollBar, crop: Region) -> list[Strip]:
        rendered = bar.render() if bar.vertical and bar.renderer is ScrollBarRender else None
        if not isinstance(rendered, ScrollBarRender) or not isinstance(style := rendered.style, Style):
            return list(original(bar, crop))
        sizes = (bar.size.height, rendered.virtual_size, rendered.window_size, rendered.position, rendered.thickness)
        strips = _column(sizes, style, bar.visual_style.rich_style)[crop.y : crop.bottom]
        _, background = bar.background_colors
        for line_filter in bar.get_line_filters():
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        return strips

    return render_lines


@lru_cache(_MOST_COLUMNS)
def _column(sizes: tuple[int, float, float, float, int], style: Style, base: Style) -> list[Strip]:
    """Return the cells of a scrollbar from top to bottom; equal cells are one strip."""
    background, color = style.bgcolor or Color.default(), style.color or Color.default()
    rendered = ScrollBarRender.render_bar(*sizes, vertical=True, back_color=background, bar_color=color)
    strips = {
        id(segment): Strip([Segment(segment.text, base + (segment.style or Style()))], sizes[-1])
        for segment in rendered.segments
    }
    return [strips[id(segment)] for segment in rendered.segments]
