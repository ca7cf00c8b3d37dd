"""Opening a closed session in the engine by the length of its log; the time must not depend on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

from tests.bench.measure import Measure
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.protocol.events import (
    ActionAssessed,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    ActionStarted,
    Event,
    HistoryCondensed,
    ModelResponded,
    RawToolCall,
    RunEnded,
    SessionStarted,
    UserMessage,
    VersionTaken,
)
from workbench.protocol.usage import Usage
from workbench.session.session_factory import OpenedSession, open_session
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store

_LENGTHS = (100, 10_000, 100_000)
_ROUNDS = 5
_LIMIT = 0.3
_RUN = 20
"""Steps of a run, from the user's message to its end."""
_CONDENSED = 240
"""Steps after which the history is condensed; the same number stays uncondensed."""
_KILLED = "import sys; from tests.bench.opening_bench import be_killed; be_killed(*sys.argv[1:])"
_OUTPUT = "src/module.py:12: some line that a search found, as tools print them\n" * 10


def measures() -> Iterator[Measure]:
    """Measure sessions of all lengths in turns; the shortest one is the reference."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        home = Path(name)
        where = _locations(home)
        for length in _LENGTHS:
            write_session(where, home, length)
            _opened(where, length).close()
        times = {length: [_seconds(where, length)] for length in _LENGTHS}
        for _ in range(1, _ROUNDS):
            for length in _LENGTHS:
                times[length].append(_seconds(where, length))
        shortest = min(times[_LENGTHS[0]])
        yield from _after_kills(where, home, shortest)
    for length in _LENGTHS:
        took = min(times[length])
        yield Measure(f"open {length:,} events in the engine", took, "s", shortest, _LIMIT, took <= _LIMIT)


def _after_kills(where: Locations, home: Path, shortest: float) -> Iterator[Measure]:
    length, times = _LENGTHS[-1], []
    for _ in range(_ROUNDS):
        subprocess.run([sys.executable, "-c", _KILLED, str(home), str(length)], check=False)
        times.append(_seconds(where, length))
    took = min(times)
    yield Measure(f"open {length:,} events after kill -9", took, "s", shortest, _LIMIT, took <= _LIMIT)


def write_session(where: Locations, workspace: Path, length: int) -> None:
    """Write the log of a session that worked with one tool, in many runs, and condensed its history."""
    path = session_path(where, _name(length))
    path.parent.mkdir(parents=True, exist_ok=True)
    with Store.create(path) as store:
        batch: list[Event] = [
            SessionStarted(id=path.stem, workspace=str(workspace), model="scripted/demo", mode="medium")
        ]
        for step in count():
            batch += _step(step, store.last_seq + len(batch))
            if store.last_seq + len(batch) > length:
                break
            if len(batch) > 1_000:
                store.append(*batch)
                batch.clear()
        store.append(*batch)


def _step(number: int, last: int) -> Iterator[Event]:
    """Yield the events of a step; `last` is the number of the event before it."""
    if number % _RUN == 0:
        yield UserMessage(text=f"Go on with part {number}.")
    response, call = f"response-{number}", f"call-{number:08}"
    command = {"command": f"grep -n part src/module_{number}.py"}
    raw = RawToolCall(id=call, name="execute_bash", arguments=f'{{"command": "{command["command"]}"}}')
    usage = Usage(input=20_000, output=100)
    yield ModelResponded(
        response_id=response, model="m", text="I look at the next part.", tool_calls=(raw,), usage=usage, seen=last
    )
    yield ActionProposed(
        action_id=call, response_id=response, call_id=call, tool="execute_bash", arguments=command, summary="Search"
    )
    yield ActionAssessed(action_id=call, risk="LOW", needs_decision=False, fingerprint="f" * 64)
    yield ActionDecided(action_id=call, verdict="approved", by="mode", fingerprint="f" * 64)
    yield ActionStarted(action_id=call)
    observation = {"content": [{"type": "text", "text": _OUTPUT}], "exit_code": 0}
    yield ActionObserved(action_id=call, observation=observation, duration=0.01)
    yield VersionTaken(action_id=call, version="a" * 40)
    if number % _CONDENSED == _CONDENSED - 1:
        yield HistoryCondensed(first=20, last=max(20, last - 7 * _CONDENSED), summary="GOAL: go on. DONE: some parts.")
    if number % _RUN == _RUN - 1:
        yield RunEnded(reason="waiting")


def _locations(home: Path) -> Locations:
    return Locations(home / "c", home / "d", home / "s", home / "r")


def be_killed(home: str, length: str) -> None:
    """Kill this process in the middle of a run."""
    _opened(_locations(Path(home)), int(length)).session.send("one more")
    os.kill(os.getpid(), signal.SIGKILL)


def _name(length: int) -> str:
    return f"20260101-bench-{length}"


def _opened(where: Locations, length: int) -> OpenedSession:
    settings = Settings(model="scripted/demo")
    return open_session(where, settings, _name(length), on_event=lambda event: None, on_live=lambda live: None)


def _seconds(where: Locations, length: int) -> float:
    began = time.perf_counter()
    with closing(_opened(where, length)):
        return time.perf_counter() - began
