"""A long session in the real screen in a pseudo terminal: `python -m tests.bench.soak_bench [STEPS]`.

This process is the engine: it writes each step of an agent (streamed words, an answer in Markdown, a command and its
output) to the session file and sends it to the screen through the session's socket. The memory of the screen's process
is measured.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pexpect

from tests.bench.measure import Measure
from tests.bench.terminal_bench import environment, read_all
from tests.tui.sample_session import Script
from workbench.config.locations import Locations
from workbench.engine.broadcast import Broadcast
from workbench.engine.front_ends import FrontEnd, FrontEnds
from workbench.engine.sockets import listen
from workbench.protocol.commands import Hello
from workbench.protocol.live import EngineState, TextDelta
from workbench.session.session_names import session_path, socket_path
from workbench.session.storage.store import Store

STEPS = 5_000
PACE = 0.15
"""Seconds a step takes."""
_WARM = 500
"""The step after which the screen does not grow any more."""
_LIMIT_MB, _GROWTH_MB = 80.0, 6.0
_ID = "soak"
_WORDS = "Step **{0}** begins: I look at `src/part_{0}.py`.\n\n- one thing {0}\n- another\n\n```python\nx = {0}\n```\n"
_OUTPUT = "\n".join(f"tests/test_{{0}}.py::test_{number} PASSED" for number in range(12))


def measures() -> Iterator[Measure]:
    """The memory after all steps, and how much of it came after the first part."""
    sizes = soak(STEPS)
    warm = next(size for step, size in sizes if step >= min(_WARM, STEPS // 2))
    end = sizes[-1][1]
    yield Measure(f"screen after {STEPS:,} steps", end, "MB", None, _LIMIT_MB, end <= _LIMIT_MB)
    grown = end - warm
    yield Measure(f"… grown since step {_WARM}", grown, "MB", None, _GROWTH_MB, grown <= _GROWTH_MB)


def soak(steps: int, pace: float = PACE, looks: int = 20) -> list[tuple[int, float]]:
    """Play the steps; return (step, MB of the screen's process) at `looks` points and after a rest at the end."""
    with tempfile.TemporaryDirectory(prefix="ohw-soak-") as name:
        env = environment(Path(name))
        locations = Locations.from_environment(env)
        path = session_path(locations, _ID)
        path.parent.mkdir(parents=True)
        script = Script().start(id=_ID, workspace=name).user("Do a lot.")
        with Store.create(path) as store:
            store.append(*script.events)
            return asyncio.run(_Engine(locations, store, script).live(env, steps, pace, looks))


class _Engine:
    """The engine's end of one session's socket."""

    def __init__(self, locations: Locations, store: Store, script: Script) -> None:
        self._path = socket_path(locations, _ID)
        self._store, self._script = store, script
        self._screens = FrontEnds()

    async def live(self, env: dict[str, str], steps: int, pace: float, looks: int) -> list[tuple[int, float]]:
        broadcast = Broadcast(asyncio.get_running_loop(), self._screens.forward)
        server = await asyncio.start_unix_server(self._greet, sock=listen(self._path))
        screen = pexpect.spawn(
            sys.executable, ["-m", "workbench", "resume", _ID], env=env, dimensions=(40, 120), timeout=None
        )
        threading.Thread(target=read_all, args=(screen.fileno(), []), daemon=True).start()
        sizes: list[tuple[int, float]] = []
        async with server:
            while not len(self._screens):
                await asyncio.sleep(0.05)
            await asyncio.sleep(1)
            for number in range(steps):
                if number % max(1, steps // looks) == 0:
                    sizes.append((number, _megabytes(screen.pid)))
                    print(*sizes[-1], file=sys.stderr, flush=True)
                await self._step(broadcast, number, pace)
            broadcast.live(EngineState(state="idle"))
            await asyncio.sleep(4)
            sizes.append((steps, _megabytes(screen.pid)))
        screen.kill(signal.SIGKILL)
        screen.wait()
        return sizes

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        screen = FrontEnd(writer, self._store.last_seq)
        screen.send(Hello(seen=self._store.last_seq, pid=os.getpid()))
        self._screens.add(screen)
        with contextlib.suppress(OSError):
            await reader.read()

    async def _step(self, broadcast: Broadcast, number: int, pace: float) -> None:
        words = _WORDS.format(number)
        for at in range(0, len(words), 40):
            broadcast.live(TextDelta(text=words[at : at + 40]))
        await asyncio.sleep(pace / 2)
        first = len(self._script.events)
        self._script.answer(words)
        self._script.run("execute_bash", _OUTPUT.format(number), command=f"echo {number}", _exit_code=0)
        for event in self._store.append(*self._script.events[first:]):
            broadcast.event(event)
        await asyncio.sleep(pace / 2)


def _megabytes(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    print(*soak(int(sys.argv[1]) if len(sys.argv) > 1 else STEPS)[-1])
