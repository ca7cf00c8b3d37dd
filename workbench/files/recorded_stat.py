"""File system queries whose answers are recorded, so a result computed from them can be reused.

The functions answer like their namesakes in `os.path`, and never raise. Within `recording()` every answer is recorded;
the result of the computation is valid for as long as `RecordedAnswers.hold` gets the same answers.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

from workbench.files.root_directory import real_path as _resolve

Answer: TypeAlias = bool | int | str
A = TypeVar("A", bool, int, str)


class RecordedAnswers:
    """The answers that one computation received."""

    def __init__(self) -> None:
        self._answers: dict[tuple[Callable[[str], Answer], str], Answer] = {}
        self._is_consistent = True

    def note(self, question: Callable[[str], Answer], path: str, answer: Answer) -> None:
        """Record an answer; a second one that differs makes them invalid."""
        if self._answers.setdefault((question, path), answer) != answer:
            self._is_consistent = False

    def hold(self) -> bool:
        """Repeat every query; return whether every answer is the same."""
        return self._is_consistent and all(
            question(path) == answer for (question, path), answer in self._answers.items()
        )


_RECORDING: ContextVar[RecordedAnswers | None] = ContextVar("facts", default=None)


@contextmanager
def recording() -> Iterator[RecordedAnswers]:
    """Record the answers given in this block, in this thread."""
    answers = RecordedAnswers()
    token = _RECORDING.set(answers)
    try:
        yield answers
    finally:
        _RECORDING.reset(token)


def _ask(question: Callable[[str], A], path: str) -> A:
    answer = question(path)
    answers = _RECORDING.get()
    if answers is not None:
        answers.note(question, path, answer)
    return answer


def real_path(path: str) -> str:
    """Return the path with all links resolved, even if nothing exists there, or the path itself if that fails."""
    return _ask(_real_path, path)


def is_link(path: str) -> bool:
    """Return whether the path is a symbolic link."""
    return _ask(_is_link, path)


def is_file(path: str) -> bool:
    """Return whether the path leads to a regular file."""
    return _ask(os.path.isfile, path)


def is_directory(path: str) -> bool:
    """Return whether the path leads to a directory."""
    return _ask(os.path.isdir, path)


def exists(path: str) -> bool:
    """Return whether anything exists at the path, including a broken link."""
    return _ask(_exists, path)


def link_count(path: str) -> int:
    """Return the number of hard links of the file that the path leads to; 0 if it does not exist."""
    return _ask(_link_count, path)


def is_empty(path: str) -> bool | None:
    """Return whether the file at the path is empty; None if it does not exist."""
    return {0: True, 1: False}.get(_ask(_size, path))


def _real_path(path: str) -> str:
    try:
        return _resolve(path)
    except (OSError, ValueError):
        return path


def _is_link(path: str) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _exists(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:
        return False


def _link_count(path: str) -> int:
    try:
        return os.stat(path).st_nlink  # noqa: PTH116 - a Path costs more than the call
    except (OSError, ValueError):
        return 0


def _size(path: str) -> int:
    """Return 0 for an empty file, 1 for a larger one, -1 if it does not exist."""
    try:
        return min(1, os.stat(path).st_size)  # noqa: PTH116 - a Path costs more than the call
    except (OSError, ValueError):
        return -1
