"""Draws the charts of a report as SVG inside an HTML page, whose style gives them their colors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from html import escape
from typing import Final

from workbench.batch.document import Chart, GridChart, IntervalChart, ScatterChart, ShareChart
from workbench.batch.figures import interval, money, percent
from workbench.text import visible

_WIDTH: Final = 760
_LABELS: Final = 230
"""The width of the labels to the left of a chart; all sizes are in pixels of the page at its full width."""
_LONGEST_LABEL: Final = 32
_ROW: Final = 30
_AXIS: Final = 24
_VALUES: Final = 60
"""The width of the numbers to the right of a chart."""
_NARROWEST_NUMBER: Final = 12
"""The width of a part of a bar per digit of the number that is written into it."""
_CELL_HEIGHT: Final = 16
_MOST_GRID_ROWS: Final = 300
_STATES: Final = {
    "solved": "s1",
    "done": "s2",
    "unsolved": "s3",
    "limit": "s4",
    "question": "s5",
    "stuck": "s6",
    "error": "s7",
}
"""The class, which is a color, of each state; the rest is gray."""
_OTHER: Final = "s8"


@singledispatch
def svg_of(chart: Chart) -> Iterator[str]:
    """Yield the lines of a chart. Raises TypeError for anything that is no chart."""
    raise TypeError(f"{type(chart).__name__} is no chart")


@svg_of.register
def _intervals(chart: IntervalChart) -> Iterator[str]:
    height = _ROW * len(chart.bars) + _AXIS
    yield _opening(height, "Solved by model, with 95% intervals")
    yield from _percent_grid(height)
    for i, bar in enumerate(chart.bars):
        center = _ROW * i + _ROW / 2
        low, value, high = map(_x, (bar.low, bar.value, bar.high))
        about = f"{bar.label}: {percent(bar.value)}, 95% interval {interval(bar.low, bar.high)}"
        yield f"<g>{_hint(about)}{_label(bar.label, center)}"
        yield _box(_x(0), center - 7, value - _x(0), 14, "bar")
        yield f'<path class="whisker" d="M{low:.1f} {center - 5:.1f}v10m0 -5H{high:.1f}m0 -5v10"/>'
        yield f"{_text(_WIDTH, center, percent(bar.value), 'end')}</g>"
    yield "</svg>"


@svg_of.register
def _shares(chart: ShareChart) -> Iterator[str]:
    states = list(dict.fromkeys(state for _, parts in chart.bars for state, _ in parts))
    height = _ROW * len(chart.bars) + 8
    yield f'<p class="legend">{"".join(map(_key, states))}</p>'
    yield _opening(height, "How the attempts of each model ended")
    for i, (label, parts) in enumerate(chart.bars):
        center = _ROW * i + _ROW / 2
        total = sum(number for _, number in parts)
        yield _label(label, center)
        start = _x(0)
        for state, number in parts:
            width = (_x(1) - _x(0)) * number / total
            about = f"{label}: {number:,} {state}, {percent(number / total)}"
            box = _box(start, center - 9, max(0.5, width - 1), 18, _STATES.get(state, _OTHER))
            is_wide = width > _NARROWEST_NUMBER * len(f"{number:,}")
            number_in_it = _text(start + width / 2, center, f"{number:,}", "middle inside") if is_wide else ""
            yield f"<g>{_hint(about)}{box}{number_in_it}</g>"
            start += width
        yield _text(_WIDTH, center, f"{total:,}", "end")
    yield "</svg>"


@svg_of.register
def _scatter(chart: ScatterChart) -> Iterator[str]:
    top, bottom, height = 10, 250, 292
    most = max(x for _, x, _ in chart.points) or 1.0
    start, end = 60, _WIDTH - 20

    def at(x: float, y: float) -> tuple[float, float]:
        return start + x / most * (end - start), bottom - y * (bottom - top)

    yield _opening(height, f"{chart.y_title} and {chart.x_title.lower()}, by model")
    for i in range(5):
        x, y = at(most * i / 4, i / 4)
        yield f'<path class="grid" d="M{start} {y:.1f}H{end}M{x:.1f} {top}V{bottom}"/>'
        yield _text(start - 8, y, f"{i * 25}%", "end axis")
        yield _text(x, bottom + 14, money(most * i / 4), "end axis" if i == 4 else "middle axis")
    yield _text((start + end) / 2, bottom + 34, chart.x_title, "middle axis")
    points = [(label, *at(x, y), f"{label}: {percent(y)}, {money(x)}") for label, x, y in chart.points]
    for (label, x, y, about), label_y in zip(points, _apart([y for _, _, y, _ in points]), strict=True):
        opens_right = x < (start + end) / 2
        beside = _text(x + (10 if opens_right else -10), label_y, _short(label), "" if opens_right else "end")
        yield f'<g>{_hint(about)}<circle class="bar" cx="{x:.1f}" cy="{y:.1f}" r="5"/>{beside}</g>'
    yield "</svg>"


def _apart(heights: Sequence[float]) -> list[float]:
    """Return the heights of labels, moved down where they would be printed over each other."""
    moved = list(heights)
    last = float("-inf")
    for i in sorted(range(len(heights)), key=heights.__getitem__):
        last = moved[i] = max(heights[i], last + 15)
    return moved


@svg_of.register
def _grid(chart: GridChart) -> Iterator[str]:
    rows = chart.rows[:_MOST_GRID_ROWS]
    width = min(120.0, (_WIDTH - _LABELS - 8) / len(chart.columns))
    longest = max(6, int(width / 7))
    height = _CELL_HEIGHT * (len(rows) + 1) + 6
    yield _opening(height, "Solved by task and model")
    for i, model in enumerate(chart.columns):
        name = _short(model.rpartition("/")[2], longest)
        yield f"<g>{_hint(model)}{_text(_LABELS + 8 + width * (i + 0.5), 8, name, 'middle axis')}</g>"
    for i, (task, rates) in enumerate(rows):
        center = _CELL_HEIGHT * (i + 1.5) + 4
        yield _label(task, center)
        for j, rate in enumerate(rates):
            if rate is not None:
                about = f"{task}, {chart.columns[j]}: {percent(rate)}"
                # Five steps can be told from each other at a glance.
                box = _box(
                    _LABELS + 8 + width * j, center - 7, width - 2, _CELL_HEIGHT - 2, f"r{round(rate * 4 + 0.001)}"
                )
                yield f"<g>{_hint(about)}{box}</g>"
    yield "</svg>"
    yield (
        '<p class="legend">Attempts that solved the task: <span><i class="k r0"></i>none</span>'
        '<span><i class="k r2"></i>half</span><span><i class="k r4"></i>all</span></p>'
    )
    if len(chart.rows) > len(rows):
        yield f"<p>The first {len(rows)} of {len(chart.rows):,} tasks.</p>"


def _opening(height: float, about: str) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{_safe(about)}">'


def _percent_grid(height: float) -> Iterable[str]:
    for i in range(5):
        x = _x(i / 4)
        yield f'<path class="grid" d="M{x:.1f} 0V{height - _AXIS}"/>'
        yield _text(x, height - 10, f"{i * 25}%", "middle axis")


def _x(share: float) -> float:
    return _LABELS + 8 + share * (_WIDTH - _LABELS - 8 - _VALUES)


def _label(text: str, y: float) -> str:
    return _text(_LABELS, y, _short(text), "end")


def _text(x: float, y: float, text: str, class_: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{class_}">{_safe(text)}</text>'


def _box(x: float, y: float, width: float, height: float, class_: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{class_}"/>'


def _key(state: str) -> str:
    return f'<span><i class="k {_STATES.get(state, _OTHER)}"></i>{_safe(state)}</span>'


def _hint(text: str) -> str:
    return f"<title>{_safe(text)}</title>"


def _short(text: str, longest: int = _LONGEST_LABEL) -> str:
    """Return a label that fits; names differ most often at their end, so the middle is cut."""
    text = visible(text, lines=False)
    if len(text) <= longest:
        return text
    head = longest // 3
    return f"{text[:head]}…{text[len(text) - (longest - head - 1) :]}"


def _safe(text: str) -> str:
    return escape(visible(text, lines=False))
