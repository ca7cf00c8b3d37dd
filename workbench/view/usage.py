"""The Usage page: what sessions cost, by model, turn, day and session, and what fills the model's context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal, TypeAlias

from workbench.config.locations import Locations
from workbench.protocol.usage import CHARACTERS_PER_TOKEN
from workbench.session.storage.usage_log import ModelCall, all_calls, session_calls
from workbench.text import counted, first_line, visible
from workbench.view import clock
from workbench.view.formatting.actions import headline
from workbench.view.state import ActionItem, SessionState, UserItem
from workbench.view.wrapping import Line, Piece, clip, line_width, pad, spread

Scope: TypeAlias = Literal["session", "today", "week", "all"]
SCOPES: Final[dict[Scope, str]] = {"session": "this session", "today": "today", "week": "7 days", "all": "all"}
"""The scopes in Tab order, with their names."""
_PARTS: Final = ("system", "tools", "messages", "files", "tool_output")
_HEADING, _GAP = 11, 3
_MOST_ROWS: Final = 12
_MOST_TURNS: Final = 60
_MOST_LINES: Final = 6
"""How many lines the models, or the turns, may take with their tokens and calls; more have only their prices."""
_BAR: Final = 24
_COLUMN_BARS: Final = "▂▃▄▅▆▇█"
"""Bars of one cell, from low to high."""
_LIMIT_BAR: Final = 12
_PART_BAR: Final = 3
_EIGHTHS: Final = "▏▎▍▌▋▊▉"
"""The parts of a cell, from one to seven eighths."""


@dataclass
class Totals:
    """The sums of some calls."""

    cost: float = 0.0
    unpriced: int = 0
    """How many calls have no known price."""
    input: int = 0
    cached: int = 0
    written: int = 0
    """Input tokens written to the provider's cache."""
    output: int = 0
    calls: int = 0
    seconds: float = 0.0

    def add(self, call: ModelCall) -> None:
        """Add one call."""
        self.cost += call.cost or 0.0
        self.unpriced += call.cost is None
        self.input += call.input
        self.cached += call.cached
        self.written += call.written
        self.output += call.output
        self.calls += 1
        self.seconds += call.seconds

    @property
    def price(self) -> str:
        """The cost in dollars: `?` if no call has a known price, followed by `+` if only some do."""
        if self.calls and self.unpriced == self.calls:
            return "?"
        return f"${self.cost:.2f}{'+' if self.unpriced else ''}"


def read_calls(
    locations: Locations, scope: Scope, session_id: str, stopped: Callable[[], bool] = lambda: False
) -> list[ModelCall]:
    """Return the calls of a scope; call it in a thread, because there may be many."""
    if scope == "session":
        return list(session_calls(locations, session_id)) if session_id else []
    midnight = clock.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    since = {"today": midnight, "week": midnight - timedelta(days=6), "all": None}[scope]
    return list(all_calls(locations, since, stopped))


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


def usage_page(
    calls: Sequence[ModelCall], scope: Scope, state: SessionState, width: int, limits: UsageLimits
) -> list[Line]:
    """Return the lines of the page, cut to a width."""
    return [cut(line, width) for line in _page(calls, scope, state, width, limits)]


def cut(line: Line, width: int) -> Line:
    """Return the part of a line that fits, with an ellipsis if something was cut."""
    rows: Line = []
    for piece in line:
        available = width - line_width(rows)
        if available > 0:
            rows.append(Piece(clip(piece.text, available), piece.style))
    return rows


