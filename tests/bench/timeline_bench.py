"""The timeline with 10,000 rows: filling it, adding a row, and the time from a key to the screen while text streams."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence

from tests.bench.measure import Measure
from tests.tui.panel_app import PanelApp
from tests.tui.sample_session import fold, long_session
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.tui.widgets.timeline import Timeline
from workbench.view.reducer import apply
from workbench.view.state import SessionState

ROWS = 10_000
KEYS = 60
KEY_BUDGET_MS = 50.0


def measures() -> list[Measure]:
    """All numbers of this bench, in milliseconds."""
    began = time.perf_counter()
    state = fold(list(long_session(ROWS)))
    folded = (time.perf_counter() - began) * 1_000
    per_event = folded / state.last_seq * 1_000
    first, more, keys = asyncio.run(_on_screen(state))
    short = asyncio.run(_on_screen(fold(list(long_session(100)))))[1]
    worst = statistics.quantiles(keys, n=20)[-1]
    return [
        Measure("fold an event of 10,000 actions", per_event, "µs", None, None, True),
        Measure("show 10,000 timeline rows", first, "ms", None, 500.0, first <= 500.0),
        Measure("one row more at 10,000 rows", more, "ms", short, max(2 * short, 1.0), more <= max(2 * short, 1.0)),
        Measure("key to frame while text streams, p95", worst, "ms", None, KEY_BUDGET_MS, worst <= KEY_BUDGET_MS),
    ]


async def _on_screen(state: SessionState) -> tuple[float, float, Sequence[float]]:
    app = PanelApp(SessionState())
    async with app.run_test(size=(160, 50)) as pilot:
        timeline = app.query_one(Timeline)
        began = time.perf_counter()
        timeline.show(state, None)
        for y in range(timeline.size.height):
            timeline.render_line(y)
        first = (time.perf_counter() - began) * 1_000
        app.state = state
        app.show(None)
        timeline.focus()
        await pilot.pause()
        keys = [await _key(app, timeline, number) for number in range(KEYS)]
        times = [_one_row_more(app, timeline, number) for number in range(20)]
    return first, statistics.median(times), keys


async def _key(app: PanelApp, timeline: Timeline, number: int) -> float:
    """Return the time from the key to the painted line, with a piece of streamed text just before it."""
    app.take(live.TextDelta(text=f"word{number} " + ("\n\n" if number % 10 == 0 else "")))
    await asyncio.sleep(0.02)
    began = time.perf_counter()
    before = timeline.cursor
    app.simulate_key("up" if number % 2 == 0 else "down")
    while timeline.cursor == before and time.perf_counter() - began < 1.0:
        await asyncio.sleep(0)
    timeline.render_line(timeline.cursor - timeline.scroll_offset.y)
    app.screen._compositor.render_strips()
    return (time.perf_counter() - began) * 1_000


def _one_row_more(app: PanelApp, timeline: Timeline, number: int) -> float:
    event = ev.ActionProposed(
        seq=app.state.last_seq + 1, action_id=f"more{number}", response_id="r", call_id="c", tool="execute_bash"
    )
    began = time.perf_counter()
    timeline.show(app.state, apply(app.state, event))
    timeline.render_line(timeline.size.height - 1)
    return (time.perf_counter() - began) * 1_000


if __name__ == "__main__":
    for measure in measures():
        print(measure)
