"""The state of a path at one moment, and the change between two of them."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import Final, Literal, NamedTuple

from workbench.files.stat_keys import StatKey, has_settled, stat_key

MOST_BYTES: Final = 200_000
"""The size in bytes up to which a file is read; a larger one is compared by its stat and cannot be restored."""


class PathState(NamedTuple):
    """The state of a path: its kind, mode, content and stat."""

    kind: Literal["file", "link", "other", "name"]
    """`name` if only its name was looked at."""
    mode: int
    digest: bytes
    """Hash of a file's content or a link's target; empty if it was not read."""
    content: bytes | None
    """The content that can be restored; None if it was not read, or the path is outside the workspace."""
    key: StatKey
    """The key of the path's stat, for comparison."""
    is_settled: bool
    """Whether the same stat later proves the same content."""

    def is_same(self, other: PathState | None) -> bool:
        """Return whether the other state has the same content; if the content was not read, whether the stats are
        equal.
        """
        if other is not None and "name" in (self.kind, other.kind):
            return True
        if other is None or (self.kind, self.mode) != (other.kind, other.mode):
            return False
        if self.digest and other.digest:
            return self.digest == other.digest
        return self.kind == "other" or self.key == other.key


NAME_ONLY: Final = PathState("name", 0, b"", None, (), is_settled=False)


class PathChange(NamedTuple):
    """A protected path whose content changed, with its states; a state is None if nothing existed."""

    path: str
    before: PathState | None
    after: PathState | None
    real: str = ""
    """The path with the links resolved that the search followed, if they lead to the same target as before."""
    is_in_new_directory: bool = False
    """Whether the directory in which a new path was found did not exist before."""

    @property
    def is_behind_link(self) -> bool:
        """Whether the path is the same link as before, and only the linked file changed."""
        symlinks = [state.content for state in (self.before, self.after) if state is not None and state.kind == "link"]
        return len(symlinks) == 2 and symlinks[0] is not None and symlinks[0] == symlinks[1]


def state_of(path: str, previous: PathState | None, reads: bool) -> PathState | None:
    """Return the state of the path; for a link, it includes the linked file's content. None if nothing exists.

    Content is read only if `reads`. `previous` is the path's earlier state; it is returned again if the stat proves
    that nothing changed.
    """
    try:
        info = os.lstat(path)
        key, target = stat_key(info), None
        if previous is not None and previous.key == key and previous.is_settled and previous.kind != "link":
            return previous
        is_link = stat.S_ISLNK(info.st_mode)
        if is_link:
            target = _target(path)
            key += stat_key(target) if target is not None else ()
            if previous is not None and previous.key == key and previous.is_settled:
                return previous
        is_settled = has_settled(info) and (target is None or has_settled(target))
        if is_link:
            content = os.fsencode(os.readlink(path))  # noqa: PTH115 - bytes may be any
            read = _content(path, os.O_RDONLY) if target is not None and reads else None
            digest = hashlib.sha256(content + b"\0" + (read or b"")).digest() if reads else b""
            return PathState("link", 0, digest, content, key, is_settled)
        if not stat.S_ISREG(info.st_mode):
            return PathState("other", 0, b"", None, key, is_settled)
        content_ = _content(path, os.O_RDONLY | os.O_NOFOLLOW) if reads else None
    except (OSError, ValueError):
        return None
    digest = hashlib.sha256(content_).digest() if content_ is not None else b""
    return PathState("file", stat.S_IMODE(info.st_mode), digest, content_, key, is_settled)


def _target(path: str) -> os.stat_result | None:
    try:
        info = os.stat(path)  # noqa: PTH116 - asked for each action
    except OSError:
        return None
    return info if stat.S_ISREG(info.st_mode) else None


def _content(path: str, flags: int) -> bytes | None:
    try:
        handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(handle)
        is_small = stat.S_ISREG(info.st_mode) and info.st_size <= MOST_BYTES
        return file.read(MOST_BYTES + 1) if is_small else None
