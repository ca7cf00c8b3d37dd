"""The main screen in a process of its own: first paint and welcome page beside a bare Textual app, idle CPU, memory."""

from __future__ import annotations

import compileall
import subprocess
import sys
from pathlib import Path

import tests
import workbench
from tests.bench.measure import Measure

_COMMON = """
import asyncio, os, sys, time
from pathlib import Path

cpu = time.process_time

def has_prompt(screen):
    return any(area.size.height for area in screen.query("TextArea"))

def first_frame(app, is_it):
    # notes the CPU time when the first such frame is out; what is loaded behind it comes later
    app.painted = None
    display = app._display

    def displayed(screen, renderable):
        display(screen, renderable)
        if app.painted is None and is_it(screen):
            app.painted = cpu()

    app._display = displayed

async def longest_stall(seconds):
    # the longest time the event loop could not take a key
    end, longest = time.perf_counter() + seconds, 0.0
    while (before := time.perf_counter()) < end:
        await asyncio.sleep(0.001)
        longest = max(longest, time.perf_counter() - before)
    return longest

async def paint(app, idle, is_it=has_prompt):
    first_frame(app, is_it)
    begun = cpu()
    async with app.run_test(size=(120, 40)) as pilot:
        while app.painted is None:
            await asyncio.sleep(0.001)
        painted = app.painted - begun
        stall = await longest_stall(1.5)
        await pilot.pause()
        rest = cpu()
        if idle:
            await asyncio.sleep(idle)
        rest = cpu() - rest
    memory = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    print(START + painted, rest / max(idle, 1), memory, stall * 1_000)
"""
_OURS = (
    _COMMON
    + """
begun = cpu()
from tests.tui.fake_client import FakeClient
from workbench.config.settings import Settings
from workbench.tui.app import WorkbenchApp
from workbench.view.app_session import AppSession
START = cpu() - begun
app = WorkbenchApp(AppSession(FakeClient(), Path.cwd()), Settings(model="scripted/demo"))
asyncio.run(paint(app, 5))
"""
)
_WELCOME = (
    _COMMON
    + """
begun = cpu()
from tests.tui.fake_client import FakeClient
from workbench.config.settings import Settings
from workbench.protocol import live
from workbench.tui.app import WorkbenchApp
from workbench.tui.palette_entries import PastSession
from workbench.tui.session_switcher import SessionSources
from workbench.tui.widgets.welcome import Welcome
from workbench.view.app_session import AppSession
START = cpu() - begun
past = [PastSession(f"s{number}", f"Session {number}", "today") for number in range(3)]
client, sources = FakeClient(), SessionSources(sessions=lambda: past)
app = WorkbenchApp(AppSession(client, Path.cwd()), Settings(model="scripted/demo"), sources)
client.bring(live.EngineState(state="idle"))
asyncio.run(paint(app, 0, lambda screen: screen.query_one(Welcome)._visible_entries))
"""
)
"""Painted once the welcome text shows its example tasks, which are searched in this repository, and sessions.

What is imported behind the first frame is included.
"""
_BARE = (
    _COMMON
    + """
begun = cpu()
from textual.app import App
from textual.containers import Horizontal, Vertical
from textual.scroll_view import ScrollView
from textual.widgets import Static, TextArea
START = cpu() - begun

class Bare(App):
    def compose(self):
        yield Static("status")
        with Horizontal():
            with Vertical():
                yield Static("welcome")
                yield ScrollView()
            with Vertical():
                yield Static("tabs")
                yield ScrollView()
                yield ScrollView()
                yield ScrollView()
        yield Static("activity")
        yield TextArea()
        yield Static("keys")

asyncio.run(paint(Bare(), 0))
"""
)


def measures() -> list[Measure]:
    """Return the first paint as a ratio to a bare app in the same run, then the cost of an idle screen."""
    for package in (workbench, tests):  # like an installed package; not every checkout can be written
        compileall.compile_dir(Path(str(package.__file__)).parent, quiet=2)
    runs = [_figures(_OURS) for _ in range(3)]
    ours = tuple(min(run[place] for run in runs) for place in range(4))
    welcome = min(_figures(_WELCOME)[0] for _ in range(3))
    bare = min(_figures(_BARE) for _ in range(3))
    limit, latest = bare[0] * 1.5, bare[0] * 3
    return [
        Measure("first paint of the main screen, CPU", ours[0], "s", bare[0], limit, ours[0] <= limit),
        Measure("welcome page with examples and sessions, CPU", welcome, "s", bare[0], latest, welcome <= latest),
        Measure("idle screen, share of a core", ours[1] * 100, "%", None, 1.0, ours[1] < 0.01),
        Measure("screen process, resident", ours[2], "MB", bare[2], 80.0, ours[2] <= 80),
        Measure("longest stall behind the first frame", ours[3], "ms", bare[3], 50.0, ours[3] <= 50),
    ]


def _figures(code: str) -> tuple[float, ...]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return tuple(map(float, done.stdout.split()))
