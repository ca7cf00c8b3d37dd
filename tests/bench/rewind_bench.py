"""A rewind that changes 200 files: its preview, also where the user edited the same files, and carrying it out."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tests.bench.measure import Measure
from tests.session.long_run import NAME, locations
from workbench.config.settings import Settings
from workbench.llm.model import Cancel
from workbench.session.rewind.rewinder import Rewinder
from workbench.session.session_factory import OpenedSession, start_session

FILES, LINES = 200, 60
PREVIEW_MS, FACTOR = 150.0, 3.0
_TIMES = 5
_TARGET = 1
"""The event before the message to the agent."""
_SCRIPT = """
[[turn]]
name = "again"
after = ["start", "again"]
[[turn.call]]
tool = "execute_bash"
summary = "Change every file"
arguments = { command = "sed -i '1s/.*/changed by the agent/' d*/f*.py" }
"""
T = TypeVar("T")


def measures() -> list[Measure]:
    """All measures of this file."""
    os.environ["OHW_SCRIPT_PACE"] = "0"
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        workspace = Path(name).resolve() / "work"
        paths = _tree(workspace)
        opened = _opened(workspace)
        try:
            _run(opened)
            rewinder = opened.session.rewinder
            preview = _preview(rewinder, merged=0)
            bare = min(_timed(lambda: _write_bare(Path(name) / "bare", paths))[0] for _ in range(_TIMES))
            applied = min(_there_and_back(rewinder) for _ in range(_TIMES))
            for path in paths:
                path.write_text(f"{path.read_text()}the user's\n")
            opened.session.files.snapshot_now(Cancel())
            merged = _preview(rewinder, merged=FILES)
        finally:
            opened.close()
    return [
        Measure(f"rewind preview of {FILES} files", preview, "ms", None, PREVIEW_MS, preview <= PREVIEW_MS),
        Measure(f"rewind preview of {FILES} files edited since", merged, "ms", None, PREVIEW_MS, merged <= PREVIEW_MS),
        Measure(f"rewind of {FILES} files", applied, "ms", bare, FACTOR * bare, applied <= FACTOR * bare),
    ]


def _tree(workspace: Path) -> list[Path]:
    paths = [workspace / f"d{number // 20}/f{number}.py" for number in range(FILES)]
    for number, path in enumerate(paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"value_{line} = compute({number})\n" for line in range(LINES)))
    return paths


def _opened(workspace: Path) -> OpenedSession:
    script = workspace.with_suffix(".toml")
    script.write_text(_SCRIPT)
    settings = Settings(model=f"scripted/{script}", mode="never", max_steps=1, stop_loops=False)
    return start_session(
        locations(workspace), settings, workspace, NAME, on_event=lambda event: None, on_live=lambda live: None
    )


def _run(opened: OpenedSession) -> None:
    """Let the agent change every file."""
    opened.session.send("go")
    while opened.session.step():
        pass
    opened.session.files.snapshot_now(Cancel())


def _preview(rewinder: Rewinder, *, merged: int) -> float:
    """Return the milliseconds until both the changes and their lines are known, the least of several times."""

    def preview() -> None:
        event, deltas = rewinder.preview_with_deltas(_TARGET)
        assert (len(event.files), len(deltas)) == (FILES, FILES)
        assert sum(file.is_merged for file in event.files) == merged

    return min(_timed(preview)[0] for _ in range(_TIMES))


def _there_and_back(rewinder: Rewinder) -> float:
    """Rewind and return to where the session was; return the milliseconds of the rewind."""
    applied, event = _timed(lambda: rewinder.rewind(_TARGET))
    assert len(event.files) == FILES
    rewinder.rewind(event.seq - 1)
    return applied


def _write_bare(directory: Path, paths: list[Path]) -> None:
    """Write as many files as the rewind does, each one to the disk under its final name."""
    directory.mkdir(exist_ok=True)
    for number, path in enumerate(paths):
        beside, raw = directory / f"{number}.tmp", path.read_bytes()
        with beside.open("wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(directory / f"{number}.py")


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    result = work()
    return (time.perf_counter() - began) * 1e3, result


if __name__ == "__main__":
    for one in measures():
        print(one)
