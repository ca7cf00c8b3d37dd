"""Seconds to open, scroll and search a diff of 100,000 changed lines."""

from __future__ import annotations

import time
from collections.abc import Callable
from difflib import SequenceMatcher

from rich.style import Style

from tests.bench.measure import Measure
from workbench.diff.hunks import compare
from workbench.tui.widgets.diff_painter import Painter
from workbench.view.diff.document import DiffDocument
from workbench.view.diff.geometry import Geometry, LayoutOptions
from workbench.view.diff.search import find


def measures() -> list[Measure]:
    """Return the figures of the diff view, with their limits."""
    many = _changed(100_000, every=2)
    compared = compare("a.py", *many)
    file = _changed(5_000, every=100)
    plain = _best(lambda: _difflib_alone(*file))
    return [
        _seconds("100,000 changed lines: compare and lay out", _best(lambda: _open(*many)), 1.0, None),
        _seconds(
            "100,000 changed lines: one frame of scrolling, the slowest of 100", _slowest_frame(*many), 0.016, None
        ),
        _seconds("100,000 changed lines: search in all of it", _best(lambda: find("new", compared)), 1.0, None),
        _seconds("5,000-line file, 50 lines changed", _best(lambda: _open(*file)), 0.05, plain),
    ]


def _changed(lines: int, *, every: int) -> tuple[str, str]:
    before = [f"    value_{number} = compute({number})\n" for number in range(lines)]
    after = [f"{line[:-1]}  # new\n" if number % every == 0 else line for number, line in enumerate(before)]
    return "".join(before), "".join(after)


def _open(before: str, after: str) -> None:
    Geometry(DiffDocument([compare("a.py", before, after)]), LayoutOptions(120, beside=False, wrapped=False))


def _slowest_frame(before: str, after: str) -> float:
    """Paint 50 new rows at each of 100 places of the file, distant ones included; return the slowest time in
    seconds.
    """
    geometry = Geometry(DiffDocument([compare("a.py", before, after)]), LayoutOptions(120, beside=False, wrapped=False))
    times = []
    for frame in range(100):
        top = frame * geometry.height // 100 if frame % 2 else frame * 50
        begun = time.perf_counter()
        painter = Painter(geometry, lambda name: Style(), 0, 0)
        for row in range(top, top + 50):
            painter.paint(*geometry.at(row))
        times.append(time.perf_counter() - begun)
    return max(times)


def _difflib_alone(before: str, after: str) -> None:
    SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False).get_opcodes()


def _best(run: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return min(times)


def _seconds(name: str, value: float, budget: float, reference: float | None) -> Measure:
    return Measure(name, value, "s", reference, budget, value <= budget)
