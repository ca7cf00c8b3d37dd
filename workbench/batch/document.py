"""A report as all formats for readers print it: sections with tables of strings, notes and charts.

Strings may come from outside: whoever writes a document to a terminal or a file makes them safe there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

MOST_ROWS: Final = 20
"""The most rows of a long table in a format that does not scroll."""
ColumnKind: TypeAlias = Literal["name", "number", "text"]
"""Names and text are aligned to the left and may be broken; names come from outside."""


class TableColumn(msgspec.Struct, frozen=True):
    """A column of a table."""

    title: str
    kind: ColumnKind = "number"


class IntervalBar(msgspec.Struct, frozen=True):
    """A share from 0 to 1 with its interval."""

    label: str
    value: float
    low: float
    high: float


class IntervalChart(msgspec.Struct, frozen=True):
    """Shares with their intervals, one below the other."""

    bars: Sequence[IntervalBar]


class ShareChart(msgspec.Struct, frozen=True):
    """Numbers of the same things in several states, as one divided bar for each label."""

    bars: Sequence[tuple[str, Sequence[tuple[str, int]]]]
    """Labels with states and their numbers."""


class ScatterChart(msgspec.Struct, frozen=True):
    """Points of a cost in US dollars and a share from 0 to 1."""

    points: Sequence[tuple[str, float, float]]
    x_title: str
    y_title: str


class GridChart(msgspec.Struct, frozen=True):
    """A share from 0 to 1 for each row and column, None for cells without one."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float | None]]]


Chart: TypeAlias = IntervalChart | ShareChart | ScatterChart | GridChart


class ReportSection(msgspec.Struct, frozen=True):
    """A part of a document; a section with a chart alone is only in formats with pictures."""

    title: str
    columns: Sequence[TableColumn] = ()
    rows: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()
    chart: Chart | None = None


class ReportDocument(msgspec.Struct, frozen=True):
    """A report for readers."""

    title: str
    summary: Sequence[str]
    """Sentences below the title."""
    sections: Sequence[ReportSection]
