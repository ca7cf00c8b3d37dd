"""A workspace that was copied from an image: its record, and what has changed in it since.

The copy is an ordinary directory of the user, beside ohw's data directory instead of in it, because commands cannot see
anything in there. Its record and original content are in ohw's data directory, where no command can write.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from workbench.config.locations import Locations, private_directory
from workbench.errors import WorkbenchError
from workbench.files.git import EMPTY_TREE, OwnRepository, create_own_repository, run_git
from workbench.files.state_files import replace_file
from workbench.text import first_line, visible_path

_SECONDS: Final = 900.0
"""Time limit for git, which stores or compares the whole workspace."""
_ATTRIBUTES: Final = b"* -text -eol -ident -filter -working-tree-encoding\n"
"""Attributes that make git compare files byte for byte, whatever the project's own attributes say."""


class _Record(msgspec.Struct, frozen=True):
    image: str
    path: str
    tree: str


@dataclass(frozen=True)
class WorkspaceCopy:
    """A copy of a directory of an image."""

    image: str
    path: str
    """The directory's path in the image; a container has the workspace at this path too."""
    directory: Path
    own: Path
    """The directory with the copy's record."""

    @classmethod
    def create(cls, locations: Locations, image: str, path: str, name: str) -> WorkspaceCopy:
        """Create the empty directory of a new copy with this name. Raises UsageError or OSError."""
        private_directory(_workspaces(locations))
        copy = cls.at(locations, image, path, name)
        private_directory(copy.directory.parent)
        copy.directory.mkdir(mode=0o755)
        private_directory(copy.own)
        return copy

    @classmethod
    def at(cls, locations: Locations, image: str, path: str, name: str) -> WorkspaceCopy:
        """Return the copy with this name, whether it exists or not."""
        directory = _workspaces(locations) / name / Path(path).name
        return cls(image, path, directory, _records(locations) / name)

    def record(self, *, is_durable: bool = True) -> None:
        """Store what the directory contains now, as the basis of `patch`. Raises OSError or WorkbenchError.

        Files that git ignores are omitted, unless the project's own repository tracks them. A record that is not
        durable may be lost when the machine fails.
        """
        tree = self._tree() if any(self.directory.iterdir()) else EMPTY_TREE
        content = msgspec.json.encode(_Record(self.image, self.path, tree))
        if is_durable:
            replace_file(self.own / "copy.json", content)
        else:
            (self.own / "copy.json").write_bytes(content)

    def _tree(self) -> str:
        """Store the contents of the directory, and return the name of their tree."""
        self._add_all()
        if (self.directory / ".git").exists():
            tracked = run_git(["ls-files", "-z"], cwd=self.directory, timeout=_SECONDS)
            if tracked.ok and tracked.output:
                self._git("update-index", "--add", "--remove", "-z", "--stdin", data=tracked.output)
        return self._git("write-tree").decode().strip()

    def patch(self) -> bytes:
        """Return the changes since `record` as a patch for `git apply`; empty if there are none. Raises WorkbenchError.

        New files that git ignores are omitted, as are changes in repositories inside the workspace.
        """
        record = _record_in(self.own)
        if record is None:
            raise WorkbenchError(f"the record of {visible_path(str(self.directory))} is damaged")
        if record.tree == EMPTY_TREE and not any(self.directory.iterdir()):
            return b""
        self._add_all()
        return self._git("diff-index", "--cached", "--patch", "--binary", "--full-index", record.tree)

    def remove(self) -> None:
        """Delete the copy and its record."""
        shutil.rmtree(self.directory.parent, ignore_errors=True)
        shutil.rmtree(self.own, ignore_errors=True)

    def _add_all(self) -> None:
        """Add all files to the index but those that git cannot add: a repository in the workspace without a commit."""
        create_own_repository(self.own / "base", _ATTRIBUTES)
        self._git("add", "--all", "--ignore-errors", may_omit=True)

    def _git(self, *words: str, data: bytes = b"", may_omit: bool = False) -> bytes:
        """Run a command and return its output. With `may_omit`, exit code 1 says that it has omitted something."""
        settings = {"core.autocrlf": "false", "advice.addEmbeddedRepo": "false"}
        repository = OwnRepository(self.own / "base", self.directory)
        answer = run_git(words, cwd=self.directory, own=repository, data=data, timeout=_SECONDS, settings=settings)
        if not answer.ok and not (may_omit and answer.code == 1):
            directory = visible_path(str(self.directory))
            raise WorkbenchError(f"changes in {directory} cannot be determined: {first_line(answer.error, 300)}")
        return answer.output


def copy_at(locations: Locations, workspace: Path) -> WorkspaceCopy | None:
    """Return the copy that this workspace is; None if it is not a copy."""
    directory = workspace.resolve()
    if directory.parent.parent != _workspaces(locations):
        return None
    own = _records(locations) / directory.parent.name
    record = _record_in(own)
    return WorkspaceCopy(record.image, record.path, directory, own) if record is not None else None


def sweep(locations: Locations) -> None:
    """Delete the records of copies that the user has deleted."""
    for own in _records(locations).glob("*"):
        if not (_workspaces(locations) / own.name).exists():
            shutil.rmtree(own, ignore_errors=True)


def _record_in(own: Path) -> _Record | None:
    try:
        return msgspec.json.decode((own / "copy.json").read_bytes(), type=_Record)
    except (OSError, msgspec.MsgspecError):
        return None


def _workspaces(locations: Locations) -> Path:
    return Path(os.path.realpath(locations.data)).with_name("ohw-workspaces")


def _records(locations: Locations) -> Path:
    return locations.data / "copies"
