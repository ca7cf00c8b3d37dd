"""Lists the protected entries of one directory and its subdirectories to search, by the kind of directory.

A link with a protected name is listed as a file and, since it may lead to a directory, as a subdirectory too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from workbench.risk.paths import words
from workbench.risk.protected_names import CODE_BEGINNINGS, CODE_PATHS, code_reason

PASSED_OVER: Final = words(
    "node_modules __pycache__ .venv venv .tox .nox .pytest_cache .mypy_cache .ruff_cache .hypothesis site-packages "
    ".cache .gradle .terraform .next .nuxt .turbo target"
)
"""Directories made by builds and installs; files with protected names in them do not belong to the project."""
_WITHOUT_CLONES: Final = words(
    "node_modules __pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis site-packages lib lib64 bin include"
)
"""Those of `PASSED_OVER`, and directories in them, in which tools do not clone repositories."""
_DEEPEST_CLONE: Final = 3
"""The maximum depth of a cloned repository below a directory in `PASSED_OVER`."""
_ENVIRONMENTS: Final = words(".venv venv .tox .nox")
_BARE: Final = frozenset({"HEAD", "objects", "refs"})
"""Names in every git directory, including that of a bare repository."""
STARTED_WITH_PYTHON: Final = ("sitecustomize", "usercustomize")
IMPORTED_BY_PTH: Final = ("_virtualenv.", "__editable___", "_distutils_hack")
"""Beginnings of the names of modules that the `.pth` files of installers import."""
_IN_GIT: Final = ("config", "config.worktree", "commondir", "gitdir", "info/attributes", "objects/info/alternates")
_DIRECTORIES_IN_GIT: Final = words("hooks info modules objects worktrees")
_ABOVE_PROTECTED: Final = frozenset(
    "/".join(parts[:length]) for parts in (path.split("/") for path in CODE_PATHS) for length in range(1, len(parts))
)
"""The directories on the way to protected paths: `.github`, `.local/share` …"""

Scope: TypeAlias = Literal[
    "tree",
    "all",
    "hooks",
    "beginning",
    "git",
    "modules",
    "venv",
    "prefix",
    "prefixes",
    "libraries",
    "site",
    "activation",
    "clones",
    "programs",
    "replacing",
    "names",
    "unlisted",
]
"""How a directory is searched.

