"""What stands out in a diff beside the changes themselves: the cursor's line and the places a search found."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.tui.diff.rows import LineId


@dataclass(frozen=True)
class Marks:
    """Kept by a view and read by its painter."""

    cursor: int = -1
    """The row the person stands on, -1 for none."""
    found: Mapping[LineId, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """Where in a line a search matches."""
    here: tuple[LineId, int] | None = None
    """The match the person stands on: its line and where it begins."""
    left_out: Collection[int] = ()
    """Hunks that are not taken: what they would remove stays, what they would add does not come."""


def line_of(row_file: int, old: int, new: int) -> LineId | None:
    """The line a row stands for: its new one, or the old one of a row that has no other."""
    if new >= 0:
        return row_file, "new", new
    return (row_file, "old", old) if old >= 0 else None
