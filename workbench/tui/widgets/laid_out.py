"""Bases of what is on the screen while something grows: each layout of it costs what changed, and is the last one."""

from __future__ import annotations

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.widget import Widget


class LaidOut(Widget):
    """Textual would lay out the whole screen once more, as what the widget holds has another size now too."""

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        return super()._size_updated(size, virtual_size, container_size, layout=False)


class StillScroll(ScrollView):
    """Textual would have its scrollbar painted with each layout of the screen, also where nothing of it changed."""

    _laid_out = (Size(), Size(), Size())

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        now = (size, container_size, self.virtual_size)
        if now == self._laid_out:
            return False
        self._laid_out = now
        return super()._size_updated(size, virtual_size, container_size, layout)
