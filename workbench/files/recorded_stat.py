"""File system queries whose answers are recorded, so a result computed from them can be reused.

The functions answer like their namesakes in `os.path`, and never raise. Within `recording()` every answer is recorded;
the result of the computation is valid for as long as `RecordedAnswers.hold` gets the same answers.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple, TypeAlias, TypeVar

from workbench.files.root_directory import real_path as _resolve
from workbench.files.stat_keys import StatKey, has_settled, is_settled_directory, stat_key

Answer: TypeAlias = bool | int | str
A = TypeVar("A", bool, int, str)


class RecordedAnswers:
    """The answers that one computation received."""

    def __init__(self) -> None:
        self._answers: dict[tuple[Callable[[str], Answer], str], Answer] = {}
        self._is_consistent = True

    def note(self, question: Callable[[str], Answer], path: str, answer: Answer) -> None:
        """Record an answer; if the same question about the path had another answer before, `hold` returns False."""
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
    """Within the block, record the answers in this thread."""
    answers = RecordedAnswers()
    token = _RECORDING.set(answers)
    try:
        yield answers
    finally:
        _RECORDING.reset(token)


def ask(question: Callable[[str], A], path: str) -> A:
    """Return the answer to a question about a path, and record it.

    The same question must be the same function object in every call.
    """
    answer = question(path)
    answers = _RECORDING.get()
    if answers is not None:
        answers.note(question, path, answer)
    return answer


def real_path(path: str) -> str:
    """Return the path with all links resolved, even if nothing exists there, or the path itself if that fails."""
    return ask(_real_path, path)


def is_link(path: str) -> bool:
    """Return whether the path is a symbolic link."""
    return ask(_is_link, path)


def is_file(path: str) -> bool:
    """Return whether the path leads to a regular file."""
    return ask(os.path.isfile, path)


def is_directory(path: str) -> bool:
    """Return whether the path leads to a directory."""
    return ask(os.path.isdir, path)


def exists(path: str) -> bool:
    """Return whether anything exists at the path, including a broken link."""
    return ask(_exists, path)


def link_count(path: str) -> int:
    """Return the number of hard links of the file that the path leads to; 0 if it does not exist."""
    return ask(_link_count, path)


def is_empty(path: str) -> bool | None:
    """Return whether the file at the path is empty; None if it does not exist."""
    return {0: True, 1: False}.get(ask(_size, path))


_MOST_ENTRIES: Final = 100_000
"""The most files and directories examined below a directory; this takes about as long as `find`."""
_TOO_MANY: Final = "/"
"""The answer for a directory with more than `_MOST_ENTRIES` files and directories."""


def list_symlinks(directory: str) -> Sequence[str] | None:
    """Return the symbolic links at any depth below a directory, by their relative paths; None if the directory is too
    large.
    """
    answer = ask(_list_symlinks, directory)
    return None if answer == _TOO_MANY else [path for path in answer.split("\0") if path]


_MOST_FILES: Final = 500
"""How many files or directories one reader remembers."""


class FileReader:
    """A question about the content of regular files; a file is read again only if its stat differs.

    The answer is the result of `summary` for the content; it is empty if there is no such file, or it cannot be read.
    """

    def __init__(
        self,
        summary: Callable[[bytes], str],
        longest: int,
        *,
        is_settled: Callable[[os.stat_result], bool] = has_settled,
    ) -> None:
        """`summary` gets the first `longest` + 1 bytes of a file; `is_settled` says whether to rely on its stat."""
        self._summary = summary
        self._longest = longest
        self._is_settled = is_settled
        self._answers: dict[str, tuple[StatKey, str]] = {}

    def __call__(self, path: str) -> str:
        """Return the answer for the file that the path leads to."""
        try:
            info = os.stat(path)  # noqa: PTH116 - a Path costs more than the call
            if not stat.S_ISREG(info.st_mode):
                return ""
            key, answer = self._answers.get(path, ((), ""))
            if key == stat_key(info):
                return answer
            with open(path, "rb", opener=_open_at_once) as file:
                is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                answer = self._summary(file.read(self._longest + 1)) if is_regular else ""
        except (OSError, ValueError):
            return ""
        if self._is_settled(info):
            while len(self._answers) >= _MOST_FILES:
                self._answers.pop(next(iter(self._answers)), None)
            self._answers[path] = stat_key(info), answer
        return answer


class DirectoryReader:
    """A question about directories: which links and directories in them are of interest, separated by NULs."""

    def __init__(self, is_of_interest: Callable[[str], bool]) -> None:
        """`is_of_interest` gets the last three names of each path, as `/GRANDPARENT/PARENT/NAME`."""
        self._is_of_interest = is_of_interest
        self._answers: dict[str, tuple[StatKey, str]] = {}

    def __call__(self, directory: str) -> str:
        """Return the names, those of directories with a slash; a directory is listed again only if its stat differs."""
        try:
            info = os.stat(directory)  # noqa: PTH116 - a Path costs more than the call
            if not stat.S_ISDIR(info.st_mode):
                return ""
            key, answer = self._answers.get(directory, ((), ""))
            if key == stat_key(info):
                return answer
            above = "/".join(("", *directory.split("/")[-2:]))
            with os.scandir(directory) as entries:
                chosen = [
                    entry.name if entry.is_symlink() else f"{entry.name}/"
                    for entry in entries
                    if (entry.is_symlink() or entry.is_dir()) and self._is_of_interest(f"{above}/{entry.name}")
                ]
        except (OSError, ValueError):
            return ""
        answer = "\0".join(sorted(chosen))
        if is_settled_directory(info):
            while len(self._answers) >= _MOST_FILES:
                self._answers.pop(next(iter(self._answers)), None)
            self._answers[directory] = stat_key(info), answer
        return answer


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)  # opening a pipe must not block


MOST_TEXT: Final = 200_000
_TEXT: Final = FileReader(lambda content: content.decode(errors="surrogateescape"), MOST_TEXT)


def text(path: str) -> str:
    """Return the start of a file as text, up to one byte beyond `MOST_TEXT`; empty if it cannot be read.

    Bytes that are not UTF-8 become lone surrogates.
    """
    return ask(_TEXT, path)


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


class _Listing(NamedTuple):
    """The contents of one directory, and its stat when they were listed."""

    key: StatKey
    entries: int
    """The number of its entries; more than `_MOST_ENTRIES` if not all of them were examined."""
    symlinks: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()


_MOST_LISTINGS: Final = 20_000
_listings: dict[str, _Listing] = {}
"""The contents of the directories searched for links; a directory is listed again only if its stat differs."""


def _list_symlinks(directory: str) -> str:
    symlinks: list[str] = []
    waiting, count = [""], 0
    while waiting:
        above = waiting.pop()
        result = _list_directory(f"{directory}/{above}")
        count += result.entries
        if count > _MOST_ENTRIES:
            return _TOO_MANY
        symlinks += [f"{above}{name}" for name in result.symlinks]
        waiting += [f"{above}{name}/" for name in result.directories]
    return "\0".join(sorted(symlinks))


def _list_directory(directory: str) -> _Listing:
    """Return the contents of a directory; empty if it cannot be read."""
    try:
        info = os.stat(directory)  # noqa: PTH116 - a Path costs more than the call
        listing = _listings.get(directory)
        if listing is not None and listing.key == stat_key(info):
            return listing
        listing = _scan(directory, stat_key(info))
    except (OSError, ValueError):
        return _Listing((), 0)
    if is_settled_directory(info):
        while len(_listings) >= _MOST_LISTINGS:
            _listings.pop(next(iter(_listings)), None)
        _listings[directory] = listing
    return listing


def _scan(directory: str, key: StatKey) -> _Listing:
    count = 0
    symlinks, directories = [], []
    with os.scandir(directory) as entries:
        for entry in entries:
            count += 1
            if count > _MOST_ENTRIES:
                return _Listing(key, count)
            if entry.is_symlink():
                symlinks.append(entry.name)
            elif entry.is_dir():
                directories.append(entry.name)
    return _Listing(key, count, tuple(symlinks), tuple(directories))
