"""Timers and frames that Textual may lose: `textual_seam.timing`, which `workbench.tui.app` applies, keeps them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.geometry import Size
from textual.pilot import Pilot
from textual.widgets import Static

from tests.tui.app_driver import wait_until
from workbench.tui.textual_seam.screen import LowLatencyScreen

_SMALL, _LARGE = Size(20, 5), Size(60, 12)


class Recorded(App[None]):
    """An app that records which areas it has written to the terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.painted: list[Size] = []
        self.is_large = asyncio.Event()

    def _display(self, screen: Any, renderable: Any) -> None:
        if not self._batch_count and (region := getattr(renderable, "region", None)) is not None:
            self.painted.append(region.size)
            if region.size == _LARGE:
                self.is_large.set()
        super()._display(screen, renderable)


@pytest.mark.parametrize("delay", [0.0, 1e-9, 1e-7, 1e-3])
async def test_delayed_call_runs_when_its_time_is_over_before_its_timer_begins(delay: float):
    called = asyncio.Event()
    async with App[None]().run_test() as pilot:
        pilot.app.set_timer(delay, called.set)
        await asyncio.wait_for(called.wait(), 10)
        assert called.is_set()


async def resize(pilot: Pilot[None]) -> None:
    """Give the terminal another size, and wait until the screen is laid out for it."""
    pilot.app.post_message(events.Resize(_LARGE, _LARGE))
    await wait_until(pilot, lambda: pilot.app.screen.size == _LARGE)


async def uncover(pilot: Pilot[None]) -> None:
    """Give the terminal another size under a screen that covers the first one, then remove that screen."""
    await resize(pilot)
    below = pilot.app.screen_stack[-2]
    pilot.app.pop_screen()
    await wait_until(pilot, lambda: pilot.app.screen is below and below.size == _LARGE)


@pytest.mark.parametrize("change", [resize, uncover])
@pytest.mark.parametrize("batches", [1, 2])
async def test_size_that_changes_during_a_batch_is_painted_after_it(change: Callable[[Pilot[None]], Any], batches: int):
    app = Recorded()
    async with app.run_test(size=_SMALL) as pilot:
        await app.push_screen(LowLatencyScreen())
        await app.screen.mount(Static("one\ntwo"))
        if change is uncover:
            await app.push_screen(LowLatencyScreen())
        await pilot.pause()
        app.painted.clear()
        app.is_large.clear()
        for _ in range(batches):
            app._begin_batch()
        await change(pilot)
        later = asyncio.Event()
        app.screen.call_later(later.set)  # work deferred until the queue is empty has run
        await asyncio.wait_for(later.wait(), 10)
        assert app.painted == []
        for _ in range(batches):
            app._end_batch()
        await asyncio.wait_for(app.is_large.wait(), 10)  # without the pilot, whose messages wake the screen
        assert app.painted[-1] == _LARGE
