"""`ohw batch` with 200 workers and 20,000 tasks: how much memory the client and the scheduler need, and who is busy.

The attempts have no session, so the rate is the most that a run can do; the workers are threads of four processes. The
time per attempt is processor time: on two cores, the processes would only measure how they share them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil

from tests.bench.measure import Measure

_TASKS = 20_000
_WORKERS = 200
_PROCESSES = 4
_MOST_MB = 200.0


def measures() -> Iterator[Measure]:
    """Return all measures of this file."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name, ExitStack() as resources:
        yield from _measured(Path(name), resources)


def _measured(home: Path, resources: ExitStack) -> Iterator[Measure]:
    rows = ({"id": f"t{number}", "prompt": "Do it.", "mode": "high"} for number in range(_TASKS))
    (home / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = home / "scheduler.json"
    words = ["dask", "scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", str(file)]
    scheduler = _started(home, resources, *words)
    while not (file.exists() and file.read_text().strip().endswith("}")):
        time.sleep(0.1)
    url = json.loads(file.read_text())["address"]
    count = str(_WORKERS // _PROCESSES)
    for _ in range(_PROCESSES):
        _started(home, resources, "tests.bench.batch_workers", url, count)
    _wait_for_workers(url)
    before = _seconds(scheduler.pid)
    began = time.perf_counter()
    arguments = ["batch", "tasks.jsonl", "-o", "run", "--model", "openai/x", "--scheduler", url, "--json"]
    client = _started(home, resources, "workbench", *arguments)
    _, status, usage = os.wait4(client.pid, 0)
    client.returncode = os.waitstatus_to_exitcode(status)
    assert client.returncode == 0, (home / "log").read_text()[-2000:]
    seconds = time.perf_counter() - began
    for who, memory, used in (
        ("client", usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime),
        ("scheduler", _most_memory(scheduler.pid), _seconds(scheduler.pid) - before),
    ):
        yield Measure(f"batch: memory of the {who}, {_TASKS:,} tasks", memory, "MB", None, _MOST_MB, memory <= _MOST_MB)
        each = used / _TASKS * 1000
        yield Measure(f"batch: processor time of the {who} for each attempt", each, "ms", None, None, True)
    yield Measure(f"batch: attempts a second, {_WORKERS} workers", _TASKS / seconds, "/s", None, None, True)


def _started(home: Path, resources: ExitStack, *words: str) -> subprocess.Popen[bytes]:
    own = {"HOME": str(home), "XDG_DATA_HOME": f"{home}/data", "XDG_CONFIG_HOME": str(home)}
    path = str(Path(__file__).parents[2])
    with (home / "log").open("ab") as log:
        env = {**os.environ, **own, "PYTHONPATH": path}
        command = [sys.executable, "-m", *words]
        process = subprocess.Popen(command, cwd=home, env=env, stdout=subprocess.DEVNULL, stderr=log)
    resources.callback(process.kill)
    return process


def _wait_for_workers(url: str) -> None:
    code = f"from distributed import Client; Client({url!r}).wait_for_workers({_WORKERS})"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def _seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def _most_memory(pid: int) -> float:
    """Return the most memory in MB that a process has had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
