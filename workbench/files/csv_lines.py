"""Lines of CSV files that are safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Final

from workbench.text import visible

_FORMULA: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The starts of texts that a spreadsheet evaluates; the last ones are the same signs in full width."""


def csv_line(cells: Iterable[object]) -> str:
    """Return cells as one line without its end; None is an empty cell, and text cannot become a formula."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(map(_cell, cells))
    return line.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = visible(value, lines=False)
    return f"'{text}" if text.startswith(_FORMULA) else text
