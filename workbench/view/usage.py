"""The Usage page: what sessions cost, by model, turn, day and session, and what fills the model's context."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from workbench.durations import rough_duration
from workbench.protocol.usage import CHARACTERS_PER_TOKEN
from workbench.session.storage.usage_log import ModelCall
from workbench.text import counted, first_line, visible
from workbench.view.formatting.actions import headline
from workbench.view.formatting.approval import RISK_ICONS
from workbench.view.formatting.timeline_rows import RISK_STYLES
from workbench.view.state import ActionItem, SessionState, UserItem
from workbench.view.stats import (
    DECIDERS,
    MOST_ROWS,
    RISKS,
    DecisionCounts,
    Scope,
    Stats,
    Totals,
    day_of,
    model_of,
    most_expensive,
    project_of,
    session_of,
    total_of,
    totals_by,
    weight,
)
from workbench.view.wrapping import Line, Piece, clip, line_width, pad, spread

_PARTS: Final = ("system", "tools", "messages", "files", "tool_output")
_HEADING, _GAP = 11, 3
_MOST_TURNS: Final = 60
_MOST_TURN_ROWS: Final = 6
"""The most turns that have a row each, with their tokens and calls; more have only their prices, side by side."""
_NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})
_BAR: Final = 24
_COLUMN_BARS: Final = "▂▃▄▅▆▇█"
"""Bars of one cell, from low to high."""
_LIMIT_BAR: Final = 12
_PART_BAR: Final = 3
_RISK_WIDTH: Final = 12
_COUNT_WIDTH: Final = 20
_EIGHTHS: Final = "▏▎▍▌▋▊▉"
"""The parts of a cell, from one to seven eighths."""


@dataclass(frozen=True)
class UsageLimits:
    """The limits that the page names, each 0 if there is none, and the key that drops an output."""

    max_cost: float = 0.0
    """US dollars of one run."""
    compacts_at: int = 0
    """A percentage of the context window."""
    max_observe: int = 0
    """Characters of one output that the model gets."""
    drop_key: str = ""


def usage_page(stats: Stats, scope: Scope, state: SessionState, width: int, limits: UsageLimits) -> list[Line]:
    """Return the lines of the page, cut to a width."""
    return [_cut(line, width) for line in _page(stats, scope, state, width, limits)]


def _cut(line: Line, width: int) -> Line:
    """Return the part of a line that fits, with an ellipsis if something was cut."""
    rows: Line = []
    for piece in line:
        available = width - line_width(rows)
        if available > 0:
            rows.append(Piece(clip(piece.text, available), piece.style))
    return rows


def _page(stats: Stats, scope: Scope, state: SessionState, width: int, limits: UsageLimits) -> list[Line]:
    calls = stats.calls
    whole = total_of(calls)
    lines = [*_summary(whole, width, _limit(state, limits.max_cost) if scope == "session" else [])]
    if scope == "session":
        lines += [[], *_context(state, width, limits)]
    if not calls:
        lines += [[], [Piece("No model was called.", "dim")]]
    else:
        lines += [[], *_table("By model", totals_by(calls, model_of), width)]
        lines += _turns(calls, state, width) if scope == "session" else _tables(stats, scope, width)
    return [*lines, *_decisions(stats.decisions)]


def _tables(stats: Stats, scope: Scope, width: int) -> Iterator[Line]:
    calls = stats.calls
    if scope != "today":
        yield []
        yield from _days(calls, width)
    yield []
    yield from _table("By project", totals_by(calls, project_of), width)
    yield []
    sessions = totals_by(calls, session_of)
    yield from _table("By session", sessions, width, labels=_of_sessions(sessions, stats.titles))


def stats_page(stats: Stats, width: int) -> list[Line]:
    """Return the lines of `ohw stats`, cut to a width."""
    span = f"Last {counted(stats.days, 'day')}" if stats.days else "All sessions"
    calls = stats.calls
    lines = [[Piece(span, "bold"), Piece(f" · {counted(len(stats.sessions), 'session')}", "dim")]]
    lines += _summary(total_of(calls), width, []) if stats.sessions else []
    if calls:
        lines += [[], *_days(calls, width)]
        lines += [[], *_table("By model", totals_by(calls, model_of), width)]
        lines += [[], *_table("By project", totals_by(calls, project_of), width)]
    return [_cut(line, width) for line in (*lines, *_decisions(stats.decisions))]


def _days(calls: Sequence[ModelCall], width: int) -> Iterator[Line]:
    days = totals_by(calls, day_of)
    return _table("By day", {day: days[day] for day in sorted(days)}, width, in_order=True)


def _decisions(decisions: DecisionCounts) -> Iterator[Line]:
    """Yield a table of who decided by risk, and how long questions waited; nothing without decisions."""
    cells = {*decisions.allowed, *decisions.denied}
    if not cells:
        return
    deciders = [by for by in DECIDERS if any(each[1] == by for each in cells)]
    heads = "".join(pad(DECIDERS[by], _COUNT_WIDTH) for by in deciders)
    yield []
    yield [Piece(pad("Decided by", _RISK_WIDTH + 2), "bold"), Piece(heads.rstrip(), "dim")]
    for risk in RISKS:
        if any(each[0] == risk for each in cells):
            counts = "".join(pad(_counts(decisions, risk, by), _COUNT_WIDTH) for by in deciders)
            name = f"{RISK_ICONS[risk]} {risk}"
            yield [Piece(f"  {pad(name, _RISK_WIDTH)}", RISK_STYLES[risk]), Piece(counts.rstrip())]
    if waits := decisions.waits:
        total, median = rough_duration(sum(waits)), rough_duration(statistics.median(waits))
        yield [Piece(f"  Waited for you: {total} in {counted(len(waits), 'question')}, median {median}", "dim")]


def _counts(decisions: DecisionCounts, risk: str, by: str) -> str:
    allowed, denied = decisions.allowed[risk, by], decisions.denied[risk, by]
    return f"{allowed:,}" + (f" ({denied:,} denied)" if denied else "") if allowed or denied else "–"


def _limit(state: SessionState, max_cost: float) -> Line:
    """Return the limit of a run and how much of it the last run has spent; empty if there is none."""
    if not max_cost:
        return []
    line: Line = [Piece(f"limit of a run ${max_cost:.2f}", "dim")]
    if state.cost is None or state.cost_before is None:
        return line
    spent = max(0.0, state.cost - state.cost_before)
    return [*line, Piece("  "), *_bar(spent, max_cost, _LIMIT_BAR), Piece(f"  {percent(spent, max_cost)}")]


def _summary(whole: Totals, width: int, right: Line) -> Iterator[Line]:
    facts = [f"{tokens(whole.input)} in{_of_cache(whole)}", f"{tokens(whole.output)} out", counted(whole.calls, "call")]
    facts += [rough_duration(whole.seconds)] if whole.seconds >= 1 else []
    summary: Line = [Piece(pad(whole.price, 9), "bold"), Piece(" · ".join(facts))]
    if right and line_width(summary) + line_width(right) + 2 <= width:
        yield spread(summary, right, width)
    else:
        yield summary
        if right:
            yield [Piece(pad("", 9)), *right]
    if whole.unpriced and whole.unpriced < whole.calls:
        yield [Piece(f"Price unknown for {counted(whole.unpriced, 'call')}.", "dim")]
    elif whole.unpriced:
        yield [Piece("Price unknown for this model.", "dim")]


def _of_cache(whole: Totals) -> str:
    """Return how much of the input came from the provider's cache, and how much was written to it, in parentheses."""
    shares = {"cached": whole.cached, "written to the cache": whole.written}
    parts = [f"{percent(count, whole.input)} {words}" for words, count in shares.items() if count]
    return f" ({', '.join(parts)})" if parts else ""


