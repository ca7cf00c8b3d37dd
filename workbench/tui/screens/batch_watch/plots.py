"""The plots of a run: what each model has solved and cost over time. Needs textual-plotext."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from textual.app import ComposeResult
from textual.containers import Container
from textual_plotext import PlotextPlot

from workbench.batch.watched_run import RunView
from workbench.client.threads import in_daemon
from workbench.text import visible
from workbench.view.batch_watch import RunCurve, RunCurves, curves_of, round_ticks
from workbench.view.wrapping import clip

_COLORS: Final = ("#3b8ea5", "#c9803a", "#7a9e4e", "#a56bb5", "#b5545c", "#8a8a8a")
_PLAIN_MARKERS: Final = "*ox+#%"
"""Markers in ASCII, which also tell the models apart without colors."""
_MOST_MODELS: Final = 6
_LONGEST_NAME: Final = 20
_HOURS: Final = 2.0
"""The hours from which the axis is in hours, not minutes."""


class RunPlots(Container):
    """Two plots, beside each other if the terminal has few rows."""

    DEFAULT_CSS = "RunPlots { layout: vertical; height: 1fr; background: $surface; }"

    def __init__(self) -> None:
        super().__init__(id="watch-plots")
        self._solved = PlotextPlot(id="plot-solved")
        self._cost = PlotextPlot(id="plot-cost")

    def compose(self) -> ComposeResult:
        """Yield the plots."""
        yield self._solved
        yield self._cost

    def show(self, view: RunView) -> None:
        """Show a run as it is now."""
        self.run_worker(self._show(view), exclusive=True)

    async def _show(self, view: RunView) -> None:
        curves = await in_daemon(partial(curves_of, view))
        self._draw(self._solved, "Solved attempts", curves.solved, curves)
        self._draw(self._cost, "Cost in US dollars", curves.cost, curves)

    def _draw(self, plot: PlotextPlot, title: str, lines: Sequence[RunCurve], curves: RunCurves) -> None:
        longest = max((curve.hours[-1] for curve in curves.solved), default=0.0)
        unit, factor = ("hours", 1.0) if longest >= _HOURS else ("minutes", 60.0)
        plt: Any = plot.plt
        plt.clear_figure()
        plt.title(title)
        plt.xlabel(unit)
        terminal = getattr(self.app, "terminal", None)
        is_plain = self.app.no_color or (terminal is not None and terminal.is_ascii)
        for number, curve in enumerate(lines[:_MOST_MODELS]):
            marker = _PLAIN_MARKERS[number] if is_plain else "braille"
            hours, sums = _steps(curve)
            name = clip(visible(curve.name.rpartition("/")[2], lines=False), _LONGEST_NAME)
            color = tuple(int(_COLORS[number][at : at + 2], 16) for at in (1, 3, 5))
            plt.plot([each * factor for each in hours], sums, label=name, color=color, marker=marker)
        for set_ticks, most in ((plt.xticks, longest * factor), (plt.yticks, _highest(lines))):
            ticks = round_ticks(most)
            set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        plot.refresh()


def _highest(curves: Sequence[RunCurve]) -> float:
    return max((curve.sums[-1] for curve in curves), default=0.0)


def _steps(curve: RunCurve) -> tuple[list[float], list[float]]:
    """Return the points of a curve that rises in steps."""
    hours, sums = [curve.hours[0]], [curve.sums[0]]
    for hour, total in zip(curve.hours[1:], curve.sums[1:], strict=True):
        hours += [hour, hour]
        sums += [sums[-1], total]
    return hours, sums
