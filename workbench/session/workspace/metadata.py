"""Metadata that a git tree lacks: exact permissions and empty directories, stored as one file in the tree.

Used by `repository`, which hides that file, and by `restore`.
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Final

METADATA: Final = ".ohw-metadata.json"
"""The path of the metadata file in a version; no version contains a workspace file with this name."""
_FILE, _EXECUTABLE, _DIRECTORY = 0o644, 0o755, 0o755


@dataclass(frozen=True)
class Metadata:
    """Permissions of files and directories that differ from the most frequent ones, and all empty directories.

    `file`, `executable` and `directory` are those most frequent permissions; `modes` has the others, by path.
    """

    file: int = _FILE
    executable: int = _EXECUTABLE
    directory: int = _DIRECTORY
    modes: Mapping[str, int] = field(default_factory=dict)
    directories: Mapping[str, int] = field(default_factory=dict)
    """By path, the permissions of directories that are empty or whose permissions are not `directory`."""

    def permissions(self, path: str, git_mode: str) -> int:
        """Return the permission bits that a file had; `git_mode` is its mode in a git tree, such as 100755."""
        return self.modes.get(path, self.executable if git_mode == "100755" else self.file)

    def only(self, paths: Collection[str], more: Collection[str] = ()) -> Metadata:
        """Return the metadata of these files only, of the directories above them, and of the directories `more`."""
        above = {str(directory) for path in paths for directory in PurePath(path).parents} | {*more}
        modes = {path: mode for path, mode in self.modes.items() if path in paths}
        directories = {path: mode for path, mode in self.directories.items() if path in above}
        return replace(self, modes=modes, directories=directories)

    def directories_missing(self, root: Path) -> set[str]:
        """Return the recorded directories that do not exist."""
        return {path for path in self.directories if _permissions(root / path) is None}

    def to_bytes(self) -> bytes:
        """Return the stored form of the metadata; empty if the git tree alone is enough."""
        if self == Metadata():
            return b""
        names = ("file", "executable", "directory", "modes", "directories")
        return json.dumps({name: getattr(self, name) for name in names}, sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Metadata:
        """Parse the stored form of the metadata. Raises ValueError or TypeError for anything else."""
        return cls(**json.loads(raw)) if raw else cls()


class MetadataTracker:
    """Tracks the metadata of one directory, from data that the repository reads anyway."""

    def __init__(self, root: Path, is_excluded: Callable[[str], bool]) -> None:
        """`is_excluded` returns whether versions omit everything below a directory, given its relative path."""
        self._root = root
        self._is_excluded = is_excluded
        self._file, self._executable, self._directory = _FILE, _EXECUTABLE, _DIRECTORY
        self._modes: dict[str, int] = {}
        self._directories: dict[str, int] = {}

    @property
    def now(self) -> Metadata:
        """The current metadata, as last recorded."""
        return Metadata(self._file, self._executable, self._directory, dict(self._modes), dict(self._directories))

    def load(self, stored: Metadata) -> None:
        """Continue from the metadata of an earlier version."""
        self._file, self._executable, self._directory = stored.file, stored.executable, stored.directory
        self._modes, self._directories = dict(stored.modes), dict(stored.directories)

    def begin(self, modes: Mapping[str, int]) -> None:
        """Determine the most frequent permissions, so that only others are stored."""
        counts = Counter(stat.S_IMODE(mode) for mode in modes.values() if stat.S_ISREG(mode))
        plain = [mode for mode, _ in counts.most_common() if not mode & 0o100]
        executable = [mode for mode, _ in counts.most_common() if mode & 0o100]
        self._file = plain[0] if plain else _FILE
        self._executable = executable[0] if executable else _EXECUTABLE

    def note_files(self, modes: Mapping[str, int], gone: Iterable[str]) -> None:
        """Record the modes of files (as returned by `stat`), and remove files that no longer exist."""
        for path in gone:
            self._modes.pop(path, None)
        for path, mode in modes.items():
            bits = stat.S_IMODE(mode)
            usual = self._executable if bits & 0o100 else self._file
            if not stat.S_ISREG(mode) or bits == usual:
                self._modes.pop(path, None)
            else:
                self._modes[path] = bits

    def note_directories(self, paths: Iterable[str] | None) -> None:
        """Update the directories at, above and below these paths; None means every directory.

        Of directories that are created together, the system may report only the first.
        """
        if paths is None:
            permissions = directories_within(self._root, self._root, self._is_excluded)
            self._directories, self._directory = permissions
            return
        paths = list(paths)
        for path in paths:
            self._note_descendants(path)
        for path in {above for each in paths for above in (each, *map(str, Path(each).parents)) if above != "."}:
            self._directories.pop(path, None)
            bits = _permissions(self._root / path)
            if bits is None or self._is_excluded(path):
                continue
            if bits != self._directory or _is_empty(self._root / path):
                self._directories[path] = bits

    def _note_descendants(self, path: str) -> None:
        for old in [each for each in self._directories if each.startswith(f"{path}/")]:
            del self._directories[old]
        if path != "." and not self._is_excluded(path):
            self._directories |= directories_within(self._root / path, self._root, self._is_excluded, self._directory)[
                0
            ]


def metadata_of(root: Path, paths: Iterable[str], starts: Iterable[str]) -> Metadata:
    """Return the metadata of these files, and of the directories at and below `starts`."""
    modes: dict[str, int] = {}
    for path in paths:
        with suppress(OSError):
            modes[path] = (root / path).lstat().st_mode
    tracker = MetadataTracker(root, lambda path: False)
    tracker.begin(modes)
    tracker.note_files(modes, ())
    directories: dict[str, int] = {}
    for start in starts:
        directories |= directories_within(root / start, root, lambda path: False, _DIRECTORY)[0]
    return replace(tracker.now, directories=directories)


def directories_within(
    start: Path, root: Path, is_excluded: Callable[[str], bool], usual: int | None = None
) -> tuple[dict[str, int], int]:
    """Return by path, relative to `root`, the permissions of the directories at and below `start` that metadata must
    list.

    Those are the empty directories, and those with other permissions than `usual`, or than the most frequent ones if it
    is None. The permissions with which they were compared are returned too.
    """
    permissions: dict[str, tuple[int, bool]] = {}
    # `os.walk` follows a link at its start
    walk = () if start.is_symlink() else os.walk(start)
    for directory, subdirectories, names in walk:
        path = os.path.relpath(directory, root)
        bits = _permissions(Path(directory))
        if path != "." and bits is not None:
            permissions[path] = bits, not (subdirectories or names)
        subdirectories[:] = [
            name
            for name in subdirectories
            if name != ".git" and not is_excluded(os.path.normpath(os.path.join(path, name)))  # noqa: PTH118
        ]
    if usual is None:
        counts = Counter(bits for bits, _ in permissions.values()).most_common(1)
        usual = counts[0][0] if counts else _DIRECTORY
    return {path: bits for path, (bits, is_empty) in permissions.items() if is_empty or bits != usual}, usual


def _permissions(path: Path) -> int | None:
    """Return the permissions of a directory, or None if the path is not a directory."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return None
    return stat.S_IMODE(mode) if stat.S_ISDIR(mode) else None


def _is_empty(path: Path) -> bool:
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is None
    except OSError:
        return False
