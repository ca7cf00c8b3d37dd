"""Checks that a sandbox has the mounts that were requested; used by the supervisors, so standard library only.

Bubblewrap resolves paths when it mounts them. A program that already runs in the workspace can replace a directory with
a symbolic link at that moment, and then other files are mounted, or they are mounted elsewhere. So before the program
starts, each mount is compared with what its source path leads to when no part of the path is a link. Mounted files
cannot be replaced any more, so the comparison stays valid, and it does not depend on how the kernel writes paths.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SET_USER_ID = 0o4000
EMPTY = b""
"""In an order of mounts, the source of a mount that is a new, empty directory."""
COVERED = "/proc/1"
"""A path that bubblewrap covers with an empty directory as its last mount: when it has changed, all mounts are
complete.
"""


class PathTarget:
    """The file or directory that a path leads to. Use it before its tree opens another path: the properties ask the
    kernel on access.
    """

    def __init__(self, number: int, above: int) -> None:
        """`number` is the open file, and `above` its open parent directory; -1 for the root, which always counts as
        mounted.
        """
        status = os.fstat(number)
        self.file = status.st_dev, status.st_ino
        self._number = number
        self._above = above

    @property
    def mount(self) -> int:
        return _mount_id(self._number)

    @property
    def is_mounted(self) -> bool:
        return self._above < 0 or self.mount != _mount_id(self._above)

    @property
    def is_read_only(self) -> bool:
        return bool(os.fstatvfs(self._number).f_flag & os.ST_RDONLY)


class Tree:
    """Opens paths below a root directory without following links; fast if paths in the same directory follow one
    another.
    """

    def __init__(self, root: str) -> None:
        """Open the root directory. Raises OSError."""
        self._names: list[bytes] = []
        self._opened = [os.open(root, os.O_PATH | os.O_CLOEXEC)]

    def target_of(self, path: bytes) -> PathTarget:
        """Return what a path leads to. Raises OSError if it does not exist, or if a part of it is a link."""
        names = list(filter(None, path.split(b"/")))
        common = 0
        while self._names[common : common + 1] == names[common : common + 1] != []:
            common += 1
        self._cut(common)
        for name in names[common:]:
            # Each part of its own: a descriptor of a link has no entries, so a link on the way is an error.
            number = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._opened[-1])
            self._names.append(name)
            self._opened.append(number)
        return PathTarget(self._opened[-1], self._opened[-2] if names else -1)

    def _cut(self, depth: int) -> None:
        del self._names[depth:]
        while len(self._opened) > depth + 1:
            os.close(self._opened.pop())

    def close(self) -> None:
        """Close all open directories."""
        self._cut(-1)


def can_see(program: str) -> bool:
    """Return whether we can check the sandboxes of this bubblewrap; not if it is setuid and we are not root."""
    return os.getuid() == 0 or not os.stat(program).st_mode & _SET_USER_ID  # noqa: PTH116 - pathlib is slow to import


def is_complete(process: int) -> bool:
    """Return whether a sandbox that is being set up has all its mounts; `process` is the pid of its first process."""
    return _device(f"/proc/{process}/root{COVERED}") not in (0, _device(COVERED))


def _device(path: str) -> int:
    """Return the device number of a file; 0 if the file is missing or not accessible."""
    try:
        return os.stat(path).st_dev  # noqa: PTH116 - pathlib is slow to import
    except OSError:
        return 0


def differs(process: int, order: bytes, *, has_own_root: bool = False) -> bool:
    """Return whether a sandbox's mounts differ from those in `order`; `process` is the pid of its first process.

    `has_own_root` is for a container: its root directory is not a copy of this machine's mounts. Also returns True if
    the mounts cannot be examined.
    """
    trees: list[Tree] = []
    try:
        trees += (Tree(root) for root in (f"/proc/{process}/root", "/"))
        inside, machine = trees
        stacked, sources = _stacked(process), dict[bytes, bytes]()
        for source, point, read_only in sorted(_decoded(order), key=lambda words: words[1].split(b"/")):
            sources[point] = source
            mount = inside.target_of(point)
            if not mount.is_mounted or (read_only and not mount.is_read_only):
                return True
            # The point of a mount from elsewhere may be missing on the machine: only its source is compared.
            covered = machine.target_of(point if source in (point, EMPTY) else source)
            if source == point:
                # A mount of the machine has a copy, which must not be taken for the one that was ordered.
                may_be_copy = covered.is_mounted and _is_copied(point, sources, by_root=not has_own_root)
                is_copy = may_be_copy and mount.mount not in stacked
                is_other = is_copy or mount.file != covered.file
            else:
                is_other = (mount.file == covered.file) is (source == EMPTY)
            if is_other:
                return True
        return False
    except OSError:
        return True
    finally:
        for tree in trees:
            tree.close()


def encoded(mounts: Iterable[tuple[str, str, bool]]) -> bytes:
    """Return an order of mounts as bytes; each mount is its source, its mount point, and whether it is read-only."""
    words = (word for source, point, read_only in mounts for word in (source, point, "ro" if read_only else ""))
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def _decoded(order: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    words = iter(order.split(b"\0")[:-1])
    return zip(words, words, words, strict=True)


def _is_copied(point: bytes, sources: Mapping[bytes, bytes], *, by_root: bool) -> bool:
    """Return whether the sandbox had a copy of this machine's mounts at a point before the ordered mount covered it.

    Bubblewrap copies a directory together with the mounts inside it. `sources` contains the sources of the mounts
    above, by mount point; `by_root` is the result if no mount is above.
    """
    above = point
    while above := above.rpartition(b"/")[0]:
        if above in sources:
            return sources[above] == above
    return by_root


def _stacked(process: int) -> set[int]:
    """Return the ids of the mounts of a process that are mounted directly on top of another mount. Raises OSError."""
    with open(f"/proc/{process}/mountinfo", "rb") as file:  # noqa: PTH123 - pathlib is slow to import
        lines = [line.split(b" ", 5) for line in file]
    points = {line[0]: line[4] for line in lines}
    return {int(line[0]) for line in lines if points.get(line[1]) == line[4]}


def _mount_id(number: int) -> int:
    """Return the id of the mount that an open file is on. Raises OSError."""
    file = os.open(f"/proc/self/fdinfo/{number}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return int(os.read(file, 4096).partition(b"mnt_id:")[2].split()[0])
    finally:
        os.close(file)
