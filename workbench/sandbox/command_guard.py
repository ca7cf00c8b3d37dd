"""Compares the protected files before and after one command in the sandbox, and moves aside what appeared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from workbench.config.locations import private_directory
from workbench.files.root_directory import Root, real_path
from workbench.risk.paths import within
from workbench.risk.protected_changes import changes
from workbench.risk.protected_files import ProtectedFiles
from workbench.risk.protected_state import PathChange
from workbench.sandbox.protected_paths import protected_paths
from workbench.sandbox.sandbox import Boundary
from workbench.sandbox.set_aside import undo, undoable


class CommandChanges(NamedTuple):
    """What a command changed in protected files, and what of that was undone."""

    undone: Sequence[str] = ()
    """The changed paths that are again as they were before the command."""
    remaining: Sequence[str] = ()
    """The protected paths that are still changed."""
    directory: Path | None = None
    """The directory to which the command's versions were moved; None if nothing was changed."""


class CommandGuard:
    """Remembers the protected files as they were before a command, to undo the command's changes."""

    def __init__(self, boundary: Boundary) -> None:
        """Record the protected files of the workspace and of its repositories."""
        where = boundary.locations
        self._workspace, self._directory = real_path(boundary.workspace), where.data / "put-back"
        self._home = real_path(boundary.home)
        # git directories outside that the sandbox lets a command write
        git = protected_paths(Path(self._workspace)).git_directories
        self._roots = [Root.at(each) for each in (self._workspace, *git)]
        own = (str(where.data), str(where.state))
        self._files = ProtectedFiles(self._workspace, self._home, str(where.config.parent), own=own)
        self._before = self._files.scan()

    def undo(self) -> CommandChanges:
        """Move aside protected files that appeared since, and restore links that were replaced. Raises OSError."""
        after = self._files.scan()
        mine = [each for each in changes(self._before, after) if self._is_inside(each)]
        if not mine:
            return CommandChanges()
        directory = private_directory(self._directory).resolve()
        # In a home directory, protected files do not belong to the project alone.
        ours = [] if within(self._home, self._workspace) else [each for each in mine if _is_undone(each)]
        undo(undoable(ours, self._before, self._roots, self._workspace), self._before, self._roots, directory)
        now = self._files.scan()
        remaining = [each.path for each in changes(self._before, now) if self._is_inside(each)]
        return CommandChanges([each.path for each in mine if each.path not in remaining], remaining, directory)

    def _is_inside(self, change: PathChange) -> bool:
        return any(within(change.real, str(root.path)) for root in self._roots)


def _is_undone(change: PathChange) -> bool:
    # Files are mounted, unless somebody outside replaces them; a link cannot be.
    return change.before is None or change.before.kind == "link"
