"""A list of rows in groups; each group has a heading, which the cursor skips."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence

from workbench.tui.widgets.line_list import LineList
from workbench.view.wrapping import Line


class GroupedList(LineList):
    """Rows below headings; a subclass paints row `index` in `row_line` and acts on it in `choose_row`."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._slots: list[int | Line] = []
        """The content of each line: the index of a row, or a heading."""

    @property
    def row_index(self) -> int:
        """The index of the row under the cursor; -1 if there are no rows."""
        slot = self._slots[self.cursor] if self.cursor < len(self._slots) else -1
        return slot if isinstance(slot, int) else -1

    def set_rows(self, groups: Sequence[Hashable], heading: Callable[[int], Line], at: int = 0) -> None:
        """Show as many rows as `groups` has, with the cursor on row `at`.

        Above the first row of each group is the `heading` of that row, except for the group None.
        """
        self._slots = []
        for index, group in enumerate(groups):
            is_first = group is not None and (index == 0 or groups[index - 1] != group)
            self._slots += [heading(index), index] if is_first else [index]
        self.set_count(len(self._slots) or 1)
        if at in self._slots:
            self.move_to(self._slots.index(at))
        self.forget()

    @abstractmethod
    def row_line(self, index: int, width: int) -> Line:
        """Return row `index` or, if there are no rows, the line that says so."""

    def choose_row(self, index: int) -> None:
        """Act on Enter or a click on row `index`."""

    def line(self, index: int, width: int) -> Line:
        """Return a row or a heading."""
        slot = self._slots[index] if index < len(self._slots) else -1
        return self.row_line(slot, width) if isinstance(slot, int) else slot

    def choose(self, index: int) -> None:
        """Act on a row; headings have no effect."""
        slot = self._slots[index] if index < len(self._slots) else -1
        if isinstance(slot, int) and slot >= 0:
            self.choose_row(slot)

    def move_to(self, index: int) -> None:
        """Put the cursor on the row at a line or, if a heading is there, on the next row in the same direction."""
        index = max(0, min(len(self._slots) - 1, index))
        up, down = range(index, -1, -1), range(index, len(self._slots))
        lines = [*up, *down] if index < self.cursor else [*down, *up]
        super().move_to(next((line for line in lines if isinstance(self._slots[line], int)), index))
        is_first = self.cursor > 0 and not isinstance(self._slots[self.cursor - 1], int)
        if is_first and self.scroll_offset.y >= self.cursor:
            self.scroll_to(y=self.cursor - 1, animate=False, force=True)
