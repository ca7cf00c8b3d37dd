"""The real main screen on long sessions, each in a process of its own: opening, keys in a stream, memory, idle, DOM."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.measure import Measure
from tests.tui.sample_session import long_session
from workbench.session.storage.store import Store

_ACTIONS_PER_EVENTS = 5.2
_KEYS = """
import asyncio, json, os, statistics, sys, time
from pathlib import Path
from textual import events as keys


async def until(is_so):
    end = time.perf_counter() + 120
    while not is_so():
        assert time.perf_counter() < end
        await asyncio.sleep(0.002)


def note_frames(app, kind):
    # when the first frame was given out after the prompt held so many letters
    first_frames, display = {}, app._display

    def displayed(screen, renderable):
        display(screen, renderable)
        for prompt in screen.query(kind):
            first_frames.setdefault(len(prompt.text), time.perf_counter())

    app._display = displayed
    return first_frames


async def key_to_frame(app, prompt, first_frames):
    # from the key to the first frame that was given out after the prompt held it
    size, began = len(prompt.text) + 1, time.perf_counter()
    app.post_message(keys.Key("x", "x"))
    await until(lambda: size in first_frames)
    return (first_frames[size] - began) * 1e3


async def keys_to_frames(app, prompt, first_frames):
    # the slowest of twenty
    took = []
    for _ in range(60):
        took.append(await key_to_frame(app, prompt, first_frames))
        await asyncio.sleep(0.03)
    return statistics.quantiles(took, n=20)[-1]
"""
_BARE = (
    _KEYS
    + """
from textual.app import App
from textual.widgets import TextArea


class Bare(App):
    def compose(self):
        yield TextArea()


async def main():
    app = Bare()
    first_frames = note_frames(app, TextArea)
    async with app.run_test(size=(120, 40)) as pilot:
        await asyncio.sleep(1)
        print(json.dumps({"key": await keys_to_frames(app, app.query_one(TextArea), first_frames)}))


asyncio.run(main())
"""
)
"""A bare app with only a prompt and no stream: the time that the machine and Textual themselves take at this moment."""
_SCREEN = (
    _KEYS
    + """
from tests.tui.fake_client import FakeClient
from workbench.config.settings import Settings
from workbench.protocol import events as ev, live
from workbench.session.storage.store import Store
from workbench.tui.app import WorkbenchApp
from workbench.view.app_session import AppSession
from workbench.tui.deferred_imports import load_later
from workbench.client.log_reader import read_history
from workbench.tui.widgets.prompt import Prompt

path, count, wanted = sys.argv[1], int(sys.argv[2]), sys.argv[3]


class FileClient(FakeClient):
    def history(self):
        load_later()
        self.asked = time.perf_counter()
        return read_history(Store.open(Path(path), readonly=True))


async def stream(client, tokens=42, times=12):
    # 500 tokens a second as the engine joins them
    number = 0
    while True:
        number += 1
        words = " ".join(f"word{number}-{place}" for place in range(tokens))
        client.bring(live.TextDelta(text=words + ("\\n\\n" if number % 6 == 0 else " ")))
        await asyncio.sleep(1 / times)


async def main():
    client, found = FileClient(), {}
    app = WorkbenchApp(AppSession(client, Path.cwd()), Settings(model="scripted/demo"))
    first_frames = note_frames(app, Prompt)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.state.last_seq >= count)
        await until(lambda: app.screen.query("ActionCard, AgentText, UserText"))
        await pilot.pause()
        found["open"] = time.perf_counter() - client.asked
        found["nodes"] = len(app.screen.query("*"))
        if wanted == "keys":
            client.bring(live.EngineState(state="thinking"))
            prompt, streaming = app.screen.query_one(Prompt), asyncio.create_task(stream(client))
            await asyncio.sleep(1)
            found["key"] = await keys_to_frames(app, prompt, first_frames)
            streaming.cancel()
            prompt.load_text("")
            client.bring(ev.ActionProposed(seq=count + 1, action_id="q", response_id="r", call_id="q",
                       tool="execute_bash", arguments={"command": "rm -rf build"}, risk="HIGH"),
                       ev.ActionAssessed(seq=count + 2, action_id="q", risk="HIGH", fingerprint="f"),
                       live.EngineState(state="deciding"))
            await until(lambda: app.screen.is_modal)
            await asyncio.sleep(3)
            before = os.times()
            await asyncio.sleep(5)
            after = os.times()
            found["idle"] = (after.user + after.system - before.user - before.system) / 5
        found["memory"] = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    print(json.dumps(found))


asyncio.run(main())
"""
)


def measures() -> list[Measure]:
    """All measures of this file."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        directory = Path(name)
        short = _figures(directory, 100, "keys")
        middle = _figures(directory, 500, "open")
        long = _figures(directory, 10_000, "keys")
        bare = _run(_BARE)["key"]
        longest = _figures(directory, 100_000, "open")
    most = max(1.3 * short["key"], 0.0)
    return [
        _under("open 10,000 events to the last screenful", long["open"], "s", 0.5),
        _under("open 100,000 events to the last screenful", longest["open"], "s", 1.0),
        Measure(
            "key to frame, 500 tokens a second, 10,000 events, p95", long["key"], "ms", bare, 50.0, long["key"] <= 50
        ),
        Measure("… against 100 events", long["key"], "ms", short["key"], most, long["key"] <= most),
        _under("screen process after 10,000 events", long["memory"], "MB", 80.0),
        _under("idle with a question open, share of a core", long["idle"] * 100, "%", 1.0),
        _under("nodes of the screen after 500 events", middle["nodes"], "nodes", 400.0),
    ]


def _under(name: str, value: float, unit: str, limit: float) -> Measure:
    return Measure(name, value, unit, None, limit, value <= limit)


def _figures(directory: Path, count: int, name: str) -> dict[str, float]:
    path = directory / f"{count}-{name}.ohw"
    events = list(long_session(round(count / _ACTIONS_PER_EVENTS)))
    with Store.create(path) as store:
        for first in range(0, len(events), 1_000):
            store.append(*events[first : first + 1_000])
        last = store.last_seq
    return _run(_SCREEN, str(path), str(last), name)


def _run(code: str, *given: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", code, *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    for one in measures():
        print(one)
