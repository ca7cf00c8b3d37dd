"""The report of a run that is watched, as `ohw batch report` prints it."""

from __future__ import annotations

from textual.content import Content

from workbench.batch.report import report_of
from workbench.batch.report_document import document_of
from workbench.batch.results import read_outcomes
from workbench.batch.run_directory import RunDirectory
from workbench.batch.text_report import text_of
from workbench.text import visible
from workbench.tui.screens.pager import PagerScreen

_MARGIN = 4


def report_page(run: RunDirectory, width: int) -> PagerScreen:
    """Return a page with the report of a run on a screen of this width. Raises WorkbenchError if it cannot be read."""
    numbers = report_of(run.path.name, run.options(), run.tasks(), read_outcomes(run.results))
    title = Content.assemble(("Report", "bold"), f" · {visible(run.path.name, lines=False)}")
    return PagerScreen(title, text_of(document_of(numbers), max(40, width - _MARGIN)))
