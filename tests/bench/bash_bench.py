"""What the shell tool costs, against a bare shell on a pseudo terminal in the same run.

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

from tests.bench.measure import Measure
from workbench.tools.execute_bash import BashTool, ExecuteBashAction

PROMPT = b"<ready>"


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


def through_the_tool(tool: BashTool, command: str) -> Callable[[], object]:
    def run() -> None:
        seen = tool(ExecuteBashAction(command=command))
        assert "exit code 0" in seen.text

    return run


def measure_calls(folder: str) -> list[Measure]:
    """`true` and 7 MB of output through the whole tool."""
    bare, tool = BareShell(), BashTool(folder)
    try:
        through_the_tool(tool, "true")()
        base = median_ms(lambda: bare.run("true"), 300)
        value = median_ms(through_the_tool(tool, "true"), 300)
        base_seq = median_ms(lambda: bare.run("seq 1000000"), 3)
        value_seq = median_ms(through_the_tool(tool, "seq 1000000"), 3)
    finally:
        bare.close()
        tool.close()
    return [
        Measure("execute_bash: true", value, "ms", base, 3.0, value <= 3.0),
        Measure("execute_bash: seq 1000000 (7 MB)", value_seq, "ms", base_seq, 500.0, value_seq <= 500.0),
    ]


def measure_start(folder: str) -> Measure:
    """From nothing to the result of the first command, against a bare shell to its first prompt."""

    def bare() -> None:
        BareShell().close()

    took = []
    for _ in range(9):
        tool = BashTool(folder)
        took.append(median_ms(through_the_tool(tool, "true"), 1))
        tool.close()
    value = statistics.median(took)
    return Measure("execute_bash: start to ready", value, "ms", median_ms(bare, 9), 100.0, value <= 100.0)


def measure_interrupt(folder: str) -> Measure:
    """From `interrupt()` to the result of a command that ignores C-c."""
    tool = BashTool(folder)
    assert tool.executor is not None
    took = []
    try:
        for _ in range(5):
            tool(ExecuteBashAction(command="rm -f ready"))
            command = ExecuteBashAction(command="trap '' INT; touch ready; sleep 60")
            thread = threading.Thread(target=lambda command=command: tool(command))
            thread.start()
            while not Path(folder, "ready").exists():
                time.sleep(0.005)
            began = time.perf_counter()
            tool.executor.interrupt()
            thread.join()
            took.append((time.perf_counter() - began) * 1e3)
    finally:
        tool.close()
    value = max(took)
    return Measure("execute_bash: interrupt, C-c ignored (worst of 5)", value, "ms", None, 200.0, value <= 200.0)


def measures() -> list[Measure]:
    """All of them."""
    with tempfile.TemporaryDirectory(prefix="bash-bench-") as folder:
        return [*measure_calls(folder), measure_start(folder), measure_interrupt(folder)]


if __name__ == "__main__":
    for row in measures():
        print(row)
