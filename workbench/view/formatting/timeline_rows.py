"""Rows of the timeline and of the changes list, as pieces fitted to a width.

Columns are dropped as the width shrinks: first tokens, then cost, then duration; last, the risk word is shortened.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

from rich.cells import cell_len

from workbench.text import first_line
from workbench.view.formatting.actions import PHASE_ICONS, action_line, outcome, seconds, tool_sign
from workbench.view.state import ActionItem, FileState, Hand, Item, NoticeItem, UserItem
from workbench.view.wrapping import Line, Piece, line_width, pad

RISK_STYLES: Final = {"LOW": "risk-low", "MEDIUM": "risk-medium", "HIGH": "risk-high", "UNKNOWN": "risk-unknown"}
_SHORT_RISK: Final = {"LOW": "LOW", "MEDIUM": "MED", "HIGH": "HIGH", "UNKNOWN": "?"}
_NOTICE_ICONS: Final = {"finished": ("■", "ok"), "warning": ("!", "waiting"), "error": ("✗", "failed")}

WITH_TOKENS, WITH_COST, WITH_DURATION, WITH_OUTCOMES, WITH_RISK_WORD = 96, 72, 48, 42, 34
"""The least widths at which columns are shown; below WITH_OUTCOMES, an outcome is not padded to a column."""


def has_row(item: Item) -> bool:
    """Return whether the timeline shows the item: actions, user messages, and notices that matter."""
    return isinstance(item, ActionItem | UserItem) or (
        isinstance(item, NoticeItem) and (item.kind != "info" or bool(item.detail))
    )


def row(item: Item, width: int, now: datetime, workspace: str = "") -> Line:
    """Return the row of one item, exactly `width` cells wide."""
    if isinstance(item, ActionItem):
        return _action_row(item, width, now, workspace)
    if isinstance(item, UserItem):
        sign = Piece("○", "waiting") if item.queued else Piece("›", "accent")
        text = f"{item.text} (removed)" if item.withdrawn else item.text
        return _text_row(sign, text, "dim" if item.withdrawn else "accent", width)
    assert isinstance(item, NoticeItem)
    sign_text, style = _NOTICE_ICONS.get(item.kind, ("·", "dim"))
    return _text_row(Piece(sign_text, style), item.text, style, width)


def _text_row(sign: Piece, text: str, style: str, width: int) -> Line:
    return [sign, Piece(pad("  " + first_line(text[:2_000], 300), width - 1), style)]


def _action_row(item: ActionItem, width: int, now: datetime, workspace: str) -> Line:
    sign, style = PHASE_ICONS[item.phase]
    head = [Piece(sign, style), Piece(f"{item.number:>3} ", "dim"), Piece(f"{tool_sign(item)} ", "tool")]
    tail = _tail(item, width, now)
    available = width - 7 - (len(str(item.number)) - 3 if item.number > 999 else 0) - line_width(tail)
    if available < 8:
        tail, available = [], available + line_width(tail)
    failed = "failed" if item.phase == "failed" else "dim" if item.phase in ("rejected", "skipped") else ""
    text = f"↳ {item.agent} · {action_line(item, workspace)}" if item.agent else action_line(item, workspace)
    text = f"you · {text}" if item.by_user else text
    return [*head, Piece(pad(text, available), failed), *tail]


def _tail(item: ActionItem, width: int, now: datetime) -> Line:
    ended = outcome(item)
    tail: Line = []
    if ended:  # without an outcome, the action's line gets the space
        tail += [Piece(" "), *_outcome_pieces(ended, 8 if width >= WITH_OUTCOMES else cell_len(ended))]
    if width >= WITH_RISK_WORD:
        tail += [Piece(" "), Piece(pad(_risk(item), 7), _risk_style(item))]
    else:
        tail += [Piece(" "), Piece(pad(_SHORT_RISK.get(_risk(item), ""), 4), _risk_style(item))]
    if width >= WITH_COST:
        tail.append(Piece(pad(_cost(item), 7, right=True), "dim"))
    if width >= WITH_TOKENS:
        tail.append(Piece(pad(_tokens(item), 10, right=True), "dim"))
    if width >= WITH_DURATION:
        tail.append(Piece(pad(_duration(item, now), 8, right=True), "dim"))
    return tail


def _outcome_pieces(text: str, width: int) -> Line:
    width = max(width, cell_len(text))
    if text.startswith(("+", "−")):
        parts = text.split(" ")
        pieces = [Piece(part, "added" if part.startswith("+") else "removed") for part in parts]
        spaced = [pieces[0], *(piece for later in pieces[1:] for piece in (Piece(" "), later))]
        return [*spaced, Piece(" " * (width - cell_len(text)))]
    style = "failed" if text.startswith(("exit", "error", "unknown")) else "dim"
    return [Piece(pad(text, width), style)]


def _risk(item: ActionItem) -> str:
    return "" if item.phase == "proposed" or item.by_user else item.risk


def _risk_style(item: ActionItem) -> str:
    return RISK_STYLES.get(item.risk, "")


def _cost(item: ActionItem) -> str:
    """Return the cost of the model call, only for the first of its actions."""
    answer = item.response
    return f"${answer.cost:.3f}" if answer is not None and answer.cost and not item.position else ""


def _tokens(item: ActionItem) -> str:
    answer = item.response
    if answer is None or item.position or answer.usage.output is None:
        return ""
    return f"{answer.usage.output} tok"


def _duration(item: ActionItem, now: datetime) -> str:
    if item.phase == "running" and item.started is not None:
        return seconds(max(0.0, (now - item.started).total_seconds()), live=True)
    return "" if item.duration is None else seconds(item.duration)


_NAMES: Final[dict[Hand, str]] = {"agent": "the agent", "person": "you", "others": "others"}


def authorship(file: FileState) -> str:
    """Return who changed the file, like `by the agent and others`; empty if only the agent did, or if it is unknown."""
    if file.by <= {"agent"}:
        return ""
    *first, last = (name for hand, name in _NAMES.items() if hand in file.by)
    return f"by {', '.join(first)} and {last}" if first else f"by {last}"


def authorship_sign(file: FileState) -> str:
    """Return one cell: half filled for a part by the agent, empty for none, blank if all is the agent's or unknown."""
    if not authorship(file):
        return " "
    return "◐" if "agent" in file.by else "○"


def in_groups(files: list[FileState]) -> list[FileState | str]:
    """Return the files grouped by who changed them, each group below a line that says so.

    The agent's own files come first, without such a line; groups in which the agent has a part precede all others.
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
