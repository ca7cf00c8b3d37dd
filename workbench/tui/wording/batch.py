"""Several waiting actions: as a short list, and in full for those who approve them at once. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.tui.diff.lines import paint_line
from workbench.tui.fold.state import ActionItem
from workbench.tui.wording.explain import Said, files_written, reasons, what_runs
from workbench.tui.wording.pieces import Line, Piece, clip
from workbench.tui.wording.summaries import one_line, plus_minus, tool_sign

RISK_SIGNS = {"LOW": "○", "MEDIUM": "◆", "HIGH": "▲", "UNKNOWN": "?"}
_MOST = 5
_LARGE = 200_000
"""Characters of a change that is not compared only to be counted in a list."""


def batch_lines(waiting: Sequence[ActionItem], at: int, width: int) -> list[Line]:
    """One line for each action that waits, the one at `at` marked; of many only those around it."""
    first = max(0, min(at - _MOST // 2, len(waiting) - _MOST))
    return [_line(item, number, number == at, width) for number, item in enumerate(waiting)][first : first + _MOST]


def _line(item: ActionItem, number: int, is_shown: bool, width: int) -> Line:
    risk = f"{RISK_SIGNS[item.risk]} {item.risk:<7}"
    words = f"{tool_sign(item)} {one_line(item, item.working_dir)}{_counted(item)}"
    style = "bold" if is_shown else "dim"
    return [
        Piece("▌" if is_shown else " ", "accent"),
        Piece(f"{number + 1:>2}  ", style),
        Piece(f"{risk}  ", f"risk-{item.risk.lower()}"),
        Piece(clip(words, max(4, width - 16)), style),
    ]


def _counted(item: ActionItem) -> str:
    """How much a small change adds and removes: several of one file are told apart by it."""
    size = sum(len(delta.before or "") + len(delta.after or "") for delta in item.preview)
    if not item.preview or size > _LARGE:
        return ""
    diffs = files_written(item)
    return f"  {plus_minus(sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs))}"


def all_of(items: Sequence[ActionItem], left_out: int = 0) -> list[Said]:
    """Everything that these actions would run and write, and why each is asked; before it that some were left out."""
    lines: list[Said] = []
    if left_out:
        them = (
            "one action that you changed: it is" if left_out == 1 else f"{left_out} actions that you changed: each is"
        )
        lines = [Said(f"Without {them} approved by itself.", "label"), Said("")]
    for number, item in enumerate(items, 1):
        head = f"{number} of {len(items)}  {RISK_SIGNS[item.risk]} {item.risk}"
        lines += [Said(head, f"risk-{item.risk.lower()}"), *what_runs(item), *reasons(item)]
        lines += [*_changed_lines(item), Said("")]
    return lines


def _changed_lines(item: ActionItem) -> Iterator[Said]:
    for diff in files_written(item):
        for hunk in diff.hunks:
            yield Said(f"  {diff.path}, line {hunk.old + 1}", "label")
            yield from (Said(f"  − {paint_line(line).text}", "removed") for line in diff.old[hunk.old : hunk.old_end])
            yield from (Said(f"  + {paint_line(line).text}", "added") for line in diff.new[hunk.new : hunk.new_end])
