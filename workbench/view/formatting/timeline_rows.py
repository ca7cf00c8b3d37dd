"""Rows of the timeline and of the changes list, as pieces fitted to a width.

A row has a sign, a title and, at its right end, the risk from MEDIUM up, who decided, the outcome and the time. Parts
are dropped as the width shrinks: first tokens, then cost and the text after the title, then the word for the risk.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from workbench.text import first_line
from workbench.tools.manifest import kind_of
from workbench.view.formatting.actions import (
    arguments_words,
    duration_text,
    group_sign,
    outcome_pieces,
    reads_title,
    title_of,
    user_words,
)
from workbench.view.read_groups import group_of, is_folded, is_plan_change
from workbench.view.state import ActionItem, FileState, Hand, Item, NoticeItem, UserItem
from workbench.view.wrapping import Line, Piece, pad, spread

RISK_STYLES: Final = {"LOW": "risk-low", "MEDIUM": "risk-medium", "HIGH": "risk-high", "UNKNOWN": "risk-unknown"}
RISK_ICONS: Final = {"MEDIUM": "◆", "HIGH": "▲", "UNKNOWN": "◇"}
"""The sign of each risk that is worth a look; LOW has none."""
_NOTICE_ICONS: Final = {"finished": ("✓", "ok"), "warning": ("!", "waiting"), "error": ("✗", "failed")}

WITH_TOKENS, WITH_COST, WITH_DETAIL, WITH_RISK_WORD, WITH_TIME = 96, 72, 72, 56, 30
"""The least widths at which parts of a row are shown."""
_COST_CELLS, _TOKENS_CELLS, _TIME_CELLS = 9, 11, 7
"""The least cells of the columns of a wide row, with the space before each."""


def has_row(item: Item) -> bool:
    """Return whether the timeline can show the item: actions, user messages, and notices that matter.

    Changes of the plan and the final message have no row, because the plan's panel and the conversation show them.
    Neither have notices that are not in the log, such as a lost connection: they are no point in time to go back to.
    """
    if isinstance(item, ActionItem):
        return not is_plan_change(item) and (kind_of(item.tool) != "final" or item.phase != "done" or bool(item.agent))
    if isinstance(item, NoticeItem):
        matters = item.kind != "info" or bool(item.detail) or item.branch is not None
        return matters and item.seq > 0
    return isinstance(item, UserItem)


def row(item: Item, width: int, now: datetime, workspace: str = "", *, is_filtered: bool = False) -> Line:
    """Return the row of one item, exactly `width` cells wide; folded reads are one row, except among filtered rows."""
    if isinstance(item, ActionItem):
        group = group_of(item) if is_folded(item) and not is_filtered else [item]
        return _action_row(item, group, width, now, workspace, is_filtered=is_filtered)
    if isinstance(item, UserItem):
        return _heading(item, width)
    assert isinstance(item, NoticeItem)
    sign_text, style = _NOTICE_ICONS.get(item.kind, ("·", "dim"))
    return [Piece(sign_text, style), Piece(pad(f" {first_line(item.text[:2_000], 300)}", width - 1), style)]


def _heading(item: UserItem, width: int) -> Line:
    """Return the row of a message, which is a heading with its time."""
    state = "queued" if item.queued else "removed" if item.withdrawn else f"{item.at.astimezone():%H:%M}"
    style = "dim" if item.withdrawn else "bold"
    right = [Piece(state, "waiting" if item.queued else "dim")]
    return spread([Piece(first_line(item.text[:2_000], 300), style)], right, width)


def _action_row(
    item: ActionItem, group: Sequence[ActionItem], width: int, now: datetime, workspace: str, *, is_filtered: bool
) -> Line:
    title = reads_title(group, workspace) if len(group) > 1 else title_of(item, workspace)
    sign, style = group_sign(group)
    indent = "  " if item.agent else ""
    number = f"{item.number:>3} " if width >= WITH_DETAIL else ""
    who = user_words(item) or (f"↳ {item.agent} · " if item.agent and is_filtered else "")
    head = [
        Piece(f"{indent}{sign} ", style),
        Piece(number, "dim"),
        Piece(who, "accent"),
        Piece(title.text, _title_style(item)),
    ]
    if title.detail and (width >= WITH_DETAIL or len(group) > 1):
        head.append(Piece(f"   {title.detail}", "dim"))
    if width >= WITH_TOKENS and not title.detail and (arguments := arguments_words(item)):
        head.append(Piece(f"   {arguments}", "dim"))
    tail, figures = _tail(item, width) if len(group) == 1 else [], _figures(group, width, now)
    return spread(head, [*tail, *([Piece("  ")] if tail and figures and width < WITH_COST else []), *figures], width)


def _title_style(item: ActionItem) -> str:
    if item.phase == "waiting":
        return "waiting"
    return "dim" if item.phase in ("rejected", "skipped") else ""


def _tail(item: ActionItem, width: int) -> Line:
    filled = [part for part in (_decision(item, width), outcome_pieces(item)) if any(piece.text for piece in part)]
    return [piece for index, part in enumerate(filled) for piece in ([Piece("  ")] if index else []) + part]


def _figures(group: Sequence[ActionItem], width: int, now: datetime) -> Line:
    """Return cost, tokens and time; on a wide row each has a column of its own, which stays empty without a figure."""
    item = group[0]
    time = Piece(duration_text(item, now) if len(group) == 1 else "", "running" if item.phase == "running" else "dim")
    if width < WITH_COST:
        return [time] if time.text and width >= WITH_TIME else []
    columns = [Piece(f"{_cost(group):>{_COST_CELLS}}", "dim")]
    if width >= WITH_TOKENS:
        columns.append(Piece(f"{_tokens(group):>{_TOKENS_CELLS}}", "dim"))
    return [*columns, Piece(f"{time.text:>{_TIME_CELLS}}", time.style)]


def _decision(item: ActionItem, width: int) -> Line:
    """Return who decided, if that was the user, and the risk if it is worth a look."""
    if item.by_user or item.phase == "proposed":
        return []
    risk = RISK_ICONS.get(item.risk, "")
    if risk and width >= WITH_RISK_WORD:
        risk = f"{risk} {item.risk}"
    by = "you" if item.decided_by == "person" and item.phase not in ("rejected", "waiting") else ""
    return [
        Piece(risk, RISK_STYLES.get(item.risk, "")),
        Piece(" " if risk and by else "", ""),
        Piece(by, "accent"),
    ]


def _cost(group: Sequence[ActionItem]) -> str:
    """Return the cost of the model calls of these actions; each call is counted in one row."""
    cost = sum(item.response.cost or 0 for item in group if item.bears_cost and item.response is not None)
    return f"${cost:.3f}" if cost else ""


def _tokens(group: Sequence[ActionItem]) -> str:
    tokens = sum(item.response.usage.output or 0 for item in group if item.bears_cost and item.response is not None)
    return f"{tokens} tok" if tokens else ""


def authorship(file: FileState) -> str:
    """Return who changed the file, like `edited by the agent and you`; empty if only the agent did or it is unknown."""
    if file.by <= {"agent"}:
        return ""
    names: tuple[tuple[Hand, str], ...] = (("agent", "by the agent"), ("person", "you"), ("others", "elsewhere"))
    listed = [name for hand, name in names if hand in file.by]
    if listed[0] == "you":
        listed[0] = "by you"
    *first, last = listed
    return f"edited {', '.join(first)} and {last}" if first else f"edited {last}"


def authorship_sign(file: FileState) -> str:
    """Return the sign of the agent's share in the changes, one cell wide.

    It is a half-filled circle for a part and an empty one for none; a space if the agent made all or it is unknown.
    """
    if not authorship(file):
        return " "
    return "◐" if "agent" in file.by else "○"


def in_groups(files: list[FileState]) -> list[FileState | str]:
    """Return the files grouped by who changed them, each group below a line that says so.

    Files that only the agent changed come first, without such a line; then those that it changed with others.
    """
    rows: list[FileState | str] = []
    shares = sorted({(bool(file.by) and "agent" not in file.by, authorship(file)) for file in files})
    for _, words in shares:
        rows += [words[0].upper() + words[1:]] if words else []
        rows += [file for file in files if authorship(file) == words]
    return rows


def from_home(path: Path) -> str:
    """Return the path, with `~` in place of the home directory."""
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)
