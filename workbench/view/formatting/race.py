"""A race as lines: the ranking, and what the attempt under consideration did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len

from workbench.batch.figures import amount, duration, money
from workbench.batch.race import RankedAttempt
from workbench.text import counted, visible
from workbench.view.formatting.actions import plus_minus
from workbench.view.race import RaceComparison, RacedAttempt, attempt_name, short_name
from workbench.view.wrapping import Line, Piece, clip, line_width, pad

_STYLES: Final = {"solved": "ok", "done": "ok", "unsolved": "failed", "question": "waiting", "limit": "waiting"}
_STATE, _LINES, _COST, _TIME = 12, 11, 9, 8
"""The widths of columns, in cells."""
_LEAST_NAME: Final = 12
_LEAST_DETAIL: Final = 16
"""The cells from which a row shows more about the outcome, which is also below the table."""


def ranking_cells(attempt: RankedAttempt) -> list[str]:
    """Return an attempt as the cells of a table, safe to show: rank, name, outcome, lines, cost, time and detail."""
    outcome = attempt.outcome
    return [
        str(attempt.rank),
        attempt_name(outcome),
        outcome.state,
        _changed(attempt, str(outcome.patch_lines)),
        money(outcome.cost, outcome.unpriced),
        duration(outcome.total_seconds),
        visible(outcome.detail, lines=False),
    ]


def _changed(attempt: RankedAttempt, lines: str) -> str:
    """Return the cell about what an attempt has changed, which is `lines` if these are what it has changed."""
    if attempt.only_permissions:
        return "permissions"
    return lines if attempt.outcome.patch else "none"


def summary(attempts: Sequence[RankedAttempt]) -> str:
    """Return one line about the result of a race, safe to show."""
    if not attempts:
        return "no attempt was completed"
    best = attempts[0]
    if not best.has_won:
        return f"none of {counted(len(attempts), 'attempt')} solved it"
    good = sum(each.outcome.state == best.outcome.state for each in attempts)
    return f"{good} of {len(attempts)} {best.outcome.state}; best: {attempt_name(best.outcome)}"


def ranking_page(comparison: RaceComparison, number: int, width: int, rows: int) -> list[Line]:
    """Return the ranking as a table in which attempt `number`, from 0, is marked; at most `rows` of its rows."""
    attempts = comparison.attempts
    first = max(0, min(number - rows // 2, len(attempts) - rows))
    chosen = range(first, min(len(attempts), first + rows))
    name = _name_width(comparison, width)
    header = f"     {pad('attempt', name)} {pad('outcome', _STATE)}{pad('lines', _LINES)}"
    header += f"{pad('cost', _COST, right=True)}{pad('time', _TIME, right=True)}"
    lines: list[Line] = [[Piece(clip(header, width), "dim")]]
    lines += [_row(attempts[index], name, width, is_chosen=index == number) for index in chosen]
    if len(attempts) > rows:
        lines.append([Piece(f"     {number + 1} of {len(attempts)}", "dim")])
    return lines


def _name_width(comparison: RaceComparison, width: int) -> int:
    """Return the width of the column of names: that of the longest one, if it fits."""
    longest = max(cell_len(attempt_name(each.ranked.outcome)) for each in comparison.attempts)
    return max(_LEAST_NAME, min(longest, width - 6 - _STATE - _LINES - _COST - _TIME))


def _row(attempt: RacedAttempt, name: int, width: int, *, is_chosen: bool) -> Line:
    outcome = attempt.ranked.outcome
    changed = _changed(attempt.ranked, plus_minus(*attempt.lines))
    head = f"{'›' if is_chosen else ' '} {attempt.ranked.rank:>2}"
    price, time = money(outcome.cost, outcome.unpriced), duration(outcome.total_seconds)
    row = [
        Piece(head, "accent" if is_chosen else "dim"),
        Piece(f" {pad(short_name(outcome, name), name)} ", "bold" if is_chosen else ""),
        Piece(pad(outcome.state, _STATE), _STYLES.get(outcome.state, "failed")),
        Piece(pad(changed, _LINES)),
        Piece(pad(price, _COST, right=True) + pad(time, _TIME, right=True), "dim"),
    ]
    available = width - line_width(row) - 3
    if not outcome.detail or available < _LEAST_DETAIL:
        return row
    return [*row, Piece(f"   {clip(visible(outcome.detail, lines=False), available)}", "dim")]


def attempt_lines(comparison: RaceComparison, number: int, width: int) -> list[Line]:
    """Return lines on attempt `number`, from 0: how it ended, what it used, and the heading of its files."""
    attempt = comparison.attempts[number]
    outcome = attempt.ranked.outcome
    tokens = f"{amount(outcome.input)} tokens in, {amount(outcome.output)} out"
    lines: list[Line] = [[Piece(f"{counted(outcome.steps, 'step')} · {tokens}", "dim")]]
    if comparison.check:
        lines.insert(0, [Piece(f"Check: {visible(comparison.check, lines=False)}", "dim")])
    if outcome.detail:
        lines.append([Piece(visible(outcome.detail, lines=False), _STYLES.get(outcome.state, "failed"))])
    fitted = ([Piece(clip(piece.text, width), piece.style) for piece in line] for line in lines)
    return [[], *fitted, [], _heading(attempt)]


def _heading(attempt: RacedAttempt) -> Line:
    name = short_name(attempt.ranked.outcome)
    if isinstance(attempt.files, str):
        return [Piece(f"The files of {name} cannot be shown: {visible(attempt.files, lines=False)}", "failed")]
    count, permissions = len(attempt.files.files) + attempt.files.more, attempt.files.permissions
    if not count:
        return [Piece(f"{name} has changed no file.", "dim")]
    if count == permissions:
        return [Piece(f"{name} has changed only the permissions of {counted(count, 'file')}", "bold")]
    heading = [Piece(f"{name} has changed {counted(count, 'file')}", "bold")]
    return [*heading, Piece(f" · of {permissions} only the permissions", "dim")] if permissions else heading
