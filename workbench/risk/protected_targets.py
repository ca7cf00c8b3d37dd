"""Finds paths that are protected although their names are not: links lead to them, or git uses them.

Nothing is executed. Every query of the file system is recorded (see `recorded_stat`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from workbench.files import recorded_stat
from workbench.files.recorded_stat import DirectoryReader
from workbench.risk.git_repository import repositories, settings_files

_DEEPEST: Final = 1
"""The depth to which links are searched for in the protected directories around a path."""
_HOOKS: Final = frozenset(
    (
        *("applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit"),
        *("post-index-change", "post-merge", "post-receive", "post-rewrite", "post-update", "pre-applypatch"),
        *("pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive"),
        *("prepare-commit-msg", "proc-receive", "push-to-checkout", "reference-transaction", "sendemail-validate"),
        "update",
    )
)
_RUN_BY_GIT: Final = frozenset(
    ("commondir", "config", "config.worktree", "gitdir", "hooks", "info", "modules", "objects", "worktrees")
)
"""Entries of a git directory that determine what git runs."""
_scanned: dict[str, tuple[str, ...]] = {}


def note_symlinks(workspace: str, symlinks: Iterable[str]) -> None:
    """Record the protected links that a search of the whole workspace, at any depth, has found."""
    _scanned[workspace] = tuple(sorted(symlinks))


def _noted(workspace: str) -> str:
    return "\0".join(_scanned.get(workspace, ()))


class _Directory(NamedTuple):
    symlinks: Mapping[str, str]
    """The real path to which each protected link in the directory leads, by its path."""
    is_git: bool
    """Whether the directory is a git directory, such as a bare repository."""


class ProtectedTargets:
    """Finds protected paths that cannot be recognized by name, for one action in one workspace and home directory."""

    def __init__(self, workspace: str, home: str, symlinks: DirectoryReader) -> None:
        self._workspace, self._home = workspace, home
        self._question = symlinks
        self._directories: dict[str, _Directory] = {}
        self._common: Mapping[str, str] | None = None
        self._git: Sequence[str] | None = None

    def other_names(self, real: str) -> Iterator[str]:
        """Yield the protected names of a real path: links that lead to it, and names of files that git uses."""
        roots = [each for each in (self._workspace, self._home) if _is_within(real, each)]
        if not roots:
            return
        yield from _names_through(self._everywhere(), real)
        for directory in _between(max(roots, key=len), real):
            if directory not in self._directories:
                self._directories[directory] = self._looked_at(directory)
            entry = self._directories[directory]
            yield from _names_through(entry.symlinks, real)
            if entry.is_git and real[len(directory) + 1 :].partition("/")[0] in _RUN_BY_GIT:
                yield f"{directory}/.git{real[len(directory) :]}"
            if not recorded_stat.is_directory(directory):
                return
        if self._git is None:
            self._git = list(self._named_by_git())
        yield from (f"{path}/.git" for path in self._git if _is_within(real, path))

    def _everywhere(self) -> Mapping[str, str]:
        """Return the protected links that may lead to any directory, with the real paths to which they lead."""
        if self._common is None:
            self._common = {}
            for directory in (self._home, f"{self._home}/.config", f"{self._home}/.local/share"):
                self._common |= self._symlinks(directory)
            noted = recorded_stat.ask(_noted, self._workspace)
            self._common |= {path: recorded_stat.real_path(path) for path in noted.split("\0") if path}
        return self._common

    def _symlinks(self, directory: str, depth: int = 0) -> dict[str, str]:
        symlinks: dict[str, str] = {}
        for name in recorded_stat.ask(self._question, directory).split("\0"):
            path = f"{directory}/{name}"
            if name.endswith("/") and depth < _DEEPEST:
                symlinks |= self._symlinks(path.rstrip("/"), depth + 1)
            elif name and not name.endswith("/"):
                symlinks[path] = recorded_stat.real_path(path)
        return symlinks

    def _looked_at(self, directory: str) -> _Directory:
        is_git = recorded_stat.exists(f"{directory}/HEAD") and all(
            recorded_stat.is_directory(f"{directory}/{name}") for name in ("objects", "refs")
        )
        return _Directory(self._symlinks(directory), is_git)

    def _named_by_git(self) -> Iterator[str]:
        """Yield the paths that git's settings make git run or read: directories of hooks, other repositories, files."""
        for repository in repositories(self._workspace):
            if not repository.is_bare:
                yield from dict.fromkeys((repository.git, repository.common))
            files, _ = settings_files(repository, self._workspace, self._home)
            yield from (file.path for file in files)
            for path in (each for file in files for setting in file.settings for each in setting.hooks_paths):
                hooks = os.path.normpath(os.path.join(repository.work_tree, path))  # noqa: PTH118 - strings
                # a directory that contains the workspace does not make all of it protected
                is_above = _is_within(self._workspace, hooks)
                yield from (f"{hooks}/{name}" for name in _HOOKS) if is_above else (hooks,)


def _names_through(symlinks: Mapping[str, str], real: str) -> Iterator[str]:
    for path, target in symlinks.items():
        if _is_within(real, target):
            yield path + real[len(target) :]


def _between(top: str, real: str) -> Iterator[str]:
    """Yield the directory `top` and those below it that contain the path, from the top."""
    yield top
    end = real.find("/", len(top) + 1)
    while end > 0:
        yield real[:end]
        end = real.find("/", end + 1)


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")
