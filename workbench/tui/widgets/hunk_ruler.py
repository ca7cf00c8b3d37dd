"""The ruler at the right edge of a diff: the hunks of all files, and what is in view. Replaces the scrollbar."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.tui.widgets.diff_files import DiffFiles
from workbench.tui.widgets.strips import style_of
from workbench.view.diff.geometry import Geometry
from workbench.view.diff.ruler import Ruler

_LOOKS: Final = {
    " ": "",
    "+": "bold $sign-ok",
    "−": "bold $sign-failed",
    "±": "bold $primary",
    "reviewed": "$dim",
    "in view": "on $scrollbar",
}


class HunkRuler(Widget, can_focus=False):
    """One column with the signs of the hunks, painted from a ruler that is computed only for a new layout."""

    def __init__(self, view: AnnotatedDiff, files: DiffFiles) -> None:
        super().__init__(id="viewer-ruler")
        self._view = view
        self._files = files
        view.ruler = self
        self._reviewed: frozenset[int] = frozenset()
        self._cache: tuple[Geometry, int, Ruler] | None = None
        self._styles: dict[str, Style] = {}

    def on_mount(self) -> None:
        """Follow the scrolling of the diff."""
        self.watch(self._view, "scroll_y", self._repaint, init=False)

    def _repaint(self) -> None:
        self.refresh()

    def show(self, reviewed: Collection[int]) -> None:
        """Paint the diff's hunks again, those of `reviewed` files (from 0) dim."""
        self._reviewed, self._cache = frozenset(reviewed), None
        self.refresh()

    @property
    def _ruler(self) -> Ruler:
        geometry, height = self._view.geometry, self.size.height
        if self._cache is None or self._cache[0] is not geometry or self._cache[1] != height:
            self._cache = geometry, height, Ruler(geometry, height, self._reviewed)
        return self._cache[2]

    def notify_style_update(self) -> None:
        """Repaint with the new theme's styles."""
        super().notify_style_update()
        self._styles.clear()

    def _style(self, name: str) -> Style:
        if name not in self._styles:
            self._styles[name] = style_of(self.app, _LOOKS[name])
        return self._styles[name]

    def render_line(self, y: int) -> Strip:
        """Paint cell `y`."""
        ruler, view = self._ruler, self._view
        cell = ruler.cells[y]
        style = self.rich_style + self._style("reviewed" if cell.is_reviewed else cell.sign)
        is_cut = view.virtual_size.height > view.size.height
        if is_cut and y in ruler.visible_cells(int(view.scroll_offset.y), view.size.height):
            style += self._style("in view")
        return Strip([Segment(cell.sign, style)]).adjust_cell_length(self.size.width, style)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Go to the hunk under the mouse, and follow the mouse until its button is released."""
        self.capture_mouse()
        self._jump(event.y)
        event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse while its button is held."""
        if self.app.mouse_captured is self:
            self._jump(event.y)

    def on_mouse_up(self) -> None:
        """Stop following the mouse."""
        self.release_mouse()

    def _jump(self, y: int) -> None:
        row = self._ruler.row_at(min(max(0, y), self.size.height - 1))
        if row >= 0:
            self._files.jump_to(row)
