"""Time from Ctrl+Q until the process of the screen has ended and the shell has the terminal; a bare app beside it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.bench.measure import Measure
from tests.bench.start_timing import in_turns
from tests.bench.terminal_bench import environment
from tests.terminal.terminal import Terminal

_ROUNDS = 7
_LIMIT = 80.0
_QUIT = "\x11"
_BARE = "from textual.app import App; from textual.widgets import Static\nclass Bare(App):\n def compose(self):\n"
_BARE += "  yield Static('Ask anything')\nBare().run()"


def measures() -> Iterator[Measure]:
    """Measure the main screen of a new session; a bare app is the reference."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        env = environment(Path(name))
        subjects = {
            "bare": lambda: _seconds(("-c", _BARE), env),
            "ohw": lambda: _seconds(("-m", "workbench", "--workspace", name), env),
        }
        took = in_turns(subjects, _ROUNDS)
    milliseconds = took["ohw"] * 1e3
    yield Measure(
        "quit, until the process has ended", milliseconds, "ms", took["bare"] * 1e3, _LIMIT, milliseconds <= _LIMIT
    )


def _seconds(command: Sequence[str], env: Mapping[str, str]) -> float:
    with Terminal(command, 120, 40, env, program=()) as terminal:
        terminal.wait_for("Ask anything")
        time.sleep(1.5)  # the engine starts after the first frame
        begun = time.perf_counter()
        terminal.process.send(_QUIT)
        terminal.wait_exit()
        return time.perf_counter() - begun
