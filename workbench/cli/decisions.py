"""`ohw decisions` lists who or what allowed and denied actions, in one or all sessions, and exports the list."""

from __future__ import annotations

import shutil
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from workbench.cli.common import chosen_session, print_error, print_line, settings_of
from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.files.output_file import save_lines
from workbench.session.storage.decision_log import all_decisions, session_decisions
from workbench.view.decisions import FORMATS, DecisionFilter, DecisionRow, exported, rows_of
from workbench.view.formatting.decisions import decision_text

_TERMS = ("by", "risk", "tool", "rule", "since")


def decisions(arguments: Namespace) -> int:
    """Print the decisions, the latest first, or write them to a file. Raises UsageError for an invalid request."""
    where, _ = settings_of(arguments)
    if arguments.all and arguments.id:
        raise UsageError("give an ID or --all, not both")
    problems: list[str] = []
    rows = _chosen(where, arguments, problems)
    form = arguments.form or _form_of(arguments.output)
    lines = exported(rows, form) if form else _listed(rows, is_all=arguments.all)
    if arguments.output and arguments.output != "-":
        save_lines(lines, Path(arguments.output))
    else:
        for line in lines:
            print_line(line)
    for problem in problems:
        print_error(f"not read: {problem}")
    return 0


def _chosen(where: Locations, arguments: Namespace, problems: list[str]) -> Iterator[DecisionRow]:
    if arguments.all:
        source = all_decisions(where)
    else:
        arguments.last = False
        source = session_decisions(where, chosen_session(where, arguments).id)
    terms = [(name, value) for name in _TERMS if (value := getattr(arguments, name))]
    filter_ = DecisionFilter(" ".join([arguments.verdict or "", arguments.words or ""]), terms)
    if filter_.problem:
        raise UsageError(filter_.problem)
    rows = (row for row in rows_of(source, problems) if filter_.fits(row))
    return rows if arguments.limit is None else islice(rows, arguments.limit)


def _form_of(output: str | None) -> str:
    """Return the export format that the file's extension selects; empty for text on standard output.

    Raises UsageError for an unknown extension.
    """
    if not output or output == "-":
        return ""
    suffix = Path(output).suffix.lower().removeprefix(".").replace("jsonl", "json")
    if suffix not in FORMATS:
        raise UsageError(f"{output} must end in .json, .csv or .md, or give --json, --csv or --md")
    return suffix


def _listed(rows: Iterable[DecisionRow], *, is_all: bool) -> Iterator[str]:
    is_empty = True
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in rows:
        is_empty = False
        yield decision_text(row, width, with_directory=is_all)
    if is_empty:
        yield "No decisions."
