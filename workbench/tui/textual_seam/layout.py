"""Cheaper layout of widgets, text in widgets without width, and the anchor at the end of a scroller."""

from __future__ import annotations

from typing import Any, Final

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.widget import Widget

from workbench.tui.textual_seam.memory import patch

WRAP: Final = "textual.content:Content._wrap_and_format"
"""The method that `allow_any_width` patches."""


def allow_any_width() -> None:
    """Allow text to be laid out in a widget without width, as in a terminal of one to four columns.

    Reason: Textual 8.2.8 divides a line by the width, and for a width of zero `range() arg 3 must not be zero` (in
    `Content` and in Rich's `chop_cells`) ends the app. `test_any_size` fails without this.
    Upstream: `Content._wrap_and_format`.
    Without it: nothing is patched, and a terminal of a few columns may end the app.
    """
    patch(WRAP, _wrap_at_least_one)


def _wrap_at_least_one(original: Any) -> Any:
    def _wrap_and_format(content: Any, width: int, *args: Any, **options: Any) -> Any:
        return original(content, max(1 + 2 * options.get("line_pad", 0), width), *args, **options)

    return _wrap_and_format


class SingleLayoutPass(Widget):
    """A widget whose change of size does not cause a second layout of the whole screen.

    Reason: Textual 8.2.8 assigns `virtual_size` from within a layout, which asks for another layout of the screen.
    Upstream: `Widget._size_updated`; `LowLatencyScreen` makes the second pass unnecessary in nested stream layouts.
    Without it: the override is not called, and each growing text is laid out twice.
    """

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        return super()._size_updated(size, virtual_size, container_size, layout=False)


class QuietScrollView(ScrollView):
    """A line-API widget whose scrollbar is painted only when its size or content size changes.

    Reason: Textual 8.2.8 repaints the scrollbar of a `ScrollView` with each layout of the screen.
    Upstream: `ScrollView._size_updated`.
    Without it: the override is not called, and the scrollbars are painted with each layout.
    """

    _last_sizes = (Size(), Size(), Size())

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        sizes = (size, container_size, self.virtual_size)
        if sizes == self._last_sizes:
            return False
        self._last_sizes = sizes
        return super()._size_updated(size, virtual_size, container_size, layout)


def anchor_when_scrollable(widget: Widget, *, is_scrollable: bool) -> None:
    """Anchor a scroller to its end if it has something to scroll; otherwise remove the anchor.

    Reason: `Widget.anchor` of Textual 8.2.8 pushes content that fits down to the end of the container, and the public
    methods scroll at once, which is wrong during a layout.
    Upstream: `Widget._anchored` and `Widget._anchor_released`.
    Without it: Textual does not read the attributes, and content that fits is placed at the bottom.
    """
    widget._anchored = is_scrollable
    if not is_scrollable:
        widget._anchor_released = False


def is_anchor_released(widget: Widget) -> bool:
    """Return whether the user has scrolled away from the anchored end.

    Reason: Textual 8.2.8 has `Widget.is_anchored`, but no public way to find out whether the anchor is released.
    Upstream: `Widget._anchor_released`.
    Without it: the result is False, and the end counts as followed.
    """
    return bool(getattr(widget, "_anchor_released", False))
