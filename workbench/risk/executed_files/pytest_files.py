"""The files that pytest executes: tests, each conftest.py above them, and plugins named in its settings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.executed_files.finder import Finder
from workbench.risk.executed_files.lookup import Bases
from workbench.risk.executed_files.programs import LOOKED_FOR
from workbench.risk.executed_files.unknown_names import has_unknown
from workbench.risk.paths import within
from workbench.risk.word import UNKNOWN

_LONGEST: Final = 20_000
_MOST_BASES: Final = 8
_TEST_NAME: Final = lazy_pattern(r"test_.*\.py|.*_test\.py|conftest\.py")
_PYTHON_PATH: Final = lazy_pattern(r"\bpythonpath[ \t]*=[ \t]*(\[[^]]*\]|[^\n]*)")
_NAME: Final = lazy_pattern(r"[\w./-]+")
_ADDED_PLUGIN: Final = lazy_pattern(r"(?<![\w-])-p[ \t=]*([A-Za-z_][\w.]*)")
_MOST_ENTRIES: Final = 2_000
_PASSED_OVER: Final = lazy_pattern(r"\.|node_modules\Z|__pycache__\Z|venv\Z|build\Z|dist\Z")


def add_plugins(finder: Finder, names: Iterable[str], bases: Bases, depth: int) -> None:
    """Add the plugins that pytest's settings load with `-p`."""
    for path in (path for name in names for path in finder.lookup.at(name, bases)):
        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a string
            for module in _ADDED_PLUGIN.findall(file.read(_LONGEST)):
                finder.module(module, bases, depth)


def _python_paths(finder: Finder, bases: Bases) -> Bases:
    """Return the bases, and the directories that pytest's settings add to the module path."""
    result: list[str] = []
    for path in (path for name in LOOKED_FOR["pytest"] for path in finder.lookup.at(name, bases[:2])):
        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a string
            for listed in _PYTHON_PATH.findall(file.read(_LONGEST)):
                result += [os.path.join(os.path.dirname(path), each) for each in _NAME.findall(listed)]  # noqa: PTH118, PTH120
    return (*bases, *result[:_MOST_BASES])


def add_tests(finder: Finder, rest: list[str], bases: Bases, depth: int) -> None:
    """Add the test files that are named or below named directories, and each conftest.py above them."""
    named = [_certain_part(word.partition("::")[0]) for word in rest if not word.startswith("-")]
    bases = _python_paths(finder, bases)
    for path in _existing(finder, named or ["."], bases):
        directory = path if os.path.isdir(path) else os.path.dirname(path)  # noqa: PTH112, PTH120 - strings
        for each in upwards(directory, finder.workspace):
            finder.program("conftest.py", (each,), depth, "python")
        for file in _test_files(path) if directory == path else [path]:
            finder.add(file, bases, depth, "python")


def _certain_part(name: str) -> str:
    """Return the directory at the known start of a name, or the name itself if all of it is known."""
    return re.split(rf"[^/]*[{UNKNOWN}$]", name, maxsplit=1)[0] or "." if has_unknown(name) else name


def _existing(finder: Finder, names: Iterable[str], bases: Bases) -> Iterator[str]:
    for name in names:
        for base in dict.fromkeys(bases):
            path = os.path.normpath(os.path.join(base, name))  # noqa: PTH118 - strings
            if UNKNOWN not in path and os.path.exists(path):  # noqa: PTH110 - strings
                yield path
                break


def _test_files(directory: str) -> Iterator[str]:
    """Yield the test files below a directory, examining at most `_MOST_ENTRIES` entries."""
    directories, remaining = [directory], _MOST_ENTRIES
    while directories and remaining > 0:
        try:
            with os.scandir(directories.pop(0)) as entries:
                for entry in islice(entries, remaining):
                    remaining -= 1
                    if entry.is_dir(follow_symlinks=False):
                        directories += [entry.path] if not _PASSED_OVER.match(entry.name) else []
                    elif _TEST_NAME.fullmatch(entry.name):
                        yield entry.path
        except OSError:
            continue


def upwards(directory: str, workspace: str) -> Iterator[str]:
    """Yield a directory and its parents up to the workspace; outside the workspace, only the directory."""
    directory = os.path.normpath(directory)
    yield directory
    while directory != workspace and within(directory, workspace):
        directory = directory.rpartition("/")[0]
        yield directory
