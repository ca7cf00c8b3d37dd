"""What the screen of a rule says: the rule, where it is kept, what it would have matched. Pure; no textual."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from workbench.tui.diff.lines import paint_line
from workbench.tui.fold.state import ActionItem
from workbench.tui.wording.pieces import Line, Piece, clip
from workbench.tui.wording.summaries import one_line, tool_sign

if TYPE_CHECKING:
    from workbench.tui.approving.decision import Scope
    from workbench.tui.approving.rule_trial import Trial

SCOPES: Final[tuple[tuple[Scope, str, str], ...]] = (
    ("session", "this session", "forgotten when it ends for good"),
    ("folder", "this folder", "every session here, in your own rules file"),
    ("person", "everywhere", "every session of yours, in your own rules file"),
)
"""Name, label and what it means."""


def always_lines(rule: str, trial: Trial, scope: int, *, width: int, room: int) -> list[Line]:
    """All of it, in at most `room` lines as long as the rule fits one."""
    painted = paint_line(rule).text
    lines: list[Line] = [[Piece("This rule would be saved, as it stands here:", "dim")]]
    lines += [[Piece(f"  {painted[at : at + width - 2]}", "bold")] for at in range(0, len(painted), max(1, width - 2))]
    lines += [[], [Piece("Where it counts", "dim")]]
    for number, (_, label, meaning) in enumerate(SCOPES):
        style = "bold" if number == scope else ""
        pointer = Piece("▌" if number == scope else " ", "accent")
        lines.append([pointer, Piece(f"{number + 1} {label:<14}", style), Piece(clip(meaning, width - 18), "dim")])
    lines += [[], [Piece(_told(trial), "dim")]]
    free = max(1, room - len(lines))
    shown = trial.matched[-free:] if len(trial.matched) <= free else trial.matched[-free + 1 :]
    lines += [_action(item, width) for item in shown]
    if len(shown) < len(trial.matched):
        lines.append([Piece(f"  and {len(trial.matched) - len(shown)} before them", "dim")])
    return lines


def _told(trial: Trial) -> str:
    count, all_ = len(trial.matched), trial.looked_at
    return f"It fits {count} of the {f'last {all_}' if all_ > 1 else all_} actions of this session:"


def _action(item: ActionItem, width: int) -> Line:
    words = f"{tool_sign(item)} {one_line(item, item.working_dir)}"
    return [Piece(f"  {item.number:>3}  ", "dim"), Piece(clip(words, max(4, width - 7)))]
