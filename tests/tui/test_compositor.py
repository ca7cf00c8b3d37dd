"""Our compositor paints front to back and shows the same as Textual's own, whole or in spans."""

from __future__ import annotations

import gc
import weakref

import pytest
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static, TextArea

from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import long_session
from tests.tui.waiting import until
from workbench.config.settings import Settings
from workbench.tui import garbage_collection, keystrokes
from workbench.tui.app import WorkbenchApp
from workbench.tui.textual_seam.compositor import FrontToBackCompositor
from workbench.tui.textual_seam.scrollbar import paint_scrollbars_at_once
from workbench.view.app_session import AppSession


class Layered(Screen[None]):
    """Nested boxes, a scrolled one, and one over the others."""

    CSS = """
    Layered { layers: below above; }
    #outer { border: round red; padding: 1 2; }
    #scrolled { border: heavy green; height: 8; }
    #over { layer: above; offset: 5 2; width: 20; height: 5; background: blue; border: solid white; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._compositor = FrontToBackCompositor()

    def compose(self) -> ComposeResult:
        with Vertical(id="outer"):
            with VerticalScroll(id="scrolled"):
                for number in range(20):
                    sign = "表示" if number > 9 else "plain"
                    yield Static(Content(f"line {number} {sign} of several words"))
            yield TextArea("what is written")
        yield Static(Content("over all"), id="over")


def drawn(lines) -> list[list[tuple[str, object]]]:
    """Return the character and style of each cell, independent of the segments."""
    return [
        [(letter, segment.style) for segment in Strip.join(line.values()) for letter in segment.text] for line in lines
    ]


def drawn_by_both(
    compositor: FrontToBackCompositor,
) -> tuple[list[list[tuple[str, object]]], list[list[tuple[str, object]]]]:
    """Return the cells as our compositor draws them and as Textual's own does."""
    region = compositor.size.region
    theirs = drawn(Compositor._render_chops(compositor, region, lambda y: True))
    assert any(letter not in " │" for line in theirs for letter, _ in line), "something is drawn"
    return drawn(compositor._render_chops(region, lambda y: True)), theirs


async def test_widget_is_reported_as_resized_although_the_new_map_was_asked_for_first():
    app = App()
    async with app.run_test(size=(60, 24)) as pilot:
        screen = Layered()
        await app.push_screen(screen)
        await pilot.pause()
        compositor, scrolled = screen._compositor, screen.query_one("#scrolled")
        scrolled.styles.height = 5
        screen.clear_cached_dimensions()
        screen._clear_arrangement_cache()
        screen.query_one("#outer")._clear_arrangement_cache()
        compositor._full_map_invalidated = True  # as after a scroll
        assert compositor.full_map[scrolled].region.height == 5
        assert scrolled.outer_size.height == 8
        assert scrolled in compositor.reflow(screen, screen.size).resized


async def test_layered_screen_equals_textuals_painting():
    app = App()
    async with app.run_test(size=(60, 24)) as pilot:
        screen = Layered()
        await app.push_screen(screen)
        for row in range(0, 12, 3):
            screen.query_one("#scrolled").scroll_to(y=row, animate=False, force=True)
            await pilot.pause()
            ours, theirs = drawn_by_both(screen._compositor)
            assert ours == theirs


async def test_only_changed_spans_are_written():
    app = App()
    async with app.run_test(size=(60, 24)) as pilot:
        screen = Layered()
        await app.push_screen(screen)
        await pilot.pause()
        compositor = screen._compositor
        whole = drawn(compositor._render_chops(compositor.size.region, lambda y: True))
        compositor._dirty_regions = {Region(3, 2, 10, 3), Region(8, 3, 30, 1), Region(50, 20, 30, 30)}
        update = compositor.render_partial_update()
        assert update is not None
        assert update.spans == [(2, 3, 13), (3, 3, 38), (4, 3, 13), *((y, 50, 60) for y in range(20, 24))]
        for y, first, last in update.spans:
            assert drawn([update.chops[y]])[0] == whole[y][first:last]
            assert min(update.chops[y]) == first
            assert update.chop_ends[y][-1] == last
        assert compositor.render_partial_update() is None


@pytest.mark.usefixtures("freezing_apps")
async def test_long_session_equals_textuals_painting(tmp_path):
    client = FakeClient(list(long_session(60)))
    app = WorkbenchApp(AppSession(client, tmp_path), Settings(model="scripted/demo"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.screen.query("ActionCard"))
        await pilot.pause()
        ours, theirs = drawn_by_both(app.screen._compositor)
        assert ours == theirs
        assert gc.get_freeze_count() > 1_000
    assert gc.get_freeze_count() == 0  # a process that continues without the screen frees all of it


@pytest.mark.usefixtures("freezing_apps")
def test_frozen_objects_are_freed_when_another_session_is_opened():
    class Node:
        def __init__(self) -> None:
            self.me = self

    gc.disable()  # otherwise it might be found before it is put aside
    gone = weakref.ref(Node())
    garbage_collection.freeze()
    gc.enable()
    gc.collect()
    assert gone() is not None
    garbage_collection.collect_all()
    assert gone() is None


def test_garbage_is_collected_while_nobody_types(monkeypatch):
    class Node:
        def __init__(self) -> None:
            self.me = self

    gc.disable()
    try:
        nodes = [Node() for _ in range(10_000)]
        gone = weakref.ref(nodes[-1])
        nodes.clear()
        monkeypatch.setattr(keystrokes, "seconds_ago", lambda: 0.0)
        garbage_collection.collect_while_idle()
        assert gone() is not None
        monkeypatch.setattr(keystrokes, "seconds_ago", lambda: 60.0)
        garbage_collection.collect_while_idle()
        assert gone() is None
    finally:
        gc.enable()


async def test_scrollbar_has_the_cells_that_textual_paints():
    paint_scrollbars_at_once()
    app = App()
    async with app.run_test(size=(60, 24)) as pilot:
        screen = Layered()
        await app.push_screen(screen)
        scrolled = screen.query_one("#scrolled")
        bar = scrolled.vertical_scrollbar
        for row in range(14):
            scrolled.scroll_to(y=row, animate=False, force=True)
            await pilot.pause()
            region = bar.size.region
            ours, theirs = bar.render_lines(region), Widget.render_lines(bar, region)
            assert bar.position == row
            assert drawn([{0: strip} for strip in ours]) == drawn([{0: strip} for strip in theirs])
