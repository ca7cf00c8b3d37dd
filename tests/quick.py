"""The marker `quick`: tests that start no process, no event loop and no socket, and a check that they do not.

A test is quick if it is in one of `AREAS`, unless it is a coroutine (such a test of the screen runs an app) or is
marked `starts`. A quick test that starts something fails with that reason, so a wrong marker is noticed.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

AREAS = (
    "agent",
    "batch/test_statistics.py",
    "contracts",
    "diff",
    "export/test_transcript.py",
    "risk",
    "rules",
    "secrets/test_secrets.py",
    "session/test_catalog.py",
    "session/test_condensing.py",
    "session/test_history.py",
    "session/test_user_messages.py",
    "session/test_rating.py",
    "session/test_store.py",
    "test_suggest.py",
    "test_profiles.py",
    "test_text.py",
    "test_toml_file.py",
    "tools/test_arguments.py",
    "tools/test_edit_file.py",
    "tools/test_editor_encodings.py",
    "tools/test_editor_edits.py",
    "tools/test_editor_undo.py",
    "tools/test_glob.py",
    "tools/test_schema.py",
    "tools/test_schema_round_trip.py",
    "tools/test_selection.py",
    "tools/test_task_tracker.py",
    "tools/test_tool.py",
    "tui",
)
"""Directories and modules below `tests`; a new test in one of them is quick from its first run."""
_TESTS = Path(__file__).parent
_QUICK = frozenset(_TESTS / area for area in AREAS)
_STARTS = {
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.system",
    "socket.__new__",  # each event loop has a pair of sockets of its own
    "subprocess.Popen",
}
_watched_thread = 0
_started: set[str] = set()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m quick`, do not import the modules that hold no quick test."""
    if config.option.markexpr != "quick" or collection_path.suffix not in {"", ".py"}:
        return None
    leads_there = any(area.is_relative_to(collection_path) or collection_path.is_relative_to(area) for area in _QUICK)
    has_pictures = collection_path.name.startswith("test_pictures_")
    return True if has_pictures or (collection_path.is_relative_to(_TESTS) and not leads_there) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the quick tests before `-m` selects by markers."""
    for item in items:
        if _is_quick(item):
            item.add_marker(pytest.mark.quick)


def _is_quick(item: pytest.Item) -> bool:
    function = getattr(item, "function", None)
    return _has_quick_tests(item.path) and not _is_coroutine(function) and item.get_closest_marker("starts") is None


@functools.cache  # cached, because most functions are the tests of many parameters
def _is_coroutine(function: Any) -> bool:
    function = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    return inspect.iscoroutinefunction(function)


@functools.cache  # cached, because there are 400 modules with 18,000 tests
def _has_quick_tests(path: Path) -> bool:
    return not path.name.startswith("test_pictures_") and not _QUICK.isdisjoint((path, *path.parents))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Watch a quick test from its set-up on."""
    global _watched_thread
    _started.clear()
    _watched_thread = threading.get_ident() if item.get_closest_marker("quick") else 0
    yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a quick test that started something."""
    global _watched_thread
    try:
        yield
    finally:
        _watched_thread = 0
    if _started:
        pytest.fail(f"a quick test must start nothing, mark it `starts`: {', '.join(sorted(_started))}", pytrace=False)


def _audit(event: str, _: Any) -> None:
    if event in _STARTS and threading.get_ident() == _watched_thread:
        _started.add(event)


sys.addaudithook(_audit)
