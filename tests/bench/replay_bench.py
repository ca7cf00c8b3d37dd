"""A replay against the tools' own time: what it adds to commands that take as long as tests and builds do."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.measure import Measure
from tests.session.long_run import NAME, locations
from workbench.config.settings import Settings
from workbench.llm.model import Cancel
from workbench.session.replay.run import ReplayOptions, replay
from workbench.session.session_factory import start_session
from workbench.tools.tool import ToolDefinition

STEPS, LIMIT = 10, 1.2
_FILES = 300
_SCRIPT = """
[[turn]]
name = "again"
after = ["start", "again"]
[[turn.call]]
tool = "execute_bash"
summary = "Check and write a file"
arguments = { command = "sleep 0.5; echo done >> log.txt" }
"""


def measures() -> list[Measure]:
    """All measures of this file."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        workspace = Path(name).resolve() / "work"
        settings = _recorded(workspace)
        with _timed_tools() as spent, _pace():
            began = time.perf_counter()
            result = replay(locations(workspace), settings, NAME, ReplayOptions(), Cancel())
            whole = time.perf_counter() - began
        assert (result.ran, result.divergences) == (STEPS, []), result
        own = sum(spent)
        name = f"replay of {STEPS} commands of half a second"
        return [Measure(name, whole, "s", own, own * LIMIT, whole <= own * LIMIT)]


def _recorded(workspace: Path) -> Settings:
    """Record a session in a tree of small files; return its settings."""
    for number in range(_FILES):
        path = workspace / f"d{number // 50}/f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x = {number}\n" * 40)
    script = workspace.with_suffix(".toml")
    script.write_text(_SCRIPT)
    settings = Settings(model=f"scripted/{script}", mode="never", max_steps=STEPS, stop_loops=False)
    with _pace():
        quiet = {"on_event": lambda event: None, "on_live": lambda live: None}
        made = start_session(locations(workspace), settings, workspace, NAME, **quiet)  # type: ignore[arg-type]
        try:
            made.session.send("go")
            while made.session.step():
                pass
            made.session.files.snapshot_now(Cancel())
        finally:
            made.close()
    return settings


@contextmanager
def _pace() -> Iterator[None]:
    before = os.environ.get("OHW_SCRIPT_PACE")
    os.environ["OHW_SCRIPT_PACE"] = "0"
    try:
        yield
    finally:
        os.environ.pop("OHW_SCRIPT_PACE")
        os.environ |= {"OHW_SCRIPT_PACE": before} if before is not None else {}


@contextmanager
def _timed_tools() -> Iterator[list[float]]:
    """Within the block, the seconds of each call of a tool are added to the list."""
    spent: list[float] = []
    call = ToolDefinition.__call__

    def timed(tool, *arguments, **more):
        began = time.perf_counter()
        try:
            return call(tool, *arguments, **more)
        finally:
            spent.append(time.perf_counter() - began)

    ToolDefinition.__call__ = timed  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        ToolDefinition.__call__ = call  # type: ignore[method-assign]
