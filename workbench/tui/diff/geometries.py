"""The geometries of one diff view, kept for the widths it was shown in last. Used by DiffView."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from workbench.tui.diff.document import Document
from workbench.tui.diff.geometry import Geometry, Look
from workbench.tui.diff.rows import FoldId, LineId

_MOST = 4  # with and without a scroll bar, before and after the window got another size


class Geometries:
    """What was worked out once is kept until something else is shown."""

    def __init__(self) -> None:
        self._made: dict[Look, Geometry] = {}

    def at(
        self, look: Look, document: Document, opened: Collection[FoldId], comments: Mapping[LineId, str]
    ) -> Geometry:
        """The rows in one look."""
        if look not in self._made:
            while len(self._made) >= _MOST:
                self._made.pop(next(iter(self._made)))
            self._made[look] = Geometry(document, look, opened, comments)
        return self._made[look]

    def clear(self) -> None:
        """There is something else to show."""
        self._made.clear()
