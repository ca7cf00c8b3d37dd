"""Bases of what is on the screen while something grows: each layout of it costs what changed, and is the last one."""

from __future__ import annotations

from textual import messages
from textual.geometry import Size
from textual.layouts.stream import StreamLayout
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.widget import Widget


class SingleLayoutPass(Widget):
    """Textual would lay out the whole screen once more, as what the widget holds has another size now too."""

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        return super()._size_updated(size, virtual_size, container_size, layout=False)


class LaidOutScreen(Screen[None]):
    """The screen around them; it tells the stream layout of each container what changed anywhere within.

    Textual tells it to the innermost two containers only. The outer ones then keep the height from before whenever
    something beside it changed at the same time, and `LaidOut` leaves out the second layout that would have cured it.
    """

    async def _on_layout(self, message: messages.Layout) -> None:
        message.stop()
        message.prevent_default()
        widget = message.widget
        if isinstance(widget.layout, StreamLayout):
            widget.layout._cached_placements = None  # others stand in it now: none is where it was
        for ancestor in message.widget.ancestors:
            if not isinstance(ancestor, Widget):
                break
            self._layout_widgets.setdefault(ancestor, set()).add(widget)
            if not ancestor.styles.auto_dimensions:
                break
            widget = ancestor
        self._layout_required = True
        self.check_idle()


class QuietScrollView(ScrollView):
    """Textual would have its scrollbar painted with each layout of the screen, also where nothing of it changed."""

    _laid_out = (Size(), Size(), Size())

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        now = (size, container_size, self.virtual_size)
        if now == self._laid_out:
            return False
        self._laid_out = now
        return super()._size_updated(size, virtual_size, container_size, layout)
