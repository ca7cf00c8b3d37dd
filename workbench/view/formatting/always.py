"""The lines of the screen that offers to allow an action from now on. All text is safe to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from workbench.protocol.events import AlwaysChoice
from workbench.text import counted
from workbench.view.approval.questions import Scope
from workbench.view.approval.rule_preview import RulePreview
from workbench.view.diff.lines import paint_line
from workbench.view.formatting.actions import action_line, tool_sign
from workbench.view.state import ActionItem
from workbench.view.wrapping import Line, Piece, clip

SCOPES: Final[tuple[tuple[Scope, str, str], ...]] = (
    ("session", "this session", "discarded when it ends"),
    ("folder", "this project", "saved in your rules.toml"),
    ("person", "all projects", "saved in your rules.toml"),
)
"""The name of each scope, its label and its meaning."""
_LABEL_WIDTH: Final = 10


def always_lines(
    choices: Sequence[AlwaysChoice], current: int, preview: RulePreview, scope: int, *, width: int, height: int
) -> list[Line]:
    """Return the choices, the rules of the current one, where they apply, and what they match in this session.

    At most `height` lines, as long as choices and rules fit.
    """
    lines = [_choice(number, choice, number == current, width) for number, choice in enumerate(choices)]
    lines.append([])
    for number, rule in enumerate(choices[current].rules):
        lines += _rule_lines(rule, width, "Rule" if number == 0 else "")
    lines += [_scope_line(scope), [Piece(f"{'':<{_LABEL_WIDTH}} {SCOPES[scope][2]}", "dim")]]
    lines += [[], [Piece(clip(_match_summary(preview), width), "dim")]]
    free = max(1, height - len(lines))
    matched = preview.matched[-free:] if len(preview.matched) <= free else preview.matched[-free + 1 :]
    lines += [_action(item, preview.workspace, width) for item in matched]
    if len(matched) < len(preview.matched):
        lines.append([Piece(f"  and {len(preview.matched) - len(matched)} before them", "dim")])
    return lines


def reason_lines(reason: str, width: int) -> list[Line]:
    """Return lines that say why this action cannot always be allowed."""
    text = paint_line(reason or "no rule describes exactly this").text
    pieces = [text[at : at + width] for at in range(0, len(text), max(1, width))]
    return [[Piece("Not possible here:", "dim")], *([Piece(piece)] for piece in pieces)]


def _choice(number: int, choice: AlwaysChoice, is_current: bool, width: int) -> Line:
    pointer = Piece("▌" if is_current else " ", "accent")
    label = clip(paint_line(choice.label).text, max(4, width - 4))
    return [pointer, Piece(f"{number + 1} ", "" if is_current else "dim"), Piece(label, "bold" if is_current else "")]


def _scope_line(scope: int) -> Line:
    """Return the names of the scopes with the current one marked."""
    line = [Piece(f"{'Applies to':<{_LABEL_WIDTH}}", "dim")]
    for number, (_, label, _) in enumerate(SCOPES):
        is_current = number == scope
        line += [Piece("▌" if is_current else " ", "accent"), Piece(f"{label}  ", "bold" if is_current else "dim")]
    return line


def _rule_lines(rule: str, width: int, label: str) -> list[Line]:
    """Return the whole rule, broken into lines."""
    painted, columns = paint_line(rule).text, max(1, width - _LABEL_WIDTH - 1)
    pieces = [painted[at : at + columns] for at in range(0, len(painted), columns)]
    return [
        [Piece(f"{label if number == 0 else '':<{_LABEL_WIDTH}} ", "dim"), Piece(piece, "bold")]
        for number, piece in enumerate(pieces)
    ]


def _match_summary(preview: RulePreview) -> str:
    matched, tried = len(preview.matched), preview.looked_at
    return f"Matches {matched} of the last {counted(tried, 'action')}{':' if matched else ''}"


def _action(item: ActionItem, workspace: str, width: int) -> Line:
    words = f"{tool_sign(item)} {action_line(item, workspace)}"
    return [Piece(f"  {item.number:>3}  ", "dim"), Piece(clip(words, max(4, width - 7)))]
