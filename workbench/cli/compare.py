"""`ohw compare` shows side by side what sessions did and cost, and where they differ."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from workbench.cli.common import print_error, print_line, settings_of
from workbench.errors import UsageError, WorkbenchError, exhaustion
from workbench.session.comparison.check import CheckResult
from workbench.text import visible
from workbench.view.comparison import Comparison, as_json, compare_sessions
from workbench.view.formatting.comparison import check_lines, difference_lines, rows


def compare(arguments: Namespace) -> int:
    """Compare sessions, and print the result as a table or as JSON.

    Returns 0, 1 if a check failed or could not be run, and 2 if the sessions cannot be compared.
    """
    try:
        return _compared(arguments)
    except WorkbenchError as error:
        print_error(visible(str(error), lines=False))
    except OSError as error:
        print_error(visible(exhaustion(error) or f"the sessions cannot be compared: {error}", lines=False))
    return 2


def _compared(arguments: Namespace) -> int:
    locations, _ = settings_of(arguments, lenient=True)
    if arguments.check is not None and not arguments.check.strip():
        raise UsageError("--check is empty; give a command")
    comparison = compare_sessions(locations, arguments.ids, arguments.check or "")
    if arguments.json:
        print_line(json.dumps(as_json(comparison), ensure_ascii=False))
    else:
        _print(comparison)
        for line in (*difference_lines(comparison), *check_lines(comparison)):
            print_line(line)
    checks = [each.check for each in comparison.sessions]
    return int(bool(arguments.check) and not all(isinstance(each, CheckResult) and each.passed for each in checks))


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
