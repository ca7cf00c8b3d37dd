"""Overhead of the shell tool, compared with a bare shell on a pseudo terminal in the same run.

Run it alone: `python -m tests.bench.bash_bench`.
"""

from __future__ import annotations

import os
import pty
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.bench.measure import Measure
from workbench.tools.execute_bash.definition import BashTool, ExecuteBashAction

PROMPT = b"<ready>"
GIGABYTE = 10**9


class BareShell:
    """A bash on a pseudo terminal, read until its prompt: the least that a round trip can cost."""

    def __init__(self) -> None:
        self.master, slave = pty.openpty()
        command = ["bash", "--norc", "--noprofile", "--noediting", "-i"]
        env = {**os.environ, "PS1": PROMPT.decode(), "TERM": "dumb"}
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
        )
        os.close(slave)
        self.read()
        self.run("stty -echo -onlcr")

    def read(self) -> int:
        total = 0
        data = b""
        while not data.endswith(PROMPT):
            piece = os.read(self.master, 65536)
            total += len(piece)
            data = data[-len(PROMPT) :] + piece
        return total

    def run(self, command: str) -> int:
        os.write(self.master, command.encode() + b"\n")
        return self.read()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def median_ms(work: Callable[[], object], times: int) -> float:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append((time.perf_counter() - began) * 1e3)
    return statistics.median(took)


def best_ms(work: Callable[[], object], times: int) -> float:
    """Return the shortest of several runs: load from other processes only ever adds time."""
    return min(median_ms(work, 1) for _ in range(times))


def through_the_tool(tool: BashTool, command: str) -> Callable[[], object]:
    def run() -> None:
        seen = tool(ExecuteBashAction(command=command))
        assert "exit code 0" in seen.text

    return run


def measure_calls(directory: str) -> list[Measure]:
    """Measure `true` and 7 MB of output through the whole tool."""
    bare, tool = BareShell(), BashTool(directory)
    try:
        through_the_tool(tool, "true")()
        base = median_ms(lambda: bare.run("true"), 300)
        value = median_ms(through_the_tool(tool, "true"), 300)
        base_seq = best_ms(lambda: bare.run("seq 1000000"), 5)
        value_seq = best_ms(through_the_tool(tool, "seq 1000000"), 5)
    finally:
        bare.close()
        tool.close()
    return [
        Measure("execute_bash: true", value, "ms", base, 3.0, value <= 3.0),
        Measure("execute_bash: seq 1000000 (7 MB)", value_seq, "ms", base_seq, 500.0, value_seq <= 500.0),
    ]


def measure_start(directory: str) -> Measure:
    """Measure the time to the result of the first command; the reference is a bare shell's time to its first prompt."""

    def bare() -> None:
        BareShell().close()

    def start() -> None:
        with BashTool(directory) as tool:
            began = time.perf_counter()
            through_the_tool(tool, "true")()
            took.append((time.perf_counter() - began) * 1e3)

    took: list[float] = []
    for _ in range(9):
        start()
    value = min(took)
    return Measure("execute_bash: start to ready", value, "ms", best_ms(bare, 9), 100.0, value <= 100.0)


def measure_flood(directory: str) -> list[Measure]:
    """Send 1 GB of output through the whole tool into its file: measures the growth of memory and the time."""
    command = f"yes {'x' * 199} | head -c {GIGABYTE}"
    process = psutil.Process()
    bare = BareShell()
    before = process.memory_info().rss
    bare_ms = median_ms(lambda: bare.run(command), 1)
    bare_growth = process.memory_info().rss - before
    bare.close()
    with BashTool(directory, state_dir=Path(directory)) as tool:
        assert tool.executor is not None
        through_the_tool(tool, "true")()
        seen: list[int] = []
        tool.executor.on_output = lambda _: seen.append(process.memory_info().rss)
        before = process.memory_info().rss
        value_ms = median_ms(through_the_tool(tool, command), 1)
    growth, base = (max(seen) - before) / 1e6, bare_growth / 1e6
    return [
        Measure("execute_bash: 1 GB of output, growth of memory", growth, "MB", base, 100.0, growth < 100.0),
        Measure("execute_bash: 1 GB of output, kept in its file", value_ms / 1e3, "s", bare_ms / 1e3, None, True),
    ]


def measure_interrupt(directory: str) -> Measure:
    """Measure the time from `interrupt()` to the result of a command that ignores C-c."""
    tool = BashTool(directory)
    assert tool.executor is not None
    took = []
    try:
        for _ in range(5):
            tool(ExecuteBashAction(command="rm -f ready"))
            command = ExecuteBashAction(command="trap '' INT; touch ready; sleep 60")
            thread = threading.Thread(target=lambda command=command: tool(command))
            thread.start()
            while not Path(directory, "ready").exists():
                time.sleep(0.005)
            began = time.perf_counter()
            tool.executor.interrupt()
            thread.join()
            took.append((time.perf_counter() - began) * 1e3)
    finally:
        tool.close()
    value = max(took)
    base = median_ms(bare_interrupt(), 5)
    return Measure("execute_bash: interrupt, C-c ignored (worst of 5)", value, "ms", base, 200.0, value <= 200.0)


def bare_interrupt() -> Callable[[], object]:
    """Return a function that sends C-c to a bare shell whose command obeys it, and waits for the prompt."""
    bare = BareShell()

    def run() -> None:
        os.write(bare.master, b"sleep 60\n")
        while os.tcgetpgrp(bare.master) == bare.process.pid:
            time.sleep(0.001)
        os.write(bare.master, b"\x03")
        bare.read()

    return run


def measures() -> list[Measure]:
    """Return all measures of this file."""
    with tempfile.TemporaryDirectory(prefix="bash-bench-") as directory:
        first = [*measure_calls(directory), measure_start(directory), measure_interrupt(directory)]
        return [*first, *measure_flood(directory)]


if __name__ == "__main__":
    for row in measures():
        print(row)
