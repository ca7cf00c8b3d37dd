"""Prints a document on a terminal of any width, as tables or, where one does not fit, as a block for each row."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Final

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from workbench.batch.document import MOST_ROWS, ReportDocument, ReportSection, TableColumn
from workbench.text import visible

_LEAST: Final = 16
"""The least width at which a column of names is broken; a narrower table would be hard to read."""
_GAP: Final = 2


def print_document(document: ReportDocument, console: Console) -> None:
    """Print a document on the console, whose width it fits; without colors, and without charts."""
    for part in _parts(document, console):
        console.print(part)


def text_of(document: ReportDocument, width: int) -> str:
    """Return a document as plain text of this width."""
    with io.StringIO() as text:
        print_document(document, Console(file=text, width=width, highlight=False, markup=False, color_system=None))
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _parts(document: ReportDocument, console: Console) -> Iterator[RenderableType]:
    yield Text(_line(document.title), "bold")
    yield from (Text(_line(sentence)) for sentence in document.summary)
    for section in document.sections:
        if not section.rows and not section.notes:
            continue
        yield Text(f"\n{_line(section.title)}", "bold")
        if section.rows:
            yield from _rows(section, console)
        yield from (Text(_line(note), "dim") for note in section.notes)


def _rows(section: ReportSection, console: Console) -> Iterator[RenderableType]:
    rows = [[_line(cell) for cell in row] for row in section.rows[:MOST_ROWS]]
    widths = [_least_width(column, [row[i] for row in rows]) for i, column in enumerate(section.columns)]
    if sum(widths) + _GAP * (len(widths) - 1) <= console.width:
        yield _table(section.columns, widths, rows)
    else:
        yield from (Text(line) for row in rows for line in _block(section.columns, row))
    if len(section.rows) > len(rows):
        yield Text(f"… and {len(section.rows) - len(rows):,} more; --html and --json have all")


def _least_width(column: TableColumn, cells: Sequence[str]) -> int:
    longest = max(cell_len(text) for text in (column.title, *cells))
    return longest if column.kind == "number" else min(longest, _LEAST)


def _table(columns: Sequence[TableColumn], widths: Sequence[int], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table in which a name is printed once if it is that of the row above too."""
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for column, width in zip(columns, widths, strict=True):
        is_number = column.kind == "number"
        table.add_column(
            Text(column.title),
            justify="right" if is_number else "left",
            no_wrap=is_number,
            overflow="fold",
            min_width=width,
        )
    above = ""
    for first, *others in rows:
        table.add_row(*map(Text, ("" if first == above else first, *others)))
        above = first
    return table


def _block(columns: Sequence[TableColumn], row: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a row that is too wide for a table, with its first cell as the heading."""
    yield row[0]
    yield from (f"  {column.title}: {cell}" for column, cell in zip(columns[1:], row[1:], strict=True) if cell)


def _line(text: str) -> str:
    return visible(text, lines=False)
