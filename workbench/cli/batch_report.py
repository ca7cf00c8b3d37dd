"""`ohw batch report` and `ohw batch diff` show what came of a run, and how two runs differ, in several formats."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from workbench.batch.comparison_document import document_of_comparison
from workbench.batch.csv_report import csv_of_attempts, csv_of_changes
from workbench.batch.document import ReportDocument
from workbench.batch.html_report import html_of
from workbench.batch.markdown_report import markdown_of
from workbench.batch.report import report_of
from workbench.batch.report_document import document_of
from workbench.batch.results import read_outcomes
from workbench.batch.run_comparison import ComparedRun, compare_runs
from workbench.batch.run_directory import RunDirectory
from workbench.batch.text_report import print_document
from workbench.cli.common import print_line
from workbench.errors import UsageError
from workbench.files.output_file import save_lines

_FORMS: Final = {"md": "markdown", "markdown": "markdown", "html": "html", "htm": "html", "csv": "csv", "json": "json"}
_PLAIN_WIDTH: Final = 200
"""The width of tables without a terminal, so that few cells are broken."""


def report(arguments: Namespace) -> int:
    """Report on a run, which may not have ended yet. Raises UsageError if there is none."""
    directory = _run(arguments.run)
    outcomes = read_outcomes(directory.results)
    numbers = report_of(directory.path.name, directory.options(), directory.tasks(), outcomes)
    _write(arguments, numbers, document_of(numbers), lambda: csv_of_attempts(outcomes))
    return 0


def diff(arguments: Namespace) -> int:
    """Compare two runs. Raises UsageError if one of them does not exist."""
    before, now = (_run(path) for path in (arguments.before, arguments.now))
    names = [before.path.name, now.path.name]
    if names[0] == names[1]:
        names = [arguments.before, arguments.now]
    numbers = compare_runs(_compared(names[0], before), _compared(names[1], now))
    _write(arguments, numbers, document_of_comparison(numbers), lambda: csv_of_changes(numbers.changes))
    return 0


def _run(path: str) -> RunDirectory:
    directory = RunDirectory(Path(path))
    directory.check()
    return directory


def _compared(name: str, directory: RunDirectory) -> ComparedRun:
    return ComparedRun(name, read_outcomes(directory.results), directory.tasks())


def _write(
    arguments: Namespace, numbers: msgspec.Struct, document: ReportDocument, csv: Callable[[], Iterable[str]]
) -> None:
    """Write to the file or standard output, in the chosen format. Raises UsageError for an unknown extension."""
    output = arguments.output if arguments.output != "-" else None
    form = arguments.form or _form_of(output)
    if not form:
        is_terminal = sys.stdout.isatty()
        print_document(document, Console(width=None if is_terminal else _PLAIN_WIDTH, highlight=False, markup=False))
        return
    writers: dict[str, Callable[[], Iterable[str]]] = {
        "markdown": lambda: markdown_of(document),
        "html": lambda: html_of(document),
        "csv": csv,
        "json": lambda: [json.dumps(msgspec.to_builtins(numbers))],
    }
    lines = writers[form]()
    if output:
        save_lines(lines, Path(output))
        return
    for line in lines:
        print_line(line)


def _form_of(output: str | None) -> str:
    """Return the format that the file's extension selects; empty for a table on standard output."""
    if not output:
        return ""
    suffix = Path(output).suffix.lower().removeprefix(".")
    if suffix not in _FORMS:
        raise UsageError(f"{output} must end in .md, .html, .csv or .json, or give --markdown, --html, --csv or --json")
    return _FORMS[suffix]
