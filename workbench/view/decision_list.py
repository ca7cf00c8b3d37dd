"""The decisions of this session or of all, read in a thread and filtered; for the Decisions screen."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.files.output_file import save_lines
from workbench.session.session_names import session_path
from workbench.session.storage.decision_log import all_decisions, session_decisions
from workbench.text import visible
from workbench.view.batches import in_batches
from workbench.view.decisions import DecisionFilter, DecisionRow, details_of, exported, rows_of

MOST_ROWS: Final = 20_000
"""The most decisions in memory; `ohw decisions --all` has all of them."""


class DecisionList:
    """The rows read so far, and those of them that fit the filter; `session` is the id of the open session, if any."""

    def __init__(self, locations: Locations, session: str, of_session: Locations | None = None) -> None:
        """`of_session` is where the open session is, by default in `locations`, as all others are."""
        self._locations = locations
        self._of_session = of_session or locations
        self._session = session
        self._read: list[DecisionRow] = []
        self._number = 0
        """Counts the readings, so that the thread of an earlier one stops."""
        self.filter = DecisionFilter()
        self.rows: list[DecisionRow] = []
        self.is_all = not session
        self.is_reading = False
        self.problems: list[str] = []

    @property
    def count(self) -> int:
        """The number of rows read so far."""
        return len(self._read)

    @property
    def has_session(self) -> bool:
        """Whether there is an open session to list alone."""
        return bool(self._session)

    def begin(self, *, is_all: bool) -> int:
        """Forget the rows and stop a reading in progress; return the number of the new one."""
        self.is_all, self.is_reading, self._read, self.rows, self.problems = is_all, True, [], [], []
        self._number += 1
        return self._number

    def close(self) -> None:
        """Stop reading."""
        self._number += 1

    def read(self, number: int, on_batch: Callable[[list[DecisionRow]], None]) -> list[str]:
        """Read the decisions in a thread; return a line about each session that could not be read."""
        problems: list[str] = []
        if self.is_all:
            source = all_decisions(self._locations, lambda: number != self._number)
        elif session_path(self._of_session, self._session).exists():
            source = session_decisions(self._of_session, self._session)
        else:
            return problems
        in_batches(islice(rows_of(source, problems), MOST_ROWS), on_batch, lambda: number != self._number)
        return problems

    def add(self, number: int, rows: Sequence[DecisionRow]) -> bool:
        """Add rows that a thread has read; return False, and add none, if they belong to an earlier reading."""
        if number != self._number:
            return False
        self._read += rows
        self.rows += filter(self.filter.fits, rows)
        return True

    def end(self, number: int, problems: list[str]) -> bool:
        """Note that a reading has ended; return False if it is an earlier one."""
        if number != self._number:
            return False
        self.is_reading, self.problems = False, problems
        return True

    def set_filter(self, text: str) -> None:
        """Show only the rows that match."""
        self.filter = DecisionFilter(text)
        self.rows = list(filter(self.filter.fits, self._read))

    def export(self, file: Path) -> str:
        """Write the rows that are shown to a file, in the format of its suffix; return a message for the user.

        Raises UsageError.
        """
        form = file.suffix.lower().removeprefix(".").replace("jsonl", "json")
        if not form:
            raise UsageError(f"{file.name} needs an end that selects the format: .json, .csv or .md")
        rows = list(self.rows)
        save_lines(exported(rows, form), file)
        return f"Exported {len(rows):,} to {file}"


def page_of(row: DecisionRow) -> str:
    """Return everything recorded about a decision, as text that is safe to show."""
    one = row.decision
    lines = [details_of(row).replace(" · ", "\n"), f"decided {one.at.astimezone():%Y-%m-%d %H:%M:%S}"]
    lines += [f"in {one.working_dir or one.workspace}", *(f"reason: {reason}" for reason in one.reasons)]
    lines += ["", f"{one.tool} {json.dumps(one.arguments, ensure_ascii=False, indent=2)}"]
    return visible("\n".join(lines))
