"""Finds the protected files that changed between two scans, ignoring changes that cannot make a program run."""

from __future__ import annotations

import os
import re
from typing import Final

from workbench.files.root_directory import real_path
from workbench.lazy_pattern import lazy_pattern
from workbench.risk import git_settings
from workbench.risk.paths import within
from workbench.risk.protected_entries import IMPORTED_BY_PTH, PASSED_OVER, Scope
from workbench.risk.protected_files import Baseline
from workbench.risk.protected_repositories import beside
from workbench.risk.protected_state import PathChange


def changes(before: Baseline, after: Baseline) -> list[PathChange]:
    """Return the changed paths in order, except for changes that cannot make a program run."""
    result: list[PathChange] = []
    if before.symlinks == after.symlinks and before.files == after.files:  # as after nearly every action
        return result
    for path in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(path), after.files.get(path)
        behind, now_behind = before.symlinks_above(path), after.symlinks_above(path)
        if behind != now_behind:
            # The path leads elsewhere now; if the link itself has changed, it is reported instead of its target.
            old = None if any(_has_changed(each, before, after) for each, _ in behind) else old
            new = None if any(_has_changed(each, before, after) for each, _ in now_behind) else new
        if old is new or (old is not None and old.is_same(new)):
            continue
        if old is None and not before.would_find(path, after.scopes[path]):
            continue
        if new is None and not after.would_find(path, before.scopes[path]):
            continue
        real = behind[-1][1] + path[len(behind[-1][0]) :] if behind and behind == now_behind else path
        change = PathChange(path, old, new, real, is_in_new_directory=_is_in_new_directory(before, path))
        if not _is_inert(change, (after if new is not None else before).scopes[path]):
            result.append(change)
    return result


def _has_changed(symlink: str, before: Baseline, after: Baseline) -> bool:
    old, new = before.files.get(symlink), after.files.get(symlink)
    return old is not new and (old is None or not old.is_same(new))


def _is_in_new_directory(before: Baseline, path: str) -> bool:
    """Return whether the parent directory is new; for a file below `site-packages`, whether that directory is new."""
    site, is_library, _ = path.partition("/site-packages/")
    return not before.had_directory(f"{site}/site-packages" if is_library else path.rpartition("/")[0])


def _is_inert(change: PathChange, scope: Scope) -> bool:
    """Return whether a change cannot make a program run: sample hooks, git branches and remotes, known ssh hosts."""
    directory, _, name = change.path.rpartition("/")
    if scope == "activation" or (scope == "replacing" and change.after is None):
        return _is_inert_activation(change)
    if "/site-packages/" in change.path or (change.after is not None and change.after.kind == "link"):
        return _is_inert_library(change)
    if name.endswith(".sample") and _is_git_directory(f"{directory}/".partition("/hooks/")[0]):
        return change.before is None or change.after is None
    if name == "config" and _is_git_directory(directory):
        return _is_inert_config(change)
    if directory.endswith("/.ssh") and name in {"known_hosts", "known_hosts.old"}:
        return name.endswith(".old") or _only_adds_lines(change)
    is_empty = change.after is None and change.before is not None and change.before.content == b""
    return (
        is_empty
        or (change.after is None and _is_of_deleted_clone(change.path))
        or (name in {"commondir", "gitdir"} and change.before is None and _is_of_new_worktree(change))
    )


def _is_of_deleted_clone(path: str) -> bool:
    """Return whether the file belonged to a repository, made by a tool, that no longer exists."""
    git, is_nested, _ = path.partition("/.git/")
    return bool(is_nested) and not PASSED_OVER.isdisjoint(git.split("/")) and not os.path.lexists(f"{git}/.git")


def _only_adds_lines(change: PathChange) -> bool:
    old = change.before.content if change.before else b""
    new = change.after.content if change.after else b""
    return bool(new) and new.startswith(old or b"")  # type: ignore[union-attr]


def _is_inert_activation(change: PathChange) -> bool:
    """Return whether a change in an environment's `bin` is harmless: a deleted file, a file in a new directory, or a
    link to an interpreter outside the project.
    """
    if change.after is None or change.is_in_new_directory:
        return True
    target = os.fsdecode(change.after.content or b"") if change.after.kind == "link" else ""
    name = change.path.rpartition("/")[2]
    if not name.startswith("python") or not target:
        return False
    real = real_path(change.path)
    is_of_project = within(real, change.path.rpartition("/bin/")[0].rpartition("/")[0])
    return target.startswith("python") or not (is_of_project or real.startswith(_TEMPORARY))


_TEMPORARY: Final = ("/tmp/", "/var/tmp/", "/dev/shm/", "/private/tmp/")


def _is_inert_library(change: PathChange) -> bool:
    """Return whether a changed file in a library directory makes a starting Python run only known code."""
    name = change.path.partition("/site-packages/")[2]
    if change.after is None or change.after.kind == "link":
        return change.after is None
    if name.endswith(".pth"):
        return _only_adds_paths(change.after.content, change.path)
    return name.startswith(IMPORTED_BY_PTH) and change.is_in_new_directory


def _is_git_directory(directory: str) -> bool:
    if "/.git/" in f"{directory}/" or directory.endswith(".git"):
        return True
    return all(os.path.exists(f"{directory}/{name}") for name in ("HEAD", "objects"))  # noqa: PTH110 - strings


_INSTALLED_LINE: Final = lazy_pattern(
    r"import _virtualenv|import (__editable___\w+_finder); ?\1\.install\(\)|"
    r"import os; ?var = 'SETUPTOOLS_USE_DISTUTILS'; ?enabled = os\.environ\.get\(var, 'local'\) == 'local'; ?"
    r"enabled and __import__\('_distutils_hack'\)(?:\.add_shim\(\))?; ?"
)
"""Matches lines of code that installers write to `.pth` files: virtualenv, editable installs and setuptools."""
_LIBRARIES: Final = lazy_pattern(r"(?:/\.[tn]ox)?/[^/]+/[lL]ib(?:/py[^/]*)?/site-packages/[^/]*\Z")
"""Matches the path of a `.pth` file relative to the project."""


def _only_adds_paths(content: bytes | None, path: str) -> bool:
    """Return whether a `.pth` file runs nothing but known code of installers, and adds no path outside the project."""
    if content is None:
        return False
    project = _LIBRARIES.sub("", path)
    for line in content.decode("utf-8-sig", "replace").splitlines():
        if line.lstrip().startswith(("import ", "import\t")):
            if not _INSTALLED_LINE.fullmatch(line.strip()):
                return False
        elif not line.startswith("#") and not within(beside(path.rpartition("/")[0], line.strip()), project):
            return False
    return True


def _is_of_new_worktree(change: PathChange) -> bool:
    """Return whether the file is what `git worktree add` writes: the path of its repository, or of a `.git`."""
    directory, _, name = change.path.rpartition("/")
    content = change.after.content if change.after else None
    written = rb"\.\./\.\.\n?" if name == "commondir" else rb"[^\0\n]+/\.git\n?"
    return directory.rpartition("/")[0][-10:] == "/worktrees" and bool(re.fullmatch(written, content or b""))


def _is_inert_config(change: PathChange) -> bool:
    before, after = change.before, change.after
    if after is None:
        return _is_of_deleted_clone(change.path)
    if after.content is None or (before is not None and before.content is None):
        return False
    if before is not None and before.mode != after.mode:
        return False
    return git_settings.is_harmless(before.content if before and before.content else b"", after.content)
