"""Cost of starting: `--version` and `--help` compared with bare Python, `ohw run` with the import of litellm.

The subjects alternate, so that they run under the same conditions, and their medians are compared: the elapsed time of
commands, but the processor time of `ohw run`, because that waits for nothing but the model.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.bench.measure import Measure
from tests.bench.start_timing import in_turns, to_request
from workbench.llm.litellm_setup import QUIET

_QUICK_ROUNDS = 25
_SLOW_ROUNDS = 5
_PYTHON = sys.executable
_MODELS = {"direct": "openai/x", "through litellm": "hosted_vllm/x"}
_DIRECT = 0.375
"""Of the import of litellm: 0.9 s on a machine where that takes 2.4 s."""
_THROUGH_LITELLM = 0.9
_OHW = str(Path(_PYTHON).with_name("ohw"))


def measures() -> Iterable[Measure]:
    """Return all measures of this file."""
    commands = {
        "bare": (_PYTHON, "-c", "pass"),
        "ohw --version": (_OHW, "--version"),
        "python -m workbench --version": (_PYTHON, "-m", "workbench", "--version"),
        "ohw --help": (_OHW, "--help"),
    }
    took = in_turns({name: lambda words=words: _seconds(words) for name, words in commands.items()}, _QUICK_ROUNDS)
    bare = took.pop("bare")
    yield from (_against(name, value, bare, 3.0) for name, value in took.items())
    runs = {
        f"ohw run: start to first request, {name}": partial(_to_first_request, model) for name, model in _MODELS.items()
    }
    took = in_turns({"loaded": _import_litellm, **runs}, _SLOW_ROUNDS)
    loaded = took.pop("loaded")
    for (name, value), limit in zip(took.items(), (_DIRECT, _THROUGH_LITELLM), strict=True):
        yield _against(name, value, loaded, limit)


def _against(name: str, value: float, reference: float, factor: float) -> Measure:
    budget = reference * factor
    return Measure(name, value * 1000, "ms", reference * 1000, budget * 1000, value <= budget)


def _seconds(words: Sequence[str], more: Mapping[str, str] | None = None) -> float:
    begun = time.perf_counter()
    subprocess.run(
        words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | dict(more or {})
    )
    return time.perf_counter() - begun


def _import_litellm() -> float:
    before = os.times()
    _seconds((_PYTHON, "-c", "import litellm"), QUIET)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _to_first_request(model: str) -> float:
    """Return the seconds of the processor from the start of the process until the server has the request."""
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "HOME": home, "XDG_DATA_HOME": home, "OPENAI_API_KEY": "sk-bench", "OHW_API_KEY": ""}
        return to_request(env, home, model).processor
