"""The time view on a session of 10,000 events and 500 snapshots: from a key to the frame that shows the event."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from textual import events as keys

from tests.bench.measure import Measure
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import WORKSPACE, Script
from workbench.client.log_reader import read_history
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.protocol import events as ev
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store
from workbench.tui.app import WorkbenchApp
from workbench.tui.deferred_imports import load_later
from workbench.tui.screens.time_view import TimeScreen
from workbench.view.app_session import AppSession

EVENTS, SNAPSHOTS = 10_000, 500
BUDGET_MS = 50.0
_STEPS, _JUMPS = 300, 60
_ANSWER = "The parser **drops the sign**:\n\n```python\nint(text.lstrip('-'))\n```\n\n1. keep the sign\n2. test it\n"


def measures() -> list[Measure]:
    """All numbers of this bench, in milliseconds."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        os.environ["XDG_DATA_HOME"] = name
        path = _store()
        back, forward, jumps = asyncio.run(_on_screen(path))
    return [
        _row("time view: key to frame, one event back, p95", back),
        _row("time view: key to frame, one event forward, p95", forward),
        Measure("time view: to the message before, median", statistics.median(jumps), "ms", None, None, True),
    ]


def _row(name: str, times: Sequence[float]) -> Measure:
    worst = statistics.quantiles(times, n=20)[-1]
    return Measure(name, worst, "ms", None, BUDGET_MS, worst <= BUDGET_MS)


def recorded_events() -> Iterator[ev.Event]:
    script, number = Script().start(), 0
    while len(script.events) < EVENTS:
        number += 1
        if number % 25 == 1:
            script.user(f"message {number}")
        script.answer(_ANSWER if number % 3 == 0 else f"Step {number}.")
        path = f"{WORKSPACE}/src/file{number % 80}.py"
        text = "".join(f"line {line}\n" for line in range(60))
        delta = ev.FileDelta(path=path, before=text, after=f"{text}step {number}\n")
        script.run("str_replace_editor", "edited", "MEDIUM", command="str_replace", path=path, _files=(delta,))
        if number % 2:
            script.add(ev.VersionTaken, version=f"{number:040x}", files=(delta,))
        script.run("execute_bash", "line\n" * 30, command=f"pytest -k {number}", _exit_code=0)
        if number % 25 == 0:
            script.add(ev.RunEnded, reason="finished")
    yield from script.events[:EVENTS]


def _store() -> Path:
    path = session_path(Locations.from_environment(), "s1")
    path.parent.mkdir(parents=True, mode=0o700)
    with Store.create(path) as store:
        store.append(*recorded_events())
    return path


class _FileClient(FakeClient):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def history(self) -> Any:
        load_later()
        return read_history(Store.open(self._path, readonly=True))


async def _on_screen(path: Path) -> tuple[list[float], list[float], list[float]]:
    app = WorkbenchApp(AppSession(_FileClient(path), Path.cwd()), Settings(model="scripted/demo"))
    frames: list[int] = []
    display = app._display

    def displayed(screen: Any, renderable: Any) -> None:
        display(screen, renderable)
        if isinstance(screen, TimeScreen):
            frames.append(screen.state.last_seq)

    app._display = displayed  # type: ignore[method-assign]
    async with app.run_test(size=(120, 40)) as pilot:
        await _until(lambda: app.state.last_seq == EVENTS)
        await pilot.press("f9")
        await _until(lambda: frames and frames[-1] == EVENTS)
        back = [await _key(app, frames, "left_square_bracket", EVENTS - step) for step in range(1, _STEPS + 1)]
        forward = [await _key(app, frames, "right_square_bracket", EVENTS - _STEPS + step) for step in range(1, _STEPS)]
        messages = [event.seq for event in recorded_events() if isinstance(event, ev.UserMessage)][::-1]
        await _key(app, frames, "left_curly_bracket", messages[0])
        jumps = [await _key(app, frames, "left_curly_bracket", seq) for seq in messages[1 : _JUMPS + 1]]
    return back, forward, jumps


async def _key(app: WorkbenchApp, frames: list[int], key: str, seq: int) -> float:
    """Return the time from a key to the first frame that shows event `seq`, in milliseconds."""
    began = time.perf_counter()
    frames.clear()
    app.post_message(keys.Key(key, None))
    await _until(lambda: seq in frames)
    took = (time.perf_counter() - began) * 1_000
    await asyncio.sleep(0.03)
    return took


async def _until(is_so: Any) -> None:
    end = time.perf_counter() + 120
    while not is_so():
        assert time.perf_counter() < end
        await asyncio.sleep(0.001)


if __name__ == "__main__":
    for measure in measures():
        print(measure)
