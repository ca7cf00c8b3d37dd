"""The list of files beside a diff: sign, path, counts. A line-API widget of the diff viewer."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from workbench.tui.widgets.strips import css_beside
from workbench.view.formatting.actions import REMOVED_CELLS
from workbench.view.wrapping import clip, pad


class FileRow(NamedTuple):
    """One file: A, M or D, its path as shown (safe), lines added and removed (-1 if unknown), who changed it, and
    whether the user has reviewed it.
    """

    sign: str
    path: str
    added: int
    removed: int
    owner: str = " "
    is_reviewed: bool = False


class FileList(ScrollView, can_focus=False):
    """One row for each file; the selected one is highlighted with a mark and a color."""

    DEFAULT_CSS = css_beside(__file__)
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"file--{part}" for part in ("chosen", "sign", "added", "removed", "reviewed")
    }

    class Chosen(Message):
        """Posted when a file was clicked; `index` counts from 0."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, row: Callable[[int], FileRow]) -> None:
        """`row` returns the row of a file by its index; it is called only for the rows being painted."""
        super().__init__()
        self._row = row
        self._count = 0
        self._chosen = 0
        self._removed_cells = REMOVED_CELLS

    def show(self, count: int) -> None:
        """Show this many files, and read their rows again; one file needs no list."""
        self.display = count > 1
        self._count, self._removed_cells = count, REMOVED_CELLS
        self.virtual_size = Size(1, count)
        self.refresh(layout=True)

    def choose(self, index: int) -> None:
        """Mark a file and bring it into view."""
        self._chosen = index
        self.scroll_to_region(Region(0, index, 1, 1), animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint screen line `y`."""
        index = y + int(self.scroll_offset.y)
        width = self.scrollable_content_region.width
        if index >= self._count:
            return Strip.blank(self.size.width, self.rich_style)
        row = self._row(index)
        base = self.rich_style
        if index == self._chosen:
            base += self.get_component_rich_style("file--chosen", partial=True)
        added = f" +{row.added}" if row.added > 0 or not row.removed else ""
        removed = f" {self._removed(row)} "
        space = max(4, width - 5 - len(added) - len(removed))
        path = row.path if len(row.path) <= space else "…" + row.path[-(space - 1) :]
        sign = self.get_component_rich_style("file--sign", partial=True)
        done = self.get_component_rich_style("file--reviewed", partial=True) if row.is_reviewed else Style()
        segments = [
            Segment("▌" if index == self._chosen else " ", base + sign),
            Segment(f"{row.sign}{row.owner}", base + sign),
            Segment(pad(clip(path, space), space + 1), base + done),
            Segment(added, base + self.get_component_rich_style("file--added", partial=True)),
            Segment(removed, base + self.get_component_rich_style("file--removed", partial=True)),
            Segment("✓" if row.is_reviewed else " ", base + sign),
        ]
        return Strip(segments).adjust_cell_length(self.size.width, base)

    def _removed(self, row: FileRow) -> str:
        """Return the count of removed lines, as wide as the widest one painted so far: counting all would be slow."""
        text = f"−{row.removed}" if row.removed > 0 else ""
        if len(text) > self._removed_cells:
            self._removed_cells = len(text)
            self.refresh()
        return text.rjust(self._removed_cells)

    def on_click(self, event: events.Click) -> None:
        """Choose the file under the mouse."""
        index = event.y + int(self.scroll_offset.y)
        if index < self._count:
            self.post_message(self.Chosen(index))
