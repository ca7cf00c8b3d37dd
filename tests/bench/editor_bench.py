"""Duration of one `str_replace` through the whole tool, compared with read, replace and fsynced write of the file.

Run it alone: `python -m tests.bench editor`. The two alternate, so that a busy disk slows both.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.measure import Measure
from workbench.tools import FileEditorTool

LINE = "    value = compute(argument, other)  # line {:07d}\n"
SIZES = (("50 KB", 50_000, 60), ("10 MB", 9_900_000, 12))


def measures() -> list[Measure]:
    """Return one measure for each file size."""
    with tempfile.TemporaryDirectory(prefix="editor-bench-") as name:
        return [_measured(Path(name), label, size, times) for label, size, times in SIZES]


def _measured(directory: Path, label: str, size: int, times: int) -> Measure:
    plain, edited = _file(directory / f"plain-{size}.py", size), _file(directory / f"edited-{size}.py", size)
    tool = FileEditorTool(str(directory), directory / "state")
    rows = size // len(LINE.format(0))
    ours, bare = [], []
    for turn in range(times):
        old, new = f"line {rows * (turn + 1) // (times + 2):07d}", f"turn {turn:07d}"
        bare.append(_took(lambda old=old, new=new: _bare(plain, old, new)))
        ours.append(_took(lambda old=old, new=new: _through_the_tool(tool, edited, old, new)))
    assert plain.read_bytes() == edited.read_bytes()
    value, reference = statistics.median(ours), statistics.median(bare)
    budget = 2 * reference
    return Measure(f"str_replace in a file of {label}", value, "ms", reference, budget, value <= budget)


def _file(path: Path, size: int) -> Path:
    rows = size // len(LINE.format(0))
    path.write_text("".join(LINE.format(number) for number in range(rows)))
    return path


def _bare(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    with path.open("w") as file:
        file.write(text.replace(old, new))
        file.flush()
        os.fsync(file.fileno())


def _through_the_tool(tool: FileEditorTool, path: Path, old: str, new: str) -> None:
    action = tool.action_from_arguments({"command": "str_replace", "path": str(path), "old_str": old, "new_str": new})
    result = tool(action)
    assert not result.is_error, result.text


def _took(work: Callable[[], object]) -> float:
    """Return how many milliseconds the work took."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3
