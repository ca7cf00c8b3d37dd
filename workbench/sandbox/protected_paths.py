"""Finds what must be read-only inside a writable workspace: files that decide which code runs, and parts of git."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from workbench.files.absent_paths import AbsentPaths
from workbench.files.root_directory import real_path
from workbench.risk.paths import within
from workbench.risk.protected_entries import PASSED_OVER
from workbench.risk.protected_names import CODE_BEGINNINGS, CODE_DIRECTORIES, CODE_ENDINGS, CODE_NAMES, code_reason
from workbench.risk.protected_repositories import GitPathFinder, directories_above

MOST_DIRECTORIES: Final = 3_000
"""The maximum number of directories to search, those nearest to the workspace's root first."""
_IN_GIT: Final = ("hooks", "config", "config.worktree", "info", "commondir", "gitdir", "objects/info/alternates")
_IN_MODULE: Final = ("hooks", "config", "info")
_BARE: Final = frozenset({"HEAD", "objects", "refs"})
_WRITABLE_NAMES: Final = frozenset({"pyvenv.cfg"})
_ENDINGS: Final = tuple(CODE_ENDINGS)


@dataclass
class ProtectedPaths:
    """The result of a search. All paths exist and are resolved, except for the last component of those in
    `read_only`.
    """

    read_only: list[str] = field(default_factory=list)
    git_directories: list[str] = field(default_factory=list)
    """Git directories, perhaps outside the workspace; they are writable except for the `read_only` paths in them."""
    is_complete: bool = True
    """Whether every directory was searched."""


def protected_paths(workspace: Path) -> ProtectedPaths:
    """Search a workspace, skipping directories of packages and build results."""
    result = ProtectedPaths()
    root, finder = str(workspace), GitPathFinder((), AbsentPaths())
    waiting, searched = deque([root]), 0
    while waiting:
        directory = waiting.popleft()
        searched += 1
        if searched > MOST_DIRECTORIES:
            result.is_complete = False
            break
        entries = _entries(directory)
        if directory != root and _BARE.issubset(entry.name for entry in entries):
            _add_git_directory(directory, result)
            continue
        for entry in entries:
            _add(entry, root, result, waiting, finder)
    for above in directories_above(root, "/"):
        if above != root and os.path.lexists(f"{above}/.git"):
            _add_repository(f"{above}/.git", root, result, finder)
            break
    return result


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _add(
    entry: os.DirEntry[str], root: str, result: ProtectedPaths, waiting: deque[str], finder: GitPathFinder
) -> None:
    folded = entry.name.casefold()
    if folded == ".git":
        _add_repository(entry.path, root, result, finder)
    elif _is_protected(entry.path[len(root) :], folded):
        # The target of a link is protected if it is in the workspace; the link itself cannot be.
        real = real_path(entry.path)
        if within(real, root) and os.path.exists(real):  # noqa: PTH110 - strings
            result.read_only.append(real)
    elif entry.is_dir(follow_symlinks=False) and folded not in PASSED_OVER:
        waiting.append(entry.path)


def _is_protected(relative: str, folded: str) -> bool:
    """Return whether a path relative to the workspace is protected; for most paths, a quick look at the name
    decides.
    """
    if folded in _WRITABLE_NAMES:
        return False
    is_near = folded in CODE_NAMES or folded in CODE_DIRECTORIES or folded.endswith(_ENDINGS)
    if not is_near and CODE_BEGINNINGS.isdisjoint(relative.casefold().split("/")):
        return False
    return bool(code_reason(relative))


def _add_repository(pointer: str, root: str, result: ProtectedPaths, finder: GitPathFinder) -> None:
    """Add the git directories of a repository, given its `.git`, and the settings and hooks in the workspace that apply
    to it.

    A git directory outside the workspace is added only if it names the work tree itself, because a file in the
    workspace could point to any repository.
    """
    paths = finder.named_by(pointer)
    if not os.path.isdir(pointer):  # noqa: PTH112 - strings
        result.read_only += [pointer] if within(pointer, root) else []
    git = real_path(paths.git)
    is_own = within(git, root) or (git == pointer and not os.path.islink(pointer)) or _names_work_tree(git, pointer)  # noqa: PTH114
    if is_own:
        _add_git_directory(git, result)
    common = real_path(paths.common) if is_own and paths.common else ""
    # What `commondir` names counts only where nothing in the workspace can have written it.
    if common and (within(common, root) or (not within(git, root) and git.startswith(f"{common}/worktrees/"))):
        _add_git_directory(common, result)
    result.read_only += [path for path in map(real_path, (*paths.hooks, *paths.files)) if within(path, root)]


def _names_work_tree(git: str, pointer: str) -> bool:
    """Return whether the git directory of a linked work tree names the `.git` file `pointer`."""
    try:
        return real_path(Path(f"{git}/gitdir").read_text(errors="surrogateescape").strip()) == real_path(pointer)
    except OSError:
        return False


def _add_git_directory(git: str, result: ProtectedPaths) -> None:
    """Add a git directory, and as read-only those parts of it that decide which programs git runs."""
    if not os.path.isfile(f"{git}/HEAD"):  # noqa: PTH113 - strings
        return
    result.git_directories.append(git)
    modules = [(each, name) for each in _modules(git) for name in _IN_MODULE]
    worktrees = [(f"{git}/worktrees/{each}", "config.worktree") for each in _names(f"{git}/worktrees")]
    for directory, name in (*((git, name) for name in _IN_GIT), *modules, *worktrees):
        result.read_only += [path] if os.path.lexists(path := f"{directory}/{name}") else []


def _modules(git: str) -> Iterator[str]:
    """Yield the git directories of submodules, whose names may contain slashes."""
    for directory, names, files in os.walk(f"{git}/modules"):
        if "HEAD" in files:
            names[:] = [name for name in names if name == "modules"]
            yield directory


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)  # noqa: PTH208 - strings
    except OSError:
        return []
