"""Writes a document as Markdown with tables, as GitHub and others render it; nothing in it becomes markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from workbench.batch.document import MOST_ROWS, ReportDocument, ReportSection, TableColumn
from workbench.lazy_pattern import lazy_pattern
from workbench.text import visible

_MARKUP: Final = lazy_pattern(r"[\\`*_\[\]<>&|~#@!$]")


def markdown_of(document: ReportDocument) -> Iterator[str]:
    """Yield the lines of a document."""
    yield f"# {_escaped(document.title)}"
    yield ""
    yield " ".join(map(_escaped, document.summary))
    for section in document.sections:
        if not section.rows and not section.notes:
            continue
        yield from ("", f"## {_escaped(section.title)}", "")
        if section.rows:
            yield from _table(section)
        yield from (f"- {_escaped(note)}" for note in section.notes)


def _table(section: ReportSection) -> Iterator[str]:
    columns = section.columns
    yield _row([_escaped(column.title) for column in columns])
    yield _row(["---:" if column.kind == "number" else ":---" for column in columns])
    rows = section.rows[:MOST_ROWS]
    yield from (_row([_cell(column, cell) for column, cell in zip(columns, row, strict=True)]) for row in rows)
    yield ""
    if len(section.rows) > len(rows):
        yield from (f"… and {len(section.rows) - len(rows):,} more.", "")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(column: TableColumn, text: str) -> str:
    """Return a cell; a name is code, in which nothing is markup but the end of the code and of the cell."""
    if column.kind != "name" or not text.strip():
        return _escaped(text)
    return f"`{visible(text, lines=False).replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def _escaped(text: str) -> str:
    """Return text on one line in which nothing is markup."""
    return _MARKUP.sub(r"\\\g<0>", visible(text, lines=False))
