"""A list of lines that also grows at its top, when the person goes there; base of the timeline."""

from __future__ import annotations

from textual.geometry import Size

from workbench.tui.widgets.line_list import LineList


class UpwardList(LineList):
    """Subclasses bring older lines with `shift` when `top_reached` asks for them."""

    is_filtered = False
    _stays_first = False
    """The person went to the very first line: the cursor stays on what is the first one."""

    def top_reached(self, *, all_of_it: bool = False) -> None:
        """The lines before the first one are wanted, or all there are."""

    @property
    def can_lose_lines(self) -> bool:
        """Whether the lines at the beginning are not wanted: the end is followed, and all are shown."""
        return self._at_end and not self.is_filtered

    def shift(self, count: int) -> None:
        """So many lines were put before the first, or taken away: what is in sight stays, the cursor too."""
        at_end, stays = self._at_end, self._stays_first and self.cursor == 0
        self._strips.clear()
        self._count += count
        self.virtual_size = Size(self.size.width, self._count)
        if stays and count > 0:
            self.refresh()
            return
        self.cursor += count
        self.scroll_to(y=self.scroll_y + count, animate=False, force=True, immediate=True)
        self._at_end = at_end

    def action_first(self) -> None:
        """To the first line of all."""
        super().action_first()
        self._stays_first = True
        self.top_reached(all_of_it=True)

    def action_move(self, by: int) -> None:
        """Up from the first line there may be more."""
        self._stays_first = False
        if self.cursor + by < 0:
            self.top_reached()
        super().action_move(by)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolled to the top."""
        super().watch_scroll_y(old_value, new_value)
        if new_value <= 0 < old_value:
            self.top_reached()
