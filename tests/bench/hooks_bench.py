"""What a hook adds to what it runs, and what hooks add to a step if there are none."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.measure import Measure
from workbench.config.locations import Locations
from workbench.hooks.answer import answer_of
from workbench.hooks.hook import Hook
from workbench.hooks.occurrence import Occurrence, payload
from workbench.hooks.runner import HookRunner
from workbench.llm.model import Cancel
from workbench.protocol.events import ActionProposed
from workbench.sandbox.sandbox import Boundary, Sandbox

_RUNS = 60
_ADDED = 8.0
_LOADED = ("workbench.hooks.runner", "workbench.hooks.files", "workbench.session.hooks")
_ASK = "import sys, workbench.session.toolset; print(*(set(sys.argv[1:]) & set(sys.modules)))"


def measures() -> list[Measure]:
    """Return a `true` hook over a bare `true`, without a sandbox and in one, and the modules loaded without hooks."""
    return [
        _measure("hook `true`, over a bare spawn", None),
        _measure("hook `true` in the sandbox, over a bare spawn", Sandbox),
        _without_hooks(),
    ]


def _measure(name: str, kind: type[Sandbox] | None) -> Measure:
    with _runner(kind) as run:
        run()
        pairs = [(_taken(run), _taken(_spawn)) for _ in range(_RUNS)]
    hooked, bare = (statistics.median(column) * 1e3 for column in zip(*pairs, strict=True))
    return Measure(name, hooked - bare, "ms", bare, _ADDED, hooked - bare <= _ADDED)


@contextmanager
def _runner(kind: type[Sandbox] | None) -> Iterator[Callable[[], object]]:
    """Yield a function that runs one hook as a session does, from the event to its answer."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        workspace = Path(name).resolve()
        sandbox = kind(Boundary(workspace, Locations.from_environment(), Path.home())) if kind is not None else None
        runner = HookRunner(workspace, sandbox)
        hook = Hook("before_action", "true", "true", workspace / "settings.toml")
        call = ActionProposed(
            action_id="a", response_id="r", call_id="a", tool="execute_bash", arguments={"command": "ls"}
        )
        about = Occurrence("before_action", "s", str(workspace), "medium", call, call)
        try:
            yield lambda: answer_of(runner.run(hook, payload(about), Cancel(), {}))
        finally:
            runner.close()
            if sandbox is not None:
                sandbox.close()


def _spawn() -> None:
    subprocess.run(["/bin/sh", "-c", "true"], check=True, stdin=subprocess.DEVNULL, capture_output=True)


def _taken(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _without_hooks() -> Measure:
    """Return how many modules of hooks a session loads if there are none; besides, it compares a value with None."""
    done = subprocess.run(
        [sys.executable, "-c", _ASK, *_LOADED], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    loaded = len(done.stdout.split())
    return Measure("modules of hooks loaded without hooks", loaded, "", 0, 0, loaded == 0)
