"""The dry run of a rule as a widget: reads the decisions of all sessions in a thread while the rule is being chosen."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from textual import on
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from workbench.client.threads import in_daemon
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.rules.rule import Rule
from workbench.text import visible
from workbench.tui.widgets.strips import with_risk_color
from workbench.view.approval.rule_dry_run import DryRunReport, report_lines, try_on_all

_LOW: Final = 30
"""Rows of a terminal below which fewer examples are shown."""


class RuleDryRun(Static):
    """Shows the report on one rule, which grows while the sessions are read; hidden if there is none."""

    class Reported(Message):
        """Posted when the thread has read more decisions."""

        def __init__(self, number: int, report: DryRunReport, problem: str = "") -> None:
            super().__init__()
            self.number, self.report, self.problem = number, report, problem

    def __init__(self, locations: Locations, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._locations = locations
        self._number = 0
        """Counts the dry runs, so that the thread of an earlier one stops."""
        self.display = False

    def begin(self, *rules: Rule) -> None:
        """Start a dry run of rules that apply together, and stop an earlier one."""
        self.end()
        self.run_worker(in_daemon(partial(self._try, rules, self._number)))

    def end(self) -> None:
        """Stop the dry run and hide its report."""
        self._number += 1
        self.display = False

    def on_unmount(self) -> None:
        """Stop the thread."""
        self._number += 1

    def _try(self, rules: tuple[Rule, ...], number: int) -> None:
        """Read the sessions and post reports; called in a thread."""

        def post(report: DryRunReport, problem: str = "") -> None:
            if self.is_running and number == self._number:
                copy = replace(report, counts=report.counts.copy(), changed=report.changed[:_LOW])
                self.post_message(self.Reported(number, copy, problem))

        try:
            post(try_on_all(rules, self._locations, post, lambda: number != self._number))
        except WorkbenchError as error:
            post(DryRunReport(rules), str(error))

    @on(Reported)
    def on_reported(self, event: Reported) -> None:
        """Show the report, unless there is no session at all."""
        if event.number != self._number:
            return
        lines = report_lines(event.report, 2 if self.app.size.height < _LOW else 4)
        self.display = bool(event.problem or event.report.sessions)
        self.update(Content("\n").join(map(_styled, [event.problem] if event.problem else lines)))


def _styled(line: str) -> Content:
    style = "$warning" if line.startswith("!") else "$dim" if line.startswith(" ") else ""
    return with_risk_color(visible(line, lines=False)).stylize_before(style)
