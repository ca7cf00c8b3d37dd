"""Watches a workspace for changes; if the system stops reporting them, asks for scans at regular intervals."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import threading
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Protocol

_LONGEST, _WAIT = 1_000, 1_000  # milliseconds
_STEP, _SHORT_STEP = 10, 2
"""Milliseconds between two looks for changes, and for as long as changes arrive; a look takes some 20 us of CPU."""
_SKIPPED = frozenset((".git", "node_modules", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"))
_OWN = ".ohw-*.tmp"
_ADDED = 1  # watchfiles.Change.added
_NO_TEXT = "Unable to decode path"
_MOST_UNREADABLE = 100
"""The most names that are not UTF-8: each restarts the watch, so with more of them, regular scans are cheaper."""
_LEAST_MEMORY = 500_000_000
"""The least limit of address space, in bytes; with less, a panic of the library's thread could hang the process."""
_LEAST_PAUSE = 2.0
"""The shortest pause between two regular scans, in seconds."""


class Changes(Protocol):
    """Yields sets of absolute paths that changed; now and then an empty set. Raises OSError or RuntimeError."""

    def __call__(self, workspace: Path, marks: Path, stop: threading.Event) -> Iterator[set[str]]:
        """Yield changes in the workspace and in the directory `marks`, in order, until `stop` is set."""


def native_changes(workspace: Path, marks: Path, stop: threading.Event) -> Iterator[set[str]]:
    """Yield the changes that the system reports in both directories and below them; follow no link out of them.

    After a restart of the watch, or a name that the library cannot read, the whole directory is reported as changed
    once.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if 0 <= limit < _LEAST_MEMORY:
        raise OSError(errno.ENOMEM, f"the memory limit of {limit // 1024:,} kB is too low to watch files")
    missed = False
    unreadable = 0
    while not stop.is_set():
        try:
            yield from _watched(workspace, marks, stop, missed=missed)
        except RuntimeError as error:
            unreadable += 1
            if _NO_TEXT not in str(error) or unreadable > _MOST_UNREADABLE:
                raise
        missed = True


def _watched(workspace: Path, marks: Path, stop: threading.Event, *, missed: bool) -> Iterator[set[str]]:
    """Yield changes until the directories must be listed again.

    The library follows links, so if there are any, each directory is watched separately.
    """
    directories, has_symlinks = _directories(workspace)
    watched = [*(directories if has_symlinks else [str(workspace)]), *([str(marks)] if marks.is_dir() else [])]
    for batch in _batches(watched, stop, recursive=not has_symlinks):
        yield {path for _, path in batch} | ({f"{workspace}/."} if missed else set())
        missed = False
        if has_symlinks and any(
            change == _ADDED and os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114
            for change, path in batch
        ):
            return


def _batches(watched: list[str], stop: threading.Event, *, recursive: bool) -> Iterator[set[tuple[int, str]]]:
    """Yield the changes of interest, and an empty set for each second without any; end when `stop` is set.

    `watchfiles.watch` looks at one interval only. More changes follow soon after a change, and an action may wait for
    them, so they are looked for more often until a second passes without any.
    """
    from watchfiles._rust_notify import RustNotify

    # permission errors are not ignored: that would hide the limits of the system as well
    with RustNotify(
        watched, debug=False, force_polling=False, poll_delay_ms=0, recursive=recursive, ignore_permission_denied=False
    ) as notify:
        step = _STEP
        while True:
            changes = notify.watch(_LONGEST, step, _WAIT, stop)
            if changes in ("stop", "signal"):
                return
            batch = (
                {(change, path) for change, path in changes if is_of_interest(path)}
                if isinstance(changes, set)
                else set()
            )
            if batch or changes == "timeout":
                step = _SHORT_STEP if batch else _STEP
                yield batch


def _directories(workspace: Path) -> tuple[list[str], bool]:
    """Return the directories to watch, and whether there is a link to a directory anywhere."""
    watched, has_symlinks = [], False
    for directory, names, _ in os.walk(workspace):
        if _SKIPPED.isdisjoint(directory.removeprefix(str(workspace)).split("/")) and is_text(directory):
            watched.append(directory)
        has_symlinks = has_symlinks or any(os.path.islink(f"{directory}/{name}") for name in names)  # noqa: PTH114
    return watched, has_symlinks


def is_text(path: str) -> bool:
    """Return whether the path can be passed to the library, which accepts only UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in path)


