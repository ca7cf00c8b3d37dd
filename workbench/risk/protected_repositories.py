"""Finds the files that git reads and runs outside its own directory: files that settings include, hooks, repositories
elsewhere.

Used by each search for protected files; a settings file is read again only if its stat differs. Never writes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from workbench.files.absent_paths import AbsentPaths
from workbench.files.stat_keys import StatKey, has_settled, stat_key
from workbench.risk import git_settings
from workbench.risk.protected_state import MOST_BYTES

_MOST_INCLUDES = 20
"""The maximum number of included settings files that are read for one repository."""


class GitPaths(NamedTuple):
    """The paths that the settings of one repository, or of the user, name."""

    files: tuple[str, ...]
    """The settings files that are included under any condition."""
    hooks: tuple[str, ...]
    """The directories of hooks."""
    git: str = ""
    """The git directory."""
    common: str = ""
    """The git directory shared with other work trees, if it is a different one."""


class GitPathFinder:
    """Finds the paths that git settings name; one instance is used for many searches."""

    def __init__(self, of_user: Iterable[str], absent: AbsentPaths) -> None:
        """`of_user` are the paths of the user's own settings files; paths in `absent` are not looked at."""
        self._of_user = tuple(of_user)
        self._absent = absent
        self._contents: dict[str, tuple[StatKey, str]] = {}
        self._up_to_date: set[str] = set()
        """The paths in `_contents` that were read or compared in this search."""

    def start(self) -> None:
        """Start another search, which compares the stat of each file once."""
        self._up_to_date.clear()

    def is_unchanged(self) -> bool:
        """Start another search; return whether the files that the last one read have the same content."""
        contents = {path: self._contents[path][1] for path in self._up_to_date}
        self.start()
        return all(self._text(path) == content for path, content in contents.items())

    def named_by_user(self, work_tree: str) -> GitPaths:
        """Return the paths that the user's own settings name for a work tree."""
        return self._named(self._of_user, [work_tree])

    def named_by(self, pointer: str) -> GitPaths:
        """Return the paths that a repository's settings name; `pointer` is its `.git`, a directory or a file."""
        work_tree, content = pointer.rpartition("/")[0], self._text(pointer)
        is_file = content.startswith("gitdir:")
        git = beside(work_tree, content.removeprefix("gitdir:").strip(" \r\n")) if is_file else pointer
        shared = self._text(f"{git}/commondir").strip("\r\n")
        common = beside(git, shared) if shared else git
        own = [f"{common}/config", f"{git}/config.worktree"]
        # a directory of hooks starts at the work tree; in a repository without one, at the directory of git
        bases = [work_tree, git]
        for path in own:
            for setting in git_settings.parsed(self._text(path)).settings:
                bases += [beside(git, each) for each in setting.paths if setting.key == "core.worktree"]
        return self._named((*self._of_user, *own), bases)._replace(git=git, common=common if common != git else "")

    def _named(self, own: Iterable[str], bases: list[str]) -> GitPaths:
        waiting = list(own)
        count, hooks = len(waiting), dict[str, None]()
        for file in waiting:  # grows during the iteration
            text = self._text(file)
            hooks |= {beside(base, path): None for path in git_settings.hooks_paths(text) for base in bases}
            if len(waiting) < count + _MOST_INCLUDES:
                named = [beside(file.rpartition("/")[0], path) for path in git_settings.included(text)]
                waiting += [path for path in named if path not in waiting]
        return GitPaths(tuple(dict.fromkeys(waiting[count:])), tuple(hooks))

    def _text(self, path: str) -> str:
        """Return the first MOST_BYTES of a regular file, read only if its stat differs; empty if there is none."""
        if path in self._up_to_date:
            return self._contents[path][1]
        if path in self._absent:
            return ""
        cached = self._contents.get(path, ((), ""))
        try:
            info = os.stat(path)  # noqa: PTH116 - asked for each action
            if not stat.S_ISREG(info.st_mode):
                cached = (), ""
            elif cached[0] != stat_key(info):
                key = stat_key(info) if has_settled(info) else ()
                with open(path, "rb") as file:  # noqa: PTH123
                    cached = key, file.read(MOST_BYTES).decode(errors="surrogateescape")
        except (OSError, ValueError):
            self._absent.add(path)
            cached = (), ""
        self._contents[path] = cached
        self._up_to_date.add(path)
        return cached[1]


def directories_above(directory: str, last: str) -> Iterator[str]:
    """Yield a directory and those above it, up to `last` or the root."""
    while True:
        yield directory
        if directory in {last, "/"}:
            return
        directory = directory.rpartition("/")[0] or "/"


def beside(directory: str, path: str) -> str:
    """Return a path that is relative to a directory, without `.` and `..`."""
    return os.path.normpath(path if path.startswith("/") else f"{directory}/{path}")
