"""Writes what the person made of a change, in the place of the tool that proposed it, with the editor's own care.

What is kept of a session's files (what the agent was shown, what can be undone) is kept as if the editor had written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from workbench.protocol.events import ActionDecided
from workbench.session.acting.part_told import told
from workbench.session.acting.partly import FilePart, parts_of
from workbench.session.acting.running import Readied
from workbench.text import well_formed
from workbench.tools.schema import Observation
from workbench.tools.str_replace_editor.files import Files, Plan
from workbench.tools.str_replace_editor.text_file import EditorError, why_unusable


class CannotWrite(Exception):
    """A file cannot hold what it shall, or not what was shown; one line. Nothing was written."""


class Writing:
    """Writes for one session; shares the folder in which the editor keeps what it knows."""

    def __init__(self, state_dir: Path | None, workspace: str = "/") -> None:
        self.state_dir = state_dir
        """Where the session keeps files, if it does."""
        self._files = Files(workspace, state_dir, merges=True)

    def check(self, parts: Sequence[FilePart]) -> None:
        """Raise CannotWrite when the files could not be written as the person wants them."""
        self._plans(parts)

    def in_part(self, readied: Readied, decided: ActionDecided) -> Readied:
        """What runs when the person took a part: not the tool, but the writing of what they chose."""
        parts = parts_of(readied.files, decided)
        files = tuple(part.delta for part in parts)
        return replace(readied, files=files, instead=partial(self.carry_out, parts, decided.note))

    def carry_out(self, parts: Sequence[FilePart], note: str) -> Observation:
        """Write all files or none; what the model is told of it."""
        try:
            self._write(self._plans(parts))
        except CannotWrite as error:
            return Observation.from_text(well_formed(f"Nothing was written. {error}"), is_error=True)
        return Observation.from_text(well_formed(told(parts, note)))

    def _plans(self, parts: Sequence[FilePart]) -> list[Plan]:
        """What is to be done, deletions last; raises CannotWrite."""
        plans = []
        for part in parts:
            try:
                plans.append(self._files.holding(Path(part.path), part.before, part.text))
            except EditorError as error:
                raise CannotWrite(str(error)) from error
            except (OSError, ValueError) as error:
                raise CannotWrite(why_unusable(part.path, error)) from error
        changed = [plan for plan in plans if plan.raw_before != plan.raw_after]
        return sorted(changed, key=lambda plan: plan.raw_after is None)

    def _write(self, plans: Sequence[Plan]) -> None:
        done: list[Plan] = []
        for plan in plans:
            try:
                self._files.write(plan)
            except (OSError, EditorError) as error:
                lost = [str(path) for path in self._files.revert(done)]
                said = why_unusable(str(plan.path), error) if isinstance(error, OSError) else str(error)
                raise CannotWrite(f"{said} Not put back: {', '.join(lost)}" if lost else said) from error
            done.append(plan)
