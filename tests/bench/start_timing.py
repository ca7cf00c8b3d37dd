"""Shared by the benches of the start: alternating timed subjects, and `ohw run` until its request arrives."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import psutil

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import finish


def in_turns(subjects: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Return the median time of each subject; they alternate, after a first round that only fills the caches."""
    took: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(rounds + 1):
        for name, subject in subjects.items():
            seconds = subject()
            if number:
                took[name].append(seconds)
    return {name: statistics.median(values) for name, values in took.items()}


@dataclass(frozen=True)
class Taken:
    """Seconds of the clock, and of the processor by all threads of the process."""

    clock: float
    processor: float


def to_request(env: Mapping[str, str], workspace: str, name: str = "openai/x") -> Taken:
    """Return how long it takes from the start of `ohw run` until the server has the request."""
    with ModelServer([finish()]) as server:
        model = ("--model", name, "--api-base", server.base_url, "--workspace", workspace)
        begun = time.perf_counter()
        process = psutil.Popen(
            [sys.executable, "-m", "workbench", "run", "hello", *model],
            env=dict(env),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        arrived = server.arrived.wait(60)
        used = process.cpu_times()
        taken = Taken(time.perf_counter() - begun, used.user + used.system)
        process.wait(60)
    if not arrived:
        raise RuntimeError("no request came")
    return taken