def _context(state: SessionState, width: int, limits: UsageLimits) -> Iterator[Line]:
    if state.input_tokens is None:
        yield [Piece("Context usage appears after the first response.", "dim")]
        return
    used, window = state.input_tokens, state.window
    line: Line = [Piece(pad("Context", 9), "bold")]
    if window:
        full = percent(used, window)
        line += [Piece(f"{tokens(used)} of {tokens(window)}".ljust(15)), *_bar(used, window), Piece(f"  {full}")]
        compacts = f"  compacts at {limits.compacts_at}%" if limits.compacts_at else ""
        line += [Piece(compacts, "dim")] if line_width(line) + len(compacts) <= width else []
    else:
        line += [Piece(f"{tokens(used)} tokens")]
    yield line
    parts = state.parts
    if parts is None:
        return
    named = [(name.replace("_", " "), getattr(parts, name)) for name in _PARTS]
    entries = [_part(words, part, used) for words, part in named if part]
    if biggest := biggest_output(state):
        entries.append(_biggest(biggest, state, limits, width - 2))
    yield from _wrapped(entries, width)


def _part(words: str, part: int, used: int) -> Line:
    cells, eighths = divmod(max(1, round(8 * _PART_BAR * part / used)) if used else 0, 8)
    bar = "█" * cells + (_EIGHTHS[eighths - 1] if eighths else "")
    return [Piece(f"{words} {tokens(part)} ", "dim"), Piece(bar, "accent"), Piece(f" {percent(part, used)}", "dim")]


def _wrapped(entries: Iterable[Line], width: int, heading: str = "") -> Iterator[Line]:
    """Yield lines with as many of the entries as fit, indented or beside the heading."""
    start = _HEADING if heading else 2
    line: Line = [Piece(pad(heading, start), "bold")]
    for entry in entries:
        gap = [Piece(" " * _GAP)] if len(line) > 1 else []
        if gap and line_width(line) + _GAP + line_width(entry) > width:
            yield line
            line, gap = [Piece(" " * start)], []
        line += [*gap, *entry]
    yield line


def biggest_output(state: SessionState) -> ActionItem | None:
    """Return the action with the largest result in the agent's context, unless even that is small."""
    items = (item for item in state.actions.values() if not item.agent and not item.is_dropped)
    biggest = max(items, key=lambda item: len(item.output), default=None)
    return biggest if biggest and len(biggest.output) >= CHARACTERS_PER_TOKEN * 100 else None


