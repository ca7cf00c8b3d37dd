"""The protected files that one action may change, because they were shown and approved."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

import msgspec

from workbench.files.root_directory import real_path
from workbench.lazy_pattern import lazy_pattern
from workbench.risk import Assessment
from workbench.risk.assessment import ANY, Part
from workbench.risk.paths import within, words
from workbench.risk.protected_entries import IMPORTED_BY_PTH
from workbench.risk.protected_state import PathChange

_TREE_VERBS: Final = frozenset(
    {
        *("checkout", "switch", "pull", "merge", "rebase", "reset", "restore", "stash", "cherry-pick", "revert", "am"),
        *("clone", "submodule", "worktree", "read-tree", "checkout-index", "bisect"),
    }
)
"""Git subcommands that check out other versions of files; restoring only some of those would leave a mixed checkout."""
_INSTALLERS: Final = words(
    "pip pip3 uv pipx poetry pdm hatch rye conda mamba pixi npm pnpm yarn bun deno cargo rustup go gem bundle brew "
    "pyenv rbenv nodenv asdf mise volta composer dotnet stack cabal opam"
)
_INSTALL_VERBS: Final = words(
    "install i add sync update upgrade uninstall remove rm link unlink rehash reshim tool global develop require use"
)
_ENVIRONMENTS: Final = ("venv", "virtualenv")
_PYTHON: Final = lazy_pattern(r"python[\d.]*")
_INSTALLED_INTO: Final = ("/bin", "/shims", "/site-packages")
_PROGRAMS: Final = ("/bin", "/.bin")


class Permit(msgspec.Struct, frozen=True):
    """The protected files that one action may change because they were shown and approved, by absolute path."""

    directories: frozenset[str] = frozenset()
    """Protected paths that may change, including everything below them."""
    files: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    """Paths that the command deletes by name, including everything below them."""
    everything: bool = False
    installs: bool = False
    """Whether the action installs programs or packages and was approved by the user."""
    installs_here: str = ""
    """The workspace if the action runs an installer, whether the user was asked or not; otherwise empty."""
    checks_out: bool = False
    """Whether the action is a git command that checks out files of other versions."""

    def allows(self, change: PathChange) -> bool:
        """Return whether the permit covers the change."""
        paths = [change.path, change.real or change.path]
        if change.is_behind_link:
            paths.append(real_path(change.path))
        if self._is_installed(change.path):
            return True
        protected = (*self.directories, *self.deleted) if change.after is None else self.directories
        return self.everything or any(
            path in self.files or any(within(path, each) for each in protected) for path in paths
        )

    def _is_installed(self, path: str) -> bool:
        """Return whether an installer may write the file; without approval, only in the workspace, and no `.pth`."""
        directory, _, name = path.rpartition("/")
        if self.installs and directory.endswith(_INSTALLED_INTO):
            return True
        is_usual = directory.endswith(_PROGRAMS) or name.startswith(IMPORTED_BY_PTH) or "/_distutils_hack/" in path
        return bool(self.installs_here) and within(path, self.installs_here) and is_usual


NO_CHANGES: Final = Permit()
ALL_CHANGES: Final = Permit(everything=True)


def permit_of(
    assessment: Assessment, workspace: str, previewed: Iterable[str], *, by_user: bool, by_rule: bool
) -> Permit:
    """Return the permit of an action: files of its preview and, if the user approved it, those that its question named.

    Protected paths are included if the user or a rule approved them.
    """
    parts = assessment.parts
    protected = {path for part in parts for path in part.protected} if by_user or by_rule else set()
    files, deleted = set(previewed), set[str]()
    if by_user:
        files |= {path for part in parts for path in part.changes if not path.endswith(ANY)}
        deleted |= {path for part in parts for path in part.deletes if not path.endswith(ANY)}
    root = real_path(workspace)
    checks_out = any("git" in part.words[:1] and not _TREE_VERBS.isdisjoint(part.words[1:6]) for part in parts)
    return Permit(
        frozenset(path for path in _real(protected) if not within(root, path)),
        _real(files),
        frozenset(path for path in _real(deleted) if not within(root, path)),
        installs=by_user and any(map(_installs, parts)),
        installs_here=root if any(map(_is_installer, parts)) else "",
        checks_out=checks_out,
    )


def _installs(part: Part) -> bool:
    named = [word.rpartition("/")[2] for word in part.words[:8]]
    return not _INSTALLERS.isdisjoint(named[:4]) and not _INSTALL_VERBS.isdisjoint(named[1:])


def _is_installer(part: Part) -> bool:
    """Return whether the command is an installer itself, found in PATH, that installs or makes an environment."""
    name, *rest = part.words[:8] or ("",)
    if _PYTHON.fullmatch(name) and rest[:1] == ["-m"]:
        name, *rest = rest[1:] or [""]
    return name in _ENVIRONMENTS or (name in _INSTALLERS and not _INSTALL_VERBS.union(_ENVIRONMENTS).isdisjoint(rest))


def _real(paths: Iterable[str]) -> frozenset[str]:
    """Return each path in three forms: as written, with the links of its directory resolved, and with all links
    resolved.
    """
    normal = [os.path.normpath(path) for path in paths]
    return frozenset(each for path in normal for each in (path, real_path(path), _in_real_directory(path)))


def _in_real_directory(path: str) -> str:
    directory, _, name = path.rpartition("/")
    return f"{real_path(directory or '/')}/{name}"