def _page(calls: Sequence[ModelCall], scope: Scope, state: SessionState, width: int, limits: UsageLimits) -> list[Line]:
    whole = total_of(calls)
    lines = [*summary_lines(whole, width, _limit(state, limits.max_cost) if scope == "session" else [])]
    if scope == "session":
        lines += [[], *_context(state, width, limits)]
    if not calls:
        return [*lines, [], [Piece("No model was called.", "dim")]]
    lines += [[], *_models(totals_by(calls, model_of), width)]
    if scope == "session":
        return [*lines, *_turns(calls, state, width)]
    if scope != "today":
        days = totals_by(calls, day_of)
        lines += [[], *totals_table("By day", {day: days[day] for day in sorted(days)}, width, in_order=True)]
    return [
        *lines,
        [],
        *totals_table("By session", totals_by(calls, lambda call: visible(call.session, lines=False)), width),
    ]


def total_of(calls: Iterable[ModelCall]) -> Totals:
    """Return the sums of calls."""
    totals = Totals()
    for call in calls:
        totals.add(call)
    return totals


def totals_by(calls: Iterable[ModelCall], key: Callable[[ModelCall], object]) -> dict[str, Totals]:
    """Return the sums of the calls with the same key, in the order in which the keys came."""
    groups: dict[str, Totals] = {}
    for call in calls:
        groups.setdefault(str(key(call)), Totals()).add(call)
    return groups


def model_of(call: ModelCall) -> str:
    """Return the model of a call as shown; those of sub-agents are apart."""
    return visible(call.model or "unknown", lines=False) + (" (sub-agents)" if call.agent else "")


def day_of(call: ModelCall) -> str:
    """Return the local date of a call."""
    return f"{call.at.astimezone():%Y-%m-%d}"


def _limit(state: SessionState, max_cost: float) -> Line:
    """Return the limit of a run and how much of it the last run has spent; empty if there is none."""
    if not max_cost:
        return []
    line: Line = [Piece(f"limit of a run ${max_cost:.2f}", "dim")]
    if state.cost is None or state.cost_before is None:
        return line
    spent = max(0.0, state.cost - state.cost_before)
    return [*line, Piece("  "), *_bar(spent, max_cost, _LIMIT_BAR), Piece(f"  {percent(spent, max_cost)}")]


def summary_lines(whole: Totals, width: int, right: Line) -> Iterator[Line]:
    """Yield the sums in one line, with `right` at its end if both fit, and what has no price."""
    facts = [f"{tokens(whole.input)} in{_of_cache(whole)}", f"{tokens(whole.output)} out", counted(whole.calls, "call")]
    facts += [minutes(whole.seconds)] if whole.seconds >= 1 else []
    summary: Line = [Piece(pad(whole.price, 9), "bold"), Piece(" · ".join(facts))]
    if right and line_width(summary) + line_width(right) + 2 <= width:
        yield spread(summary, right, width)
    else:
        yield summary
        if right:
            yield [Piece(pad("", 9)), *right]
    if whole.unpriced and whole.unpriced < whole.calls:
        yield [Piece(f"No price known for {counted(whole.unpriced, 'call')}.", "dim")]
    elif whole.unpriced:
        yield [Piece("No price known for this model.", "dim")]


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
    """Name an action with its result; the part of it that the model got is estimated from its length."""
    sent = min(len(item.output), limits.max_observe or len(item.output)) // CHARACTERS_PER_TOKEN
    title = headline(item.tool, item.arguments, item.presentation, state.workspace)
    end: Line = [Piece(f"  {tokens(sent)}", "dim")]
    if limits.drop_key:
        end += [Piece("   "), Piece(limits.drop_key, "key"), Piece(" Drop", "dim")]
    start = Piece("biggest: ", "dim")
    available = max(8, min(40, width - len(start.text) - line_width(end)))
    return [start, Piece(clip(f"#{item.number} {title}", available)), *end]


def _models(groups: dict[str, Totals], width: int) -> Iterator[Line]:
    """Yield the models, the most expensive first."""
    names = sorted(groups, key=lambda name: _weight(groups[name]), reverse=True)[:_MOST_ROWS]
    entries = [([Piece(f"{clip(name, 36)}  {groups[name].price}")], groups[name]) for name in names]
    yield from _entries("By model", entries, width, hidden=len(groups) - len(names))


