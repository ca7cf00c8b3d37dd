"""Objects that the screen no longer shows are freed without the garbage collector: no reference cycle holds them.

Each test is one cycle that Textual leaves behind and `textual_seam.memory.break_reference_cycles` breaks.
"""

from __future__ import annotations

import asyncio
import gc
import pkgutil
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from rich.color import ColorSystem
from rich.style import Style
from textual.app import App
from textual.cache import LRUCache
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.geometry import Region, Spacing
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Markdown, Static, TextArea
from textual.worker import Worker

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.protocol.live import TextDelta
from workbench.tui.textual_seam.memory import CACHES, clear_layout_caches
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.markdown_stream import plain_parser

_TEXT = "Step **1** begins:\n\n- one\n- two\n\n```python\nx = 1\n```\n"


@pytest.fixture
def left() -> Iterator[list[Any]]:
    """Yield a list that, after `gc.collect`, contains the objects that only the collector could free."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


async def test_continued_session_leaves_no_widget_to_the_garbage_collector(left: list[Any]):
    script = Script().start().user("Do.")
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        panel = app.screen.query_one(Conversation)
        for number in range(50):
            client.bring(*(TextDelta(text=_TEXT[at : at + 20]) for at in range(0, len(_TEXT), 20)))
            await pilot.pause(0.12 if number > 44 else 0)  # the last few are painted as they stream
            first = len(script.events)
            script.answer(_TEXT)
            script.run("execute_bash", "out", command=f"echo {number}", _exit_code=0)
            client.bring(*script.events[first:])
            await pilot.pause()
        await wait_until(pilot, lambda: bool(panel.query("MarkdownFence")))
        await pilot.pause(0.3)
        gc.collect()
        assert {
            type(each).__name__ for each in left if isinstance(each, DOMNode | Strip | Worker | asyncio.Task)
        } == set()
        assert not [each for each in left if isinstance(each, dict | set) and len(each) > 50]


async def test_removed_card_is_freed_at_once():
    script = Script().start().user("Do.")
    script.answer(_TEXT)
    for number in range(3):
        script.run("execute_bash", "out", command=f"echo {number}", _exit_code=0)
    app = workbench_app(FakeClient(script.events))
    async with app.run_test(size=(120, 40)) as pilot:
        panel = app.screen.query_one(Conversation)
        await wait_until(pilot, lambda: len(panel.query("ActionCard")) == 3 and bool(panel.query("MarkdownFence")))
        await pilot.pause()
        gc.collect()  # all of it is in the oldest generation now
        gc.disable()
        try:
            references = [weakref.ref(each) for view in panel.children for each in view.walk_children(with_self=True)]
            panel.mounted.views.clear()
            await panel.remove_children()
            await panel.mount(Static("x"))
            app.screen.refresh(layout=True)

            def are_freed() -> bool:
                for pump in (app, app.screen, *app.screen.walk_children()):
                    pump.call_later(
                        lambda: None
                    )  # until its next message, it holds the last, which may name its sender
                return all(ref() is None for ref in references)

            await wait_until(pilot, are_freed)
        finally:
            gc.enable()
        assert len(references) > 10


class _Plain(App[None]):
    """A bare app: the tests are about Textual's own widgets."""


def test_widget_never_mounted_is_freed(left: list[Any]):
    Static("x")
    gc.collect()
    assert not [each for each in left if isinstance(each, DOMNode)]


async def test_component_styles_are_freed_on_each_restyling(left: list[Any]):
    async with _Plain().run_test() as pilot:
        area = TextArea("x")
        await pilot.app.mount(area)
        for _ in range(3):
            pilot.app.stylesheet.apply(area)
        assert area.get_component_styles("text-area--cursor").rich_style
        await area.remove()
        await pilot.pause()
        del area
        gc.collect()
        assert not [each for each in left if isinstance(each, DOMNode)]


async def test_styles_of_a_mounted_widget_still_change_it():
    async with _Plain().run_test() as pilot:
        box = Static("x")
        box.styles.width = 5
        await pilot.app.mount(box)
        await pilot.pause()
        assert box.size.width == 5
        box.styles.width = 9
        await pilot.pause()
        assert box.size.width == 9


