"""What it costs to start: `--version` and `--help` against bare Python, `ohw run` against the import of litellm."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.bench.measure import Measure
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import finish

_QUICK_ROUNDS = 15
_SLOW_ROUNDS = 3
_OHW = ("-m", "workbench")
_LITELLM = "from workbench.llm.client import load_litellm; load_litellm()"


def measures() -> Iterable[Measure]:
    """The figures of this area."""
    bare = _best(("-c", "pass"), _QUICK_ROUNDS)
    command = str(Path(sys.executable).with_name("ohw"))
    for option in ("--version", "--help"):
        yield _against(f"ohw {option}", _best((command, option), _QUICK_ROUNDS), bare, 3.0)
    loaded, sent = [], []
    for _ in range(_SLOW_ROUNDS):  # in turns, so that both see the same machine
        loaded.append(_seconds(("-c", _LITELLM)))
        sent.append(_to_first_request())
    yield _against("ohw run: start to first request", min(sent), min(loaded), 1.1)


def _against(name: str, value: float, reference: float, factor: float) -> Measure:
    budget = reference * factor
    return Measure(name, value * 1000, "ms", reference * 1000, budget * 1000, value <= budget)


def _best(arguments: Sequence[str], rounds: int) -> float:
    return min(_seconds(arguments) for _ in range(rounds))


def _seconds(arguments: Sequence[str]) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def _to_first_request() -> float:
    """From the start of the process until the server has the request."""
    with tempfile.TemporaryDirectory() as home, ModelServer([finish()]) as server:
        env = {**os.environ, "HOME": home, "XDG_DATA_HOME": home, "OPENAI_API_KEY": "sk-bench", "OHW_API_KEY": ""}
        model = ("--model", "openai/x", "--api-base", server.base_url, "--workspace", home)
        begun = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *_OHW, "run", "hello", *model],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        arrived = server.arrived.wait(60)
        taken = time.perf_counter() - begun
        process.wait(60)
    if not arrived:
        raise RuntimeError("no request came")
    return taken