def _turns(calls: Sequence[ModelCall], state: SessionState, width: int) -> Iterator[Line]:
    """Yield what each message of the user cost, by its number; the text of the most expensive one is named."""
    groups = totals_by(calls, lambda call: call.turn)
    names = list(groups)[-_MOST_TURNS:]
    most = max(names, key=lambda name: _weight(groups[name]))
    entries = [(_turn(name, groups[name], groups[most]), groups[name]) for name in names]
    yield from _entries("By turn", entries, width, hidden=len(groups) - len(names))
    messages = [item.text for item in state.items if isinstance(item, UserItem)] if state.first_seq <= 1 else []
    if len(names) > 1 and 0 < int(most) <= len(messages):
        text = clip(first_line(messages[int(most) - 1], 200), max(8, width - 24))
        yield [Piece(pad("", _HEADING)), Piece(f"most: {most} ", "dim"), Piece(text)]


def _turn(name: str, totals: Totals, most: Totals) -> Line:
    part, whole = _share(totals, _weight(most))
    bar = _COLUMN_BARS[round((len(_COLUMN_BARS) - 1) * part / whole)] if whole else ""
    price = totals.price if most.cost else tokens(totals.input + totals.output)
    return [Piece(f"{name} "), Piece(bar, "accent"), Piece(f" {price}")]


def _entries(heading: str, entries: Sequence[tuple[Line, Totals]], width: int, *, hidden: int) -> Iterator[Line]:
    """Yield entries beside a heading, with their tokens and calls if the width allows that."""
    full = [[*line, Piece(f" · {_facts(totals)}", "dim")] for line, totals in entries]
    lines = list(_wrapped(full, width, heading))
    if len(lines) > _MOST_LINES or any(_HEADING + line_width(entry) > width for entry in full):
        lines = list(_wrapped([line for line, _ in entries], width, heading))
    yield from lines
    if hidden:
        yield [Piece(f"{pad('', _HEADING)}and {hidden} more", "dim")]


def _facts(totals: Totals) -> str:
    return f"{tokens(totals.input)} in · {tokens(totals.output)} out · {counted(totals.calls, 'call')}"


def totals_table(title: str, groups: dict[str, Totals], width: int, *, in_order: bool = False) -> Iterator[Line]:
    """Yield a heading and a row for each group, the most expensive first or, `in_order`, the last ones as they came."""
    names = list(groups) if in_order else sorted(groups, key=lambda name: _weight(groups[name]), reverse=True)
    rows = names[-_MOST_ROWS:] if in_order else names[:_MOST_ROWS]
    largest = max((_weight(groups[name]) for name in rows), default=(0.0, 0))
    name_width = max(10, min(36, width - 45))
    yield [Piece(title, "bold")]
    for name in rows:
        totals = groups[name]
        line: Line = [Piece(f"  {pad(clip(first_line(name, 200), name_width), name_width)}  {totals.price:>8}  ")]
        facts = f"{tokens(totals.input):>6} in {tokens(totals.output):>6} out {counted(totals.calls, 'call'):>9}"
        line += [Piece(facts, "dim")]
        if width - line_width(line) >= _BAR + 2:
            line += [Piece("  "), *_bar(*_share(totals, largest))]
        yield line
    if len(names) > len(rows):
        yield [Piece(f"  and {len(names) - len(rows)} more", "dim")]


def _weight(totals: Totals) -> tuple[float, int]:
    """Return the key by which groups are sorted: their cost, or their tokens if nothing has a price."""
    return totals.cost, totals.input + totals.output


def _share(totals: Totals, largest: tuple[float, int]) -> tuple[float, float]:
    at = 0 if largest[0] else 1
    return _weight(totals)[at], largest[at]


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


def minutes(seconds: float) -> str:
    """Return a duration in short form: `40s`, `12 min`, `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f}s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"
