"""What somebody else made of a file since the agent saw it, as lines of a question. Pure; used by `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from workbench.diff.hunks import FileDiff, compare
from workbench.tui.fold.state import ActionItem
from workbench.tui.wording.summaries import plus_minus, short_path

Shown = tuple[str, str, str]
"""A sign before the line, the line (not yet safe to show), the name of its style."""
SHOWN = 8
"""Changed lines that the question itself shows; its full text has all of them."""


def changed_by_others(action: ActionItem, most: int | None = SHOWN) -> Iterator[Shown]:
    """Each file's other change, at most so many lines of it."""
    for file in action.stale:
        change = compare(short_path(file.path, action.working_dir), file.seen, file.theirs)
        counts = plus_minus(change.added, change.removed)
        yield "", f"{change.path} was changed since the agent read it  {counts}", "label"
        lines = list(_lines(change))
        yield from islice(lines, most)
        if most is not None and len(lines) > most:
            yield (
                "  ",
                f"{len(lines) - most} more {'line' if len(lines) - most == 1 else 'lines'} of it in the full text",
                "dim",
            )


def wanted_by_agent(action: ActionItem) -> Iterator[Shown]:
    """For the full text: what the agent wanted to make of the file that it had seen."""
    for file in action.stale:
        change = compare(short_path(file.path, action.working_dir), file.seen, file.wanted)
        yield "", f"{change.path} as the agent wanted it  {plus_minus(change.added, change.removed)}", "label"
        yield from _lines(change)


def _lines(change: FileDiff) -> Iterator[Shown]:
    for hunk in change.hunks:
        yield "  ", f"line {hunk.old + 1}:", "dim"
        yield from (("  − ", line.rstrip("\n"), "argument") for line in change.old[hunk.old : hunk.old_end])
        yield from (("  + ", line.rstrip("\n"), "argument") for line in change.new[hunk.new : hunk.new_end])
