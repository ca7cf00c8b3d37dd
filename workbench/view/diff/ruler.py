"""The ruler beside a diff: which part of the lines each cell represents, and the hunks in that part."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from workbench.view.diff.geometry import Geometry
from workbench.view.diff.rows import RowKind

_REMOVED: Final = 1
_ADDED: Final = 2
_UNREVIEWED: Final = 4
"""Set if a hunk belongs to a file that is not reviewed yet."""
_CHARACTERS: Final = {0: " ", _REMOVED: "−", _ADDED: "+", _REMOVED | _ADDED: "±"}
_KINDS: Final[dict[RowKind, int]] = {
    "removed": _REMOVED,
    "added": _ADDED,
    "changed": _REMOVED | _ADDED,
    "skipped": _REMOVED | _ADDED,
}


class RulerCell(NamedTuple):
    """One cell: the sign of the changes in its lines (a space if there are none), and whether all are reviewed."""

    sign: str
    is_reviewed: bool


class Ruler:
    """A column of `height` cells for all lines of a geometry; lines that fit into it take one cell each."""

    def __init__(self, geometry: Geometry, height: int, reviewed: Collection[int] = ()) -> None:
        """`reviewed` holds the files, from 0, whose hunks are dim."""
        self._geometry = geometry
        self._lines = max(geometry.height, height, 1)
        self._height = max(1, height)
        self.cells = [
            RulerCell(_CHARACTERS[bits & (_REMOVED | _ADDED)], bool(bits) and not bits & _UNREVIEWED)
            for bits in self._bits(reviewed)
        ]

    def _bits(self, reviewed: Collection[int]) -> list[int]:
        bits = [0] * self._height
        geometry = self._geometry
        for start, head, count in geometry.rows.runs():
            if head.hunk < 0 or head.kind not in _KINDS:
                continue
            kind = _REMOVED if head.new < 0 else _ADDED if head.old < 0 else _KINDS[head.kind]
            kind |= 0 if head.file in reviewed else _UNREVIEWED
            last = self.cell_of(geometry.bottom_of(start + count - 1))
            for cell in range(self.cell_of(geometry.top_of(start)), last + 1):
                bits[cell] |= kind
        return bits

    def cell_of(self, line: int) -> int:
        """Return the cell that represents a screen line of the diff."""
        return min(self._height - 1, line * self._height // self._lines)

    def visible_cells(self, top: int, height: int) -> range:
        """Return the cells that represent the `height` screen lines from `top` on."""
        return range(self.cell_of(top), self.cell_of(min(self._lines, top + max(1, height)) - 1) + 1)

    def row_at(self, cell: int) -> int:
        """Return the row to go to from a cell: the first hunk's row that begins in it, or the row of its first line.

        -1 if the cell is below the last line.
        """
        geometry = self._geometry
        first, after = (-(-each * self._lines // self._height) for each in (cell, cell + 1))
        if first >= geometry.height:
            return -1
        row = geometry.at(first)[0]
        hunk = geometry.hunk_from(row)
        if hunk < geometry.hunk_count and geometry.top_of(geometry.hunk_row(hunk)) < max(after, first + 1):
            return geometry.hunk_row(hunk)
        return row
