"""The frame of a key is painted before everything else, and no other update is lost by it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.content import Content
from textual.geometry import Region
from textual.widgets import Static, TextArea

from tests.tui.waiting import until
from workbench.tui import keystrokes
from workbench.tui.textual_seam.screen import LowLatencyScreen


class StoppedClock(LowLatencyScreen):
    """Paints only what does not wait for the clock, until it `ticks`."""

    def __init__(self) -> None:
        super().__init__()
        self.ticks = False
        self.painted: list[Region] = []

    def compose(self) -> ComposeResult:
        yield Static(Content("something else"))
        yield TextArea()

    def _on_timer_update(self) -> None:
        if self.ticks:
            super()._on_timer_update()

    def _compositor_refresh(self) -> None:
        self.painted += self._compositor._dirty_regions
        super()._compositor_refresh()


def painted(screen: StoppedClock, widget: Static | TextArea) -> bool:
    """Return whether this widget was painted, and nothing else with it."""
    inside = [region for region in screen.painted if widget.region.contains_region(region)]
    return bool(inside) and inside == screen.painted


async def test_change_by_a_key_is_painted_alone_and_at_once():
    app = App()
    async with app.run_test(size=(60, 24)) as pilot:
        screen = StoppedClock()
        await app.push_screen(screen)
        await until(pilot, lambda: bool(screen.focused and screen.focused.region))
        area, other = screen.query_one(TextArea), screen.query_one(Static)
        screen.painted.clear()
        other.update(Content("waits for the clock\nwith a layout"))

        async def typed() -> bool:
            keystrokes.note_key()
            await pilot.press("x")
            return painted(screen, area)

        while not await typed():  # on a busy machine a key may be read late
            assert not screen.painted
        assert "x" in area.text

        screen.painted.clear()
        screen.ticks = True
        await until(pilot, lambda: other.size.height == 2 and bool(screen.painted))
        assert any(other.region.overlaps(region) for region in screen.painted)


async def test_painting_without_a_key_waits_for_the_clock():
    app = App()
    async with app.run_test(size=(60, 24)) as pilot:
        screen = StoppedClock()
        await app.push_screen(screen)
        area = screen.query_one(TextArea)
        await until(pilot, lambda: screen.focused is area)
        screen.painted.clear()
        keystrokes.note_frame()
        area.insert("x")
        await until(pilot, lambda: area in screen._dirty_widgets)
        assert not screen.painted


class Restyled(LowLatencyScreen):
    """Counts how often the whole widget is styled again."""

    times = 0

    def compose(self) -> ComposeResult:
        yield TextArea()

    def update_node_styles(self, animate: bool = True) -> None:
        self.times += 1
        super().update_node_styles(animate)


async def test_resumed_screen_is_restyled_but_a_new_one_is_not():
    app = App()
    async with app.run_test(size=(60, 24)) as pilot:
        screen = Restyled()
        await app.push_screen(screen)
        await until(pilot, lambda: bool(screen.query_one(TextArea).region))
        assert screen.times == 0
        screen.post_message(events.ScreenResume())
        await until(pilot, lambda: screen.times)


def test_frame_is_due_from_a_key_press_until_it_is_painted(monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr(keystrokes, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(keystrokes, "_last_key", [0.0])
    monkeypatch.setattr(keystrokes, "_last_frame", [0.0])
    keystrokes.note_key()
    now[0] += 0.005
    assert keystrokes.is_frame_due()
    assert not keystrokes.is_between_keys()

    keystrokes.note_frame()
    assert not keystrokes.is_frame_due()
    assert keystrokes.is_between_keys()
    now[0] += 0.05
    assert not keystrokes.is_between_keys()  # the next key may come

    keystrokes.note_key()
    now[0] += 0.031
    assert keystrokes.is_between_keys()  # a key without a frame
    now[0] += 1
    assert not keystrokes.is_frame_due()
    assert not keystrokes.is_typing()