async def test_map_of_each_layout_is_freed(left: list[Any]):
    async with _Plain().run_test() as pilot:
        box = Static("x")
        await pilot.app.mount(box)
        for width in range(3, 9):
            box.styles.width = width
            await pilot.pause()
        gc.collect()
        assert not [each for each in left if isinstance(each, dict) and box in each]
        assert not [each for each in left if isinstance(each, set) and box in each]
        assert pilot.app.screen.find_widget(box).region.width == 8


def test_cached_objects_are_freed_when_a_cache_is_cleared_or_dropped(left: list[Any]):
    for drop in (LRUCache.clear, lambda _: None):
        cache: LRUCache[int, Widget] = LRUCache(4)
        for number in range(6):
            cache[number] = Static("x")
        assert len(cache) == 4
        assert 5 in cache
        drop(cache)
        del cache
    gc.collect()
    assert not [each for each in left if isinstance(each, DOMNode)]


async def test_painted_lines_of_a_removed_widget_are_freed():
    async with _Plain().run_test() as pilot:
        box = Static("x")
        await pilot.app.mount(box)
        await pilot.pause()
        lines = weakref.ref(box._styles_cache)
        assert box._styles_cache._cache
        await box.remove()
        del box
        await pilot.app.mount(Static("y"))
        for _ in range(2):
            pilot.app.screen.refresh(layout=True)
            await pilot.pause()
        gc.collect()
        assert lines() is None


async def test_removed_widget_is_not_among_cached_displayed_children():
    async with _Plain().run_test() as pilot:
        boxes = [Static("x"), Static("y")]
        group = Vertical(*boxes)
        await pilot.app.mount(group)
        assert [*group.displayed_children] == [*group.displayed_and_visible_children] == boxes
        removed = weakref.ref(boxes.pop())
        await group.children[-1].remove()
        await pilot.pause()
        gc.collect()
        assert removed() is None
        assert [*group.displayed_children] == boxes


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}])
async def test_each_line_is_filtered_by_the_same_filters(env: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    app = workbench_app(FakeClient(), set={"terminal": {"ascii": True}})
    async with app.run_test():
        filters = app.get_line_filters()
        assert len(filters) == 3 + len(env)  # one of Textual's own
        assert [id(each) for each in filters] == [id(each) for each in app.get_line_filters()]


@pytest.mark.parametrize("ends", ["by itself", "cancelled"])
async def test_finished_worker_is_freed(left: list[Any], ends: str):
    async with _Plain().run_test() as pilot:

        async def work() -> None:
            await asyncio.sleep(0 if ends == "by itself" else 9)

        worker = pilot.app.run_worker(work())
        await pilot.pause()
        worker.cancel()
        await pilot.pause()
        assert worker.is_finished
        del worker
        await pilot.pause()
        gc.collect()
        assert not [each for each in left if isinstance(each, Worker)]


async def test_all_messages_share_a_parser():
    async with _Plain().run_test() as pilot:
        texts = [Markdown("*x*", parser_factory=plain_parser) for _ in range(2)]
        await pilot.app.mount_all(texts)
        assert plain_parser() is plain_parser()
        assert [each.children[0].name for each in texts] == ["paragraph_open"] * 2


_ARGUMENTS = {
    "shrink": (Region(0, 0, 9, 9), Spacing(1, 1, 1, 1)),
    "grow": (Region(0, 0, 9, 9), Spacing(1, 1, 1, 1)),
    "translate": (Region(0, 0, 9, 9), (1, 1)),
    "cached_cell_len": ("some words",),
    "render_ansi": (Strip, Style(), ColorSystem.TRUECOLOR),
}


@pytest.mark.parametrize("name", CACHES)
def test_layout_caches_are_emptied(name: str):
    cached = pkgutil.resolve_name(name)
    function = getattr(cached, "__func__", cached)
    function(*_ARGUMENTS.get(name.rpartition(".")[2].rpartition(":")[2], (Region(0, 0, 9, 9), Region(1, 2, 3, 4))))
    assert function.cache_info().currsize
    clear_layout_caches()
    assert not function.cache_info().currsize
