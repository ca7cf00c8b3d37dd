"""Two small parts of a question: the list of what waits, and the line about the hunks. Used by QuestionBox."""

from __future__ import annotations

from collections.abc import Sequence

from textual.widgets import Static

from workbench.tui.widgets.painting import as_content, say
from workbench.view.approval.proposal import Proposal
from workbench.view.formatting.approval import batch_lines
from workbench.view.formatting.cards import hunk_line
from workbench.view.state import ActionItem


class BatchList(Static):
    """The actions that wait, the one that is asked about marked; nothing when it waits alone."""

    def __init__(self, waiting: Sequence[ActionItem], at: int) -> None:
        super().__init__(id="batch")
        self.show_waiting(waiting, at)

    def show_waiting(self, waiting: Sequence[ActionItem], at: int) -> None:
        """These wait now; to be laid out after it."""
        self._waiting = tuple(waiting)
        self._at = at
        self.display = len(self._waiting) > 1

    def say(self, width: int) -> int:
        """Lay out for a width; how many rows it takes, the gap below it too."""
        if not self.display:
            return 0
        lines = batch_lines(self._waiting, self._at, width)
        say(self, as_content(lines))
        return len(lines) + 1


class HunkLine(Static):
    """Which hunks are taken; nothing for a single one that is as it was proposed."""

    def __init__(self, proposal: Proposal) -> None:
        super().__init__(id="hunks")
        self._proposal = proposal
        self.display = False

    def say(self, current: int) -> int:
        """Say how it stands now; how many rows that takes."""
        self.display = self._proposal.count > 1 or bool(self._proposal.count and self._proposal.is_changed)
        if self.display:
            say(self, as_content([hunk_line(self._proposal, current)]))
        return int(self.display)