def _biggest(item: ActionItem, state: SessionState, limits: UsageLimits, width: int) -> Line:
    """Return the entry of the action with the largest result; the tokens that the model got are estimated."""
    sent = min(len(item.output), limits.max_observe or len(item.output)) // CHARACTERS_PER_TOKEN
    title = headline(item.tool, item.arguments, item.presentation, state.workspace)
    end: Line = [Piece(f"  {tokens(sent)}", "dim")]
    if limits.drop_key:
        end += [Piece("   "), Piece(limits.drop_key, "key"), Piece(" Drop", "dim")]
    start = Piece("biggest: ", "dim")
    available = max(8, min(40, width - len(start.text) - line_width(end)))
    return [start, Piece(clip(f"#{item.number} {title}", available)), *end]


def _turns(calls: Sequence[ModelCall], state: SessionState, width: int) -> Iterator[Line]:
    """Yield what each message of the user cost, by its number; many have no text but that of the most expensive one."""
    groups = totals_by(calls, lambda call: call.turn)
    names = list(groups)[-_MOST_TURNS:]
    messages = [item.text for item in state.items if isinstance(item, UserItem)] if state.first_seq <= 1 else []
    labels = {name: f"{name}  {messages[int(name) - 1]}" for name in names if 0 < int(name) <= len(messages)}
    yield []
    if len(groups) <= _MOST_TURN_ROWS:
        yield from _table("By turn", groups, width, in_order=True, labels=labels)
        return
    most = max(names, key=lambda name: weight(groups[name]))
    yield from _wrapped([_turn(name, groups[name], groups[most]) for name in names], width, "By turn")
    if hidden := len(groups) - len(names):
        yield [Piece(f"{pad('', _HEADING)}and {hidden} more", "dim")]
    if most in labels:
        words = f"most {'expensive' if groups[most].cost else 'tokens'}: turn "
        text = clip(first_line(labels[most], 200), max(8, width - _HEADING - len(words)))
        yield [Piece(pad("", _HEADING)), Piece(words, "dim"), Piece(text)]


def _turn(name: str, totals: Totals, most: Totals) -> Line:
    part, whole = _share(totals, weight(most))
    bar = _COLUMN_BARS[round((len(_COLUMN_BARS) - 1) * part / whole)] if whole else ""
    price = totals.price if most.cost else tokens(totals.input + totals.output)
    return [Piece(f"{name} "), Piece(bar, "accent"), Piece(f" {price}")]


def _of_sessions(groups: Mapping[str, Totals], titles: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of sessions: their titles, with the ID where several have the same one."""
    counts = Counter(titles.get(name) for name in groups)
    shared = {title for title, count in counts.items() if count > 1}
    return {name: f"{name} · {title}" if title in shared else title for name, title in titles.items() if name in groups}


def _table(
    title: str,
    groups: Mapping[str, Totals],
    width: int,
    *,
    in_order: bool = False,
    labels: Mapping[str, str] = _NO_LABELS,
) -> Iterator[Line]:
    """Yield a heading and a row for each group, the most expensive first or, `in_order`, the last ones as they came.

    `labels`, unescaped, are shown in place of the names of groups.
    """
    names = list(groups) if in_order else most_expensive(groups)
    rows = names[-MOST_ROWS:] if in_order else names[:MOST_ROWS]
    largest = max((weight(groups[name]) for name in rows), default=(0.0, 0))
    name_width = max(10, min(36, width - 45))
    yield [Piece(title, "bold")]
    for name in rows:
        totals = groups[name]
        label = first_line(visible(labels.get(name, name), lines=False), 200)
        line: Line = [Piece(f"  {pad(clip(label, name_width), name_width)}  {totals.price:>8}  ")]
        facts = f"{tokens(totals.input):>6} in {tokens(totals.output):>6} out {counted(totals.calls, 'call'):>9}"
        line += [Piece(facts, "dim")]
        if width - line_width(line) >= _BAR + 2:
            line += [Piece("  "), *_bar(*_share(totals, largest))]
        yield line
    if len(names) > len(rows):
        yield [Piece(f"  and {len(names) - len(rows)} more", "dim")]


def _share(totals: Totals, largest: tuple[float, int]) -> tuple[float, float]:
    at = 0 if largest[0] else 1
    return weight(totals)[at], largest[at]


def _bar(part: float, whole: float, width: int = _BAR) -> Line:
    filled = min(width, round(width * part / whole)) if whole else 0
    return [Piece("■" * filled, "accent"), Piece("─" * (width - filled), "dim")]


def percent(part: float, whole: float) -> str:
    """Return a fraction as a percentage, such as `31%`."""
    return f"{round(100 * part / whole) if whole else 0}%"


def tokens(count: int) -> str:
    """Return a number of tokens in short form: `950`, `62k`, `1.2M`."""
    if count < 1_000:
        return str(count)
    return f"{count / 1_000:.0f}k" if count < 999_500 else f"{count / 1_000_000:.1f}M"
