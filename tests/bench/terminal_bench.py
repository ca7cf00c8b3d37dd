"""Time from a key to its echo in the real screen while an answer streams through the engine's socket.

Each key is timed from its write to the first bytes after which the terminal shows it; a bare app is timed as the
reference.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pexpect
from msgspec.structs import replace

from tests.bench.measure import Measure
from tests.terminal.screen import Screen
from tests.tui.sample_session import long_session
from workbench.config.locations import Locations
from workbench.session.session_names import session_path, socket_path
from workbench.session.storage.store import Store

_ACTIONS_PER_EVENTS = 5.2
_KEY = "Z"
"""A character that is nowhere else on these screens."""
_ROUNDS, _KEYS = 4, 50
_COLUMNS, _ROWS = 120, 40
_LIMIT = 50.0
_BARE = """
from textual.app import App
from textual.widgets import TextArea

class Bare(App):
    def compose(self):
        yield TextArea()

Bare().run()
"""


def measures() -> Iterator[Measure]:
    """Measure a bare app, then the screen on a short and on a long session."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        bare = _typed(["-c", _BARE], environment(Path(name)))
        short, long = (_of_session(Path(name) / str(count), count) for count in (100, 10_000))
    most = 1.3 * _p95(short)
    for count, took in ((100, short), (10_000, long)):
        label = f"terminal: key to frame, 500 tokens a second, {count:,} events"
        yield Measure(f"{label}, median", statistics.median(took), "ms", statistics.median(bare), None, ok=True)
        yield Measure(f"{label}, p95", _p95(took), "ms", _p95(bare), _LIMIT, _p95(took) <= _LIMIT)
    yield Measure("terminal: … against 100 events, p95", _p95(long), "ms", _p95(short), most, _p95(long) <= most)


def _of_session(home: Path, count: int) -> list[float]:
    """Return milliseconds for each key on a session with this number of events."""
    home.mkdir()
    env = environment(home)
    locations = Locations.from_environment(env)
    path = session_path(locations, "bench")
    path.parent.mkdir(parents=True)
    first, *events = long_session(round(count / _ACTIONS_PER_EVENTS))
    with Store.create(path) as store:
        store.append(replace(first, id="bench", workspace=str(home)))
        for at in range(0, len(events), 1_000):
            store.append(*events[at : at + 1_000])
        last = store.last_seq
    with _engine(socket_path(locations, "bench"), last):
        return _typed(["-m", "workbench", "resume", "bench"], env)


@contextlib.contextmanager
def _engine(path: Path, last: int) -> Iterator[None]:
    command = [sys.executable, "-m", "tests.bench.streaming_engine", str(path), str(last)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as engine:
        assert engine.stdout is not None
        assert engine.stdout.readline() == b"listening\n"
        try:
            yield
        finally:
            engine.kill()


def _typed(command: Sequence[str], env: dict[str, str]) -> list[float]:
    """Type in a terminal at a user's rate; return the milliseconds until each key was shown."""
    process = pexpect.spawn(sys.executable, list(command), env=env, dimensions=(_ROWS, _COLUMNS), timeout=None)
    wrote: list[tuple[float, bytes]] = []
    reader = threading.Thread(target=read_all, args=(process.fileno(), wrote), daemon=True)
    reader.start()
    time.sleep(6)
    rounds = [_round(process.fileno()) for _ in range(_ROUNDS)]
    process.close(force=True)
    reader.join(10)
    return _between(rounds, wrote)


def read_all(terminal: int, wrote: list[tuple[float, bytes]]) -> None:
    with contextlib.suppress(OSError):  # it has ended
        while data := os.read(terminal, 1 << 16):
            wrote.append((time.perf_counter(), data))


def _round(terminal: int) -> list[float]:
    """Return when each of the keys was pressed; afterwards the input line is emptied again."""
    pressed = []
    chance = random.Random(len(_KEY))
    for _ in range(_KEYS):
        pressed.append(time.perf_counter())
        os.write(terminal, _KEY.encode())
        time.sleep(chance.uniform(0.06, 0.18))
    time.sleep(1)
    os.write(terminal, b"\x15")  # ctrl+u
    time.sleep(1)
    return pressed


def _between(rounds: Sequence[Sequence[float]], wrote: Sequence[tuple[float, bytes]]) -> list[float]:
    """Return the time from each key to the bytes after which the prompt shows it."""
    screen = Screen(_COLUMNS, _ROWS)
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    counts = []
    for at, data in wrote:
        screen.feed(decode(data))
        counts.append((at, screen.text.count(_KEY)))
    took = []
    for pressed in rounds:
        for number, began in enumerate(pressed, 1):
            ended = next((at for at, count in counts if at > began and count >= number), None)
            assert ended is not None, f"a key was never shown:\n{screen.text}"
            took.append((ended - began) * 1e3)
    return took


def _p95(took: Sequence[float]) -> float:
    return statistics.quantiles(took, n=20)[-1]


def environment(home: Path) -> dict[str, str]:
    """An empty home, and a terminal with colours."""
    own = {"HOME": str(home), "TERM": "xterm-256color", "COLORTERM": "truecolor", "OHW_MODEL": "scripted/demo"}
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        own[f"XDG_{kind}_HOME"] = str(home / kind.lower())
    own["XDG_RUNTIME_DIR"] = str(home)
    keep = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    return {**keep, **own}
