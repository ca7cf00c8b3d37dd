"""What is protected in one directory, by how the directory is searched, and which of its subdirectories to search."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from workbench.files.root_directory import real_path
from workbench.risk.paths import CODE_BEGINNINGS, code_reason, within, words

_PASSED_OVER: Final = words(
    "node_modules __pycache__ .venv venv .tox .nox .pytest_cache .mypy_cache .ruff_cache .hypothesis site-packages "
    ".cache .gradle .terraform .next .nuxt .turbo target"
)
"""Directories made by builds and installs; files with protected names in them do not belong to the project."""
_ENVIRONMENTS: Final = words(".venv venv .tox .nox")
_BARE: Final = frozenset({"HEAD", "objects", "refs"})
"""What every git directory holds, also that of a repository without a work tree."""
_STARTED_WITH_PYTHON: Final = ("sitecustomize", "usercustomize")
_IN_GIT: Final = ("config", "config.worktree", "commondir", "gitdir", "info/attributes", "objects/info/alternates")
Scope: TypeAlias = Literal[
    "tree", "all", "hooks", "linked", "git", "modules", "venv", "libraries", "site", "programs", "names", "unlisted"
]
"""How a directory is searched: `tree` for protected names, `all` for every file, also below it, `hooks` for every file,
`linked` as `hooks` for the target of a link, `git` as a git directory, `modules` as a directory of git directories,
`venv` as an environment of Python or a directory of those, `libraries` and `site` as directories in it, `programs` as a
directory of PATH, `names` as such a directory of which only the names are compared.
"""


def is_near(path: str, scope: Scope) -> bool:
    """Return whether the directory may hold protected files; it is searched first, before a limit is reached."""
    return scope != "tree" or path.rpartition("/")[2].casefold() in CODE_BEGINNINGS


Entry: TypeAlias = tuple[str, bool, bool]
"""The name of a directory entry, whether it is a directory, and whether it is a link."""


def _tree(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], list[tuple[str, Scope]]]:
    """Return the protected files in a workspace directory, and its subdirectories to search."""
    # Anybody can add the names of a git directory to another one, whose own files stay protected.
    is_bare = {name for name, _, _ in listed} >= _BARE
    files, children = _git(path, listed, workspace) if is_bare else ([], [])
    in_git = {child for child, _ in children}
    for name, is_directory, is_link in listed:
        if f"{path}/{name}" in in_git:
            continue
        whole, folded = f"{path}/{name}", name.casefold()
        # a link may lead to a directory in which some files are protected
        reason = code_reason(whole[len(workspace) :]) or (is_link and folded in CODE_BEGINNINGS)
        if is_directory and folded == ".git":
            children.append((whole, "git"))
        elif is_directory and name in _ENVIRONMENTS:
            children.append((whole, "venv"))
        elif is_directory and folded not in _PASSED_OVER:
            children.append((whole, "all" if reason else "tree"))
        elif not is_directory and reason:
            files.append(whole)
            children += [(real_path(whole), "linked")] if is_link else []
    return files, children


def _all(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], list[tuple[str, Scope]]]:
    """Return every file of a protected directory, and its subdirectories, which are protected too."""
    files = [f"{path}/{name}" for name, is_directory, _ in listed if not is_directory]
    return files, [(f"{path}/{name}", "all") for name, is_directory, _ in listed if is_directory]


def _hooks(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], list[tuple[str, Scope]]]:
    """Return every file of a hooks directory; its subdirectories are searched as usual if in the workspace."""
    children = _tree(path, [entry for entry in listed if entry[1]], workspace)[1] if within(path, workspace) else []
    return [f"{path}/{name}" for name, is_directory, _ in listed if not is_directory], children


def _git(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], list[tuple[str, Scope]]]:
    """Return what makes git run something; objects, index and refs are left out, as they change with each use."""
    children: list[tuple[str, Scope]] = [(f"{path}/hooks", "all"), (f"{path}/modules", "modules")]
    children.append((f"{path}/worktrees", "modules"))
    files = [f"{path}/{name}" for name in _IN_GIT]
    # a link may replace one of the directories
    directories = ("hooks", "info", "modules")
    files += [f"{path}/{name}" for name, is_directory, _ in listed if not is_directory and name in directories]
    return files, children


def _modules(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], list[tuple[str, Scope]]]:
    """Return the git directories of submodules and worktrees, whose names may contain slashes."""
    children: list[tuple[str, Scope]] = []
    for name, is_directory, _ in listed:
        if is_directory:
            is_git = any(os.path.lexists(f"{path}/{name}/{file}") for file in ("config", "HEAD", "gitdir"))
            children.append((f"{path}/{name}", "git" if is_git else "modules"))
    return [], children


def _venv(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], list[tuple[str, Scope]]]:
    """Return the libraries of an environment of Python, or the environments in a directory of `tox` or `nox`."""
    if any(name == "pyvenv.cfg" for name, _, _ in listed):
        return [], [(f"{path}/{name}", "libraries") for name in ("lib", "Lib")]
    is_of_several = path.endswith((".tox", ".nox"))
    return [], [(f"{path}/{name}", "venv") for name, is_directory, _ in listed if is_directory and is_of_several]


def _libraries(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], list[tuple[str, Scope]]]:
    """Return the site directories below `lib`, `Lib` on Windows."""
    versions = [f"{path}/{name}" for name, is_directory, _ in listed if is_directory and name.startswith("py")]
    return [], [(f"{each}/site-packages", "site") for each in (path, *versions)]


def _site(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], list[tuple[str, Scope]]]:
    """Return what each start of an interpreter runs of its site directory, before any program."""
    names = [(name, is_directory) for name, is_directory, _ in listed if name.startswith(_STARTED_WITH_PYTHON)]
    files = [f"{path}/{name}" for name, is_directory, _ in listed if name.endswith(".pth") and not is_directory]
    files += [f"{path}/{name}" for name, is_directory in names if not is_directory]
    return files, [(f"{path}/{name}", "all") for name, is_directory in names if is_directory]


def _programs(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], list[tuple[str, Scope]]]:
    """Return every program of a directory of PATH."""
    return [f"{path}/{name}" for name, is_directory, _ in listed if not is_directory], []


Lister: TypeAlias = Callable[[str, list[Entry], str], tuple[list[str], list[tuple[str, Scope]]]]
LISTED: Mapping[Scope, Lister] = {
    "tree": _tree,
    "all": _all,
    "hooks": _hooks,
    "linked": _hooks,
    "git": _git,
    "modules": _modules,
    "venv": _venv,
    "libraries": _libraries,
    "site": _site,
    "programs": _programs,
    "names": _programs,
}