def is_of_interest(path: str) -> bool:
    """Return whether versions may contain the file: it is neither generated, nor git's, nor one of our temporary
    files.
    """
    parts = path.split("/")
    return _SKIPPED.isdisjoint(parts) and not fnmatch(parts[-1], _OWN)


class Watcher:
    """Collects changed paths; calls `on_change` in its own thread after each batch, or for each regular scan."""

    def __init__(
        self,
        workspace: Path,
        marks: Path,
        on_change: Callable[[], None],
        pause: Callable[[], float],
        changes: Changes = native_changes,
    ) -> None:
        """`marks` is a directory for `catch_up` only; `pause` returns the seconds between two regular scans."""
        self._workspace = workspace
        self._marks = marks
        self._marked = 0
        self._on_change = on_change
        self._pause = pause
        self._changes = changes
        self._lock = threading.Condition()
        self._changed: set[str] = set()
        self._reported_marks: set[str] = set()
        self._stop = threading.Event()
        self._lost = threading.Event()
        self.is_ready = False
        """Whether every change from now on is reported."""
        self.problem = ""
        """Why changes are not reported; empty while they are."""

    def start(self) -> None:
        """Start watching in another thread."""
        threading.Thread(target=self._run, name="session-watcher", daemon=True).start()

    @property
    def is_whole(self) -> bool:
        """Whether all changes so far were reported."""
        return self.is_ready and not self.problem

    @property
    def has_news(self) -> bool:
        """Whether changes were reported since the last call of `drain`."""
        with self._lock:
            return self.is_whole and bool(self._changed)

    def drain(self) -> list[str]:
        """Return the paths that have changed since the last call, relative to the workspace."""
        with self._lock:
            paths, self._changed = self._changed, set()
        prefix = f"{self._workspace}/"
        return sorted(path.removeprefix(prefix) for path in paths if path.startswith(prefix))

    def catch_up(self, seconds: float) -> bool:
        """Wait until every change made so far has been reported; return False if that takes longer than `seconds`.

        The system reports changes in order, so once a new file in `marks` is reported, all earlier changes are.
        """
        self._marked += 1
        mark = self._marks / f"{os.getpid()}-{self._marked}"
        try:
            mark.touch()
        except OSError:
            return False
        with self._lock:
            is_reported = self._lock.wait_for(lambda: str(mark) in self._reported_marks or self._lost.is_set(), seconds)
            self._reported_marks.clear()
        with contextlib.suppress(OSError):
            mark.unlink()
        return is_reported and self.is_whole

    def fall_back(self, problem: str) -> None:
        """Stop watching because of this problem, and ask for regular scans instead."""
        self.problem = self.problem or problem
        self._lose()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        self._lose()

    def _lose(self) -> None:
        self._lost.set()
        with self._lock:
            self._lock.notify_all()

    def _run(self) -> None:
        try:
            for batch in self._changes(self._workspace, self._marks, self._lost):
                if self._lost.is_set():
                    break
                self.is_ready = True
                marks = {path for path in batch if path.startswith(f"{self._marks}/")}
                with self._lock:
                    self._changed |= batch - marks
                    self._reported_marks |= marks
                    self._lock.notify_all()
                if batch - marks:
                    self._on_change()
            if not self._stop.is_set():
                self.fall_back("the system reports no more changes")
        except UnicodeEncodeError:
            self.fall_back("the path of the workspace is not UTF-8")
        except (OSError, RuntimeError) as error:
            self.fall_back(_watch_error(error))
        while not self._stop.wait(max(_LEAST_PAUSE, self._pause())):
            self._on_change()


def _watch_error(error: Exception) -> str:
    """Return one line on why the system reports no changes, without the internal data that watchfiles appends."""
    message = getattr(error, "strerror", None) or str(error)
    if "watch limit" in message:
        return "the system cannot watch more directories (fs.inotify.max_user_watches)"
    return message.split(" (os error ")[0].removeprefix("Error creating recommended watcher: ")
