"""A screen closed while a thread still reads for it: late results are dropped, and nothing fails."""

import asyncio
import gc
import threading
import weakref

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.client import threads
from workbench.tui.screens.mcp_servers import ServersScreen
from workbench.tui.screens.rules import RulesScreen
from workbench.tui.screens.tools import ToolsScreen

LOADED = {
    "servers": ("page('servers')", ServersScreen, "_load"),
    "rules": ("page('rules')", RulesScreen, "on_mount"),
    "tools": ("page('tools')", ToolsScreen, "_load"),
}


@pytest.mark.parametrize("name", LOADED)
async def test_results_for_a_closed_screen_are_dropped(tmp_path, monkeypatch, name):
    monkeypatch.setenv("HOME", str(tmp_path))
    arrives, hand_over = threading.Event(), threads._hand_over
    arrives.set()

    def late(*arguments):
        arrives.wait(20)
        hand_over(*arguments)

    monkeypatch.setattr(threads, "_hand_over", late)
    action, kind, reads = LOADED[name]
    app = workbench_app(FakeClient(Script().start(tools=("execute_bash",)).events), directory=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.tools)
        await app.run_action(action)
        await wait_until(pilot, lambda: isinstance(app.screen, kind))
        await pilot.pause(0.2)
        screen = app.screen
        arrives.clear()
        reading = asyncio.create_task(getattr(screen, reads)())
        await asyncio.sleep(0.05)
        assert not reading.done()
        await app.pop_screen()
        arrives.set()
        await reading
        assert len(app.screen_stack) == 1


@pytest.mark.parametrize("name", LOADED)
async def test_a_closed_screen_is_freed(tmp_path, monkeypatch, name):
    monkeypatch.setenv("HOME", str(tmp_path))
    action, kind, _ = LOADED[name]
    app = workbench_app(FakeClient(Script().start(tools=("execute_bash",)).events), directory=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.tools)
        await app.run_action(action)
        await wait_until(pilot, lambda: isinstance(app.screen, kind))
        await pilot.pause(0.2)
        closed = weakref.ref(app.screen)
        app.pop_screen()
        await pilot.pause(0.2)
        gc.collect()
        assert closed() is None
