"""Suggests example tasks that fit the contents of a directory, without running or writing anything or following links.

Used by the welcome text. The entries, files, bytes and time are limited, so this is fast for a directory of any size.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.text import visible
from workbench.view.prompt.completion import mention_of

MOST_TASKS: Final = 3
_MOST_ENTRIES: Final = 2_000
_MOST_FILES: Final = 150
_MOST_BYTES: Final = 32_768
_SECONDS: Final = 0.5
_TESTS: Final = frozenset(("tests", "test", "spec", "__tests__"))
_SOURCES: Final = frozenset(
    (
        *(".py", ".js", ".jsx", ".ts", ".tsx", ".go", ".rs", ".java", ".kt", ".c", ".h", ".cpp", ".hpp", ".cs"),
        *(".rb", ".php", ".swift", ".sh", ".lua", ".scala", ".ex", ".exs"),
    )
)
_GENERATED: Final = frozenset(("node_modules", "__pycache__", "venv", "vendor", "target", "build", "dist"))
_COMMENT: Final = lazy_pattern(r"(?:#|//|/\*|\*|--)[ \t]*(?P<word>TODO|FIXME)\b")
_USAGE: Final = lazy_pattern(r"\b(usage|getting started|quick ?start|how to use|examples?)\b", re.IGNORECASE)
_README: Final = lazy_pattern(r"readme(\.(md|rst|txt))?", re.IGNORECASE)
_PLAIN: Final = lazy_pattern(r"[\w.+/-]{1,80}")
"""Matches the paths that a task may name; other characters in a name could read like words of the task."""
_TEST_ID: Final = lazy_pattern(r"[\w.+/-]{1,80}(::\w{1,80}){1,3}")
_LAST_FAILED: Final = ".pytest_cache/v/cache/lastfailed"


def example_tasks(directory: Path) -> tuple[str, ...]:
    """Return up to `MOST_TASKS` tasks that fit the directory; none if it is empty or cannot be read. Blocks."""
    files, directories = _listed(directory)
    if not files:
        return ()
    tasks = [_failing_test(directory, directories), _comment(directory, files), _readme(directory, files)]
    others = ["Explain how this code is organized", "Review the code for bugs and fix the worst one"]
    if not directories & _TESTS:
        others.insert(0, "Add tests for the code that matters most")
    return tuple([task for task in tasks if task] + others)[:MOST_TASKS]


def _listed(top: Path) -> tuple[list[str], set[str]]:
    """Return the files below `top`, nearest first, and the names of all directories; without links and hidden ones."""
    files: list[str] = []
    directories: set[str] = set()
    until, count, queue = time.monotonic() + _SECONDS, 0, deque([""])
    while queue and count < _MOST_ENTRIES and time.monotonic() < until:
        parent = queue.popleft()
        for entry in _entries(top / parent):
            count += 1
            if count > _MOST_ENTRIES:
                break
            path = f"{parent}/{entry.name}" if parent else entry.name
            if entry.is_dir(follow_symlinks=False):
                directories.add(entry.name)
                queue.append(path)
            elif entry.is_file(follow_symlinks=False):
                files.append(path)
    return files, directories


def _entries(directory: Path) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(directory) as entries:
        first = [entry for entry, _ in zip(entries, range(_MOST_ENTRIES), strict=False)]
        for entry in sorted(first, key=lambda each: each.name):
            if not entry.name.startswith(".") and entry.name not in _GENERATED:
                with suppress(OSError):
                    yield entry


def _failing_test(top: Path, directories: set[str]) -> str:
    """Return the task to fix a test that failed last or, if that is unknown, to run the tests; empty without tests."""
    failed: object = None
    with suppress(ValueError, RecursionError):
        failed = json.loads(_text_of(top, _LAST_FAILED) or "null")
    named = next(filter(_TEST_ID.fullmatch, failed), "") if isinstance(failed, dict) else ""
    if named:
        return f"Fix the failing test {named}"
    return "Run the tests and fix what fails" if directories & _TESTS else ""


def _comment(top: Path, files: list[str]) -> str:
    sources = [path for path in files if Path(path).suffix in _SOURCES and _PLAIN.fullmatch(path)]
    until = time.monotonic() + _SECONDS
    for path in sources[:_MOST_FILES]:
        text = _text_of(top, path) if time.monotonic() < until else ""
        if match := _COMMENT.search(text):
            line = text.count("\n", 0, match.start()) + 1
            return f"Resolve the {match['word']} in line {line} of {mention_of(path)}"
    return ""


def _readme(top: Path, files: list[str]) -> str:
    name = next((path for path in files if _README.fullmatch(path)), "")
    if not name:
        return "Write a README with installation and usage"
    text = _text_of(top, name)
    return "" if _USAGE.search(text) else f"Add a section on usage to {mention_of(visible(name, lines=False))}"


def _text_of(top: Path, path: str) -> str:
    """Return the start of a regular file below `top`; empty for anything else, and if a part of its path is a link."""
    try:
        number = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for name in path.split("/"):
            parent, number = number, _opened(name, number)
            os.close(parent)
    except OSError:
        return ""
    with os.fdopen(number, "rb") as file:
        is_plain = stat.S_ISREG(os.fstat(number).st_mode)
        return file.read(_MOST_BYTES).decode(errors="replace") if is_plain else ""


def _opened(name: str, parent: int) -> int:
    """Return a descriptor of an entry, not of a link; opening a pipe does not block. Closes `parent` if it fails."""
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    except OSError:
        os.close(parent)
        raise