`tree`: for protected names. `all`: every file, recursively. `hooks`: every file. `beginning`: as the target of a link
such as `.github`. `git`: as a git directory; `modules`: as a directory of git directories. `venv`: as a Python
environment or a directory of these; `prefix`: as a Python installation; `prefixes`: as a directory of these;
`libraries`, `site` and `activation`: as directories in these. `clones`: for repositories that tools have cloned.
`programs`: as a directory of PATH; `replacing`: as one in the workspace, of which only programs that hide others are
compared; `names`: as one of which only the names are compared.
"""


def is_near(path: str, scope: Scope) -> bool:
    """Return whether the directory may contain protected files; such directories are searched first, before a limit is
    reached.
    """
    name = path.rpartition("/")[2].casefold()
    return scope not in ("tree", "clones") or (scope == "tree" and name in CODE_BEGINNINGS)


Entry: TypeAlias = tuple[str, bool, bool]
"""The name of a directory entry, whether it is a directory, and whether it is a link."""
Children: TypeAlias = list[tuple[str, Scope]]


def _tree(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], Children]:
    """Return the protected files in a workspace directory, and its subdirectories to search."""
    # Anybody can add the names of a git directory to another one, whose own files stay protected.
    is_bare = {name for name, _, _ in listed} >= _BARE
    files: list[str] = []
    children: Children = [(path, "git")] if is_bare else []
    for name, is_directory, is_link in listed:
        whole, folded = f"{path}/{name}", name.casefold()
        reason = code_reason(whole[len(workspace) :])
        if not is_directory and (reason or (is_link and folded in CODE_BEGINNINGS)):
            files.append(whole)
        if folded == ".git":
            children.append((whole, "git"))
        elif is_directory or is_link:
            children += _scopes(whole, name, bool(reason), is_link)
    return files, children


def _scopes(path: str, name: str, is_protected: bool, is_link: bool) -> Children:
    """Return how a subdirectory of a workspace is searched, or a link that may lead to a directory."""
    folded = name.casefold()
    if name in _ENVIRONMENTS:
        return [(path, "venv")] if is_link else [(path, "venv"), (path, "clones")]
    if folded in PASSED_OVER:
        return [] if is_link or folded in _WITHOUT_CLONES else [(path, "clones")]
    if is_protected:
        return [(path, "all")]
    if is_link:
        return [(path, "beginning")] if folded in CODE_BEGINNINGS else []
    return [(path, "tree")]


def _all(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], Children]:
    """Return every file of a protected directory, and its subdirectories, which are protected too."""
    files = [f"{path}/{name}" for name, is_directory, _ in listed if not is_directory]
    return files, [(f"{path}/{name}", "all") for name, is_directory, is_link in listed if is_directory or is_link]


def _beginning(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], Children]:
    """Return the protected entries of a directory that is called by a name such as `.github` only through a link."""
    files: list[str] = []
    children: Children = []
    for name, is_directory, is_link in listed:
        whole = f"{path}/{name}"
        if code_reason(whole[len(workspace) :]):
            files += [] if is_directory else [whole]
            children += [(whole, "all")] if is_directory or is_link else []
        elif is_directory and any(whole.casefold().endswith(f"/{each}") for each in _ABOVE_PROTECTED):
            children.append((whole, "beginning"))
    return files, children


def _files(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], Children]:
    """Return every file of a directory, such as one of PATH or one of hooks, without its subdirectories."""
    return [f"{path}/{name}" for name, is_directory, _ in listed if not is_directory], []


def _git(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], Children]:
    """Return the entries that make git run something; objects, index and refs are omitted, as they change with each
    use.
    """
    children: Children = [(f"{path}/hooks", "all"), (f"{path}/modules", "modules"), (f"{path}/worktrees", "modules")]
    files = [f"{path}/{name}" for name in _IN_GIT]
    # a link may replace one of the directories
    files += [f"{path}/{name}" for name, is_directory, _ in listed if not is_directory and name in _DIRECTORIES_IN_GIT]
    return files, children


def _modules(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], Children]:
    """Return the git directories of submodules and worktrees, whose names may contain slashes."""
    files: list[str] = []
    children: Children = []
    for name, is_directory, is_link in listed:
        if is_directory or is_link:
            is_git = any(os.path.lexists(f"{path}/{name}/{file}") for file in ("config", "HEAD", "gitdir"))
            children.append((f"{path}/{name}", "git" if is_git else "modules"))
            files += [f"{path}/{name}"] if is_link else []
    return files, children


def _clones(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], Children]:
    """Return the repositories in a directory made by a tool, and the directories in which there may be more."""
    parts = path[len(workspace) + 1 :].split("/")
    depth = len(parts) - 1 - next((at for at, name in enumerate(parts) if name.casefold() in PASSED_OVER), 0)
    if {name for name, _, _ in listed} >= _BARE:
        return [], [(path, "git")]
    if any(name == ".git" for name, _, _ in listed):
        return [], [(f"{path}/.git", "git")]
    names = [name for name, is_directory, _ in listed if is_directory and name not in _WITHOUT_CLONES]
    return [], [(f"{path}/{name}", "clones") for name in names if depth < _DEEPEST_CLONE]


def _venv(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], Children]:
    """Return the directories to search in a Python environment, or the environments in a directory of tox or nox."""
    if any(name == "pyvenv.cfg" for name, _, _ in listed):
        return [], [*_prefix(path, listed, workspace)[1], (f"{path}/bin", "activation")]
    is_of_several = path.endswith((".tox", ".nox"))
    return [], [(f"{path}/{name}", "venv") for name, is_directory, _ in listed if is_directory and is_of_several]


def _prefix(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], Children]:
    """Return the directories in which a Python installation has libraries."""
    return [], [(f"{path}/{name}", "libraries") for name in ("lib", "Lib")]


def _prefixes(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], Children]:
    """Return the Python installations in a directory of these."""
    return [], [(f"{path}/{name}", "prefix") for name, is_directory, _ in listed if is_directory]


def _libraries(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], Children]:
    """Return the site directories below `lib`, or below `Lib` in an environment made for Windows."""
    versions = [f"{path}/{name}" for name, is_directory, _ in listed if is_directory and name.startswith("py")]
    return [], [(f"{each}/site-packages", "site") for each in (path, *versions)]


def _site(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], Children]:
    """Return the files of a site directory that an interpreter runs or reads at each start, before the program."""
    started = [(name, is_directory) for name, is_directory, _ in listed if name.startswith(STARTED_WITH_PYTHON)]
    imported = [(name, is_directory) for name, is_directory, _ in listed if name.startswith(IMPORTED_BY_PTH)]
    files = [f"{path}/{name}" for name, is_directory, _ in listed if name.endswith(".pth") and not is_directory]
    files += [f"{path}/{name}" for name, is_directory in (*started, *imported) if not is_directory]
    children: Children = [(f"{path}/{name}", "all") for name, is_directory in started if is_directory]
    # these hold compiled modules further down, which change by themselves
    children += [(f"{path}/{name}", "hooks") for name, is_directory in imported if is_directory]
    return files, children


def _activation(path: str, listed: list[Entry], workspace: str) -> tuple[list[str], Children]:
    """Return the scripts that activate an environment, and its interpreters."""
    return [f"{path}/{name}" for name, is_directory, _ in listed if name.startswith(("activate", "python"))], []


Lister: TypeAlias = Callable[[str, list[Entry], str], tuple[list[str], Children]]
LISTED: Mapping[Scope, Lister] = {
    "tree": _tree,
    "all": _all,
    "hooks": _files,
    "beginning": _beginning,
    "git": _git,
    "modules": _modules,
    "venv": _venv,
    "prefix": _prefix,
    "prefixes": _prefixes,
    "libraries": _libraries,
    "site": _site,
    "activation": _activation,
    "clones": _clones,
    "programs": _files,
    "replacing": _files,
    "names": _files,
}
