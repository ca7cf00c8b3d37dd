"""The Usage page: what sessions cost, by model, message, day and session, and what fills the model's context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal, TypeAlias

from workbench.config.locations import Locations
from workbench.session.storage.usage_log import ModelCall, all_calls, session_calls
from workbench.text import counted, first_line, visible
from workbench.view import clock
from workbench.view.formatting.actions import headline
from workbench.view.state import SessionState, UserItem
from workbench.view.wrapping import Line, Piece, clip, line_width, pad, spread

Scope: TypeAlias = Literal["session", "today", "week", "all"]
SCOPES: Final[dict[Scope, str]] = {"session": "this session", "today": "today", "week": "7 days", "all": "all"}
"""The scopes in Tab order, with their names."""
_PARTS: Final = {"system": "instructions", "tools": "tools", "messages": "messages", "tool_output": "tool output"}
_MOST_ROWS, _MOST_OUTPUTS = 12, 3
_CHARACTERS: Final = 4
"""Characters per token, for estimates."""
_BAR: Final = 24


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


def usage_page(
    calls: Sequence[ModelCall], scope: Scope, state: SessionState, width: int, *, max_cost: float, compacts_at: int
) -> list[Line]:
    """Return the lines of the page, cut to a width; `max_cost` is the limit of a run in dollars and `compacts_at` a
    percentage of the context window, both 0 if there is none.
    """
    lines = _page(calls, scope, state, width, max_cost=max_cost, compacts_at=compacts_at)
    return [_cut(line, width) for line in lines]


def _cut(line: Line, width: int) -> Line:
    """Return the part of a line that fits, with an ellipsis if something was cut."""
    rows: Line = []
    for piece in line:
        available = width - line_width(rows)
        if available > 0:
            rows.append(Piece(clip(piece.text, available), piece.style))
    return rows


def _page(
    calls: Sequence[ModelCall], scope: Scope, state: SessionState, width: int, *, max_cost: float, compacts_at: int
) -> list[Line]:
    whole = _sum(calls)
    lines = [*_summary(whole, width, max_cost if scope == "session" else 0.0)]
    if scope == "session":
        lines += [[], *_context(state, width, compacts_at)]
    if not calls:
        return [*lines, [], [Piece("No model was called.", "dim")]]
    lines += [[], *_table("By model", _by(calls, _model_of), width)]
    if scope == "session":
        return [*lines, [], *_table("By message", _by_message(calls, state), width, in_order=True)]
    if scope != "today":
        days = _by(calls, _day_of)
        lines += [[], *_table("By day", {day: days[day] for day in sorted(days)}, width, in_order=True)]
    return [*lines, [], *_table("By session", _by(calls, lambda call: visible(call.session, lines=False)), width)]


def _sum(calls: Iterable[ModelCall]) -> Totals:
    totals = Totals()
    for call in calls:
        totals.add(call)
    return totals


def _by(calls: Iterable[ModelCall], key: Callable[[ModelCall], object]) -> dict[str, Totals]:
    groups: dict[str, Totals] = {}
    for call in calls:
        groups.setdefault(str(key(call)), Totals()).add(call)
    return groups


def _by_message(calls: Iterable[ModelCall], state: SessionState) -> dict[str, Totals]:
    """Return the sums by the user's message, named by its number and, where it is in memory, its text."""
    messages = [item.text for item in state.items if isinstance(item, UserItem)] if state.first_seq <= 1 else []

    def name(call: ModelCall) -> str:
        text = messages[call.turn - 1] if 0 < call.turn <= len(messages) else ""
        return f"{call.turn} {first_line(text, 60)}".rstrip()

    return _by(calls, name)


def _model_of(call: ModelCall) -> str:
    return visible(call.model or "unknown", lines=False) + (" (sub-agents)" if call.agent else "")


def _day_of(call: ModelCall) -> str:
    return f"{call.at.astimezone():%Y-%m-%d}"


