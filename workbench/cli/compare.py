"""`ohw compare` shows what some sessions did and cost side by side, and where they differ."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from workbench.cli.common import print_line, settings_of
from workbench.view.comparison import Comparison, as_json, compare_sessions, difference_lines, rows


def compare(arguments: Namespace) -> int:
    """Compare sessions and print the result as a table, or as JSON."""
    locations, _ = settings_of(arguments, lenient=True)
    comparison = compare_sessions(locations, arguments.ids)
    if arguments.json:
        print_line(json.dumps(as_json(comparison), ensure_ascii=False))
    else:
        _print(comparison)
        for line in difference_lines(comparison):
            print_line(line)
    return 0


def _print(comparison: Comparison) -> None:
    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else 200, highlight=False, markup=False, soft_wrap=not is_terminal)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    for each in comparison.sessions:
        table.add_column(Text(each.entry.id), overflow="fold")
    for name, cells in rows(comparison):
        table.add_row(Text(name), *map(Text, cells))
    console.print(table)