def _summary(whole: Totals, width: int, max_cost: float) -> Iterator[Line]:
    facts = [f"{tokens(whole.input)} in{_of_cache(whole)}", f"{tokens(whole.output)} out", counted(whole.calls, "call")]
    facts += [minutes(whole.seconds)] if whole.seconds >= 1 else []
    summary: Line = [Piece(pad(whole.price, 9), "bold"), Piece(" · ".join(facts))]
    if max_cost:
        right: Line = [Piece(f"limit of a run ${max_cost:.2f}", "dim")]
        yield spread(summary, right, width) if line_width(summary) + line_width(right) + 2 <= width else summary
    else:
        yield summary
    if whole.unpriced and whole.unpriced < whole.calls:
        yield [Piece(f"No price known for {counted(whole.unpriced, 'call')}.", "dim")]
    elif whole.unpriced:
        yield [Piece("No price known for this model.", "dim")]


def _of_cache(whole: Totals) -> str:
    """Return how much of the input came from the provider's cache, and how much was written to it, in parentheses."""
    shares = {"cached": whole.cached, "written to the cache": whole.written}
    parts = [f"{percent(count, whole.input)} {words}" for words, count in shares.items() if count]
    return f" ({', '.join(parts)})" if parts else ""


def _context(state: SessionState, width: int, compacts_at: int) -> Iterator[Line]:
    if state.input_tokens is None:
        yield [Piece("Context usage appears after the first response.", "dim")]
        return
    used, window = state.input_tokens, state.window
    line: Line = [Piece(pad("Context", 9), "bold")]
    if window:
        full = percent(used, window)
        line += [Piece(f"{tokens(used)} of {tokens(window)}".ljust(15)), *_bar(used, window), Piece(f"  {full}")]
        compacts = f"  compacts at {compacts_at}%" if compacts_at else ""
        line += [Piece(compacts, "dim")] if line_width(line) + len(compacts) <= width else []
    else:
        line += [Piece(f"{tokens(used)} tokens")]
    yield line
    parts = state.parts
    if parts is None:
        return
    for name, words in _PARTS.items():
        part = getattr(parts, name)
        yield [
            Piece(f"  {pad(words, 14)}{tokens(part):>6}  ", "dim"),
            *_bar(part, used),
            Piece(f"  {percent(part, used)}"),
        ]
    yield from _biggest(state, width)


def _biggest(state: SessionState, width: int) -> Iterator[Line]:
    """Yield the largest tool outputs; the part of each that the model got is estimated from its length."""
    items = sorted(state.actions.values(), key=lambda item: len(item.output), reverse=True)[:_MOST_OUTPUTS]
    items = [item for item in items if len(item.output) >= _CHARACTERS * 100]
    for at, item in enumerate(items):
        size = tokens(len(item.output) // _CHARACTERS)
        title = headline(item.tool, item.arguments, item.presentation, state.workspace)
        start = "biggest" if at == 0 else ""
        yield [
            Piece(f"  {pad(start, 14)}{size:>6}  ", "dim"),
            Piece(clip(f"#{item.number} {title}", max(8, width - 24))),
        ]


def _table(title: str, groups: dict[str, Totals], width: int, *, in_order: bool = False) -> Iterator[Line]:
    """Yield a heading and a row for each group, the most expensive first or, `in_order`, the last ones as they came."""
    names = list(groups) if in_order else sorted(groups, key=lambda name: _weight(groups[name]), reverse=True)
    rows = names[-_MOST_ROWS:] if in_order else names[:_MOST_ROWS]
    largest = max((_weight(groups[name]) for name in rows), default=(0.0, 0))
    name_width = max(10, min(36, width - 42))
    yield [Piece(title, "bold")]
    for name in rows:
        totals = groups[name]
        line: Line = [Piece(f"  {pad(clip(first_line(name, 200), name_width), name_width)}  {totals.price:>8}  ")]
        facts = f"{tokens(totals.input):>6} in {tokens(totals.output):>6} out {totals.calls:>5} ×"
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


def _bar(part: float, whole: float) -> Line:
    filled = min(_BAR, round(_BAR * part / whole)) if whole else 0
    return [Piece("■" * filled, "accent"), Piece("─" * (_BAR - filled), "dim")]


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
