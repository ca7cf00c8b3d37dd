"""Files opened relative to an open root directory (openat), so a link swapped in meanwhile cannot redirect them.

Also two context variables through which the session tells tools about files: in a preview, the contents that earlier
actions of the same response will write; while an action runs, the files that the user approved.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from io import FileIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

_NOTHING: Final[Mapping[str, str | None]] = MappingProxyType({})
_PENDING: ContextVar[Mapping[str, str | None]] = ContextVar("_TEXTS", default=_NOTHING)


@contextmanager
def on_top_of(contents: Mapping[str, str | None]) -> Iterator[None]:
    """Within the block, treat the files at these real paths as having these contents; None means deleted."""
    token = _PENDING.set(contents)
    try:
        yield
    finally:
        _PENDING.reset(token)


def is_pending(path: Path) -> bool:
    """Return whether an earlier action of the response will write or delete the file at this real path."""
    return str(path) in _PENDING.get()


def pending_content(path: Path) -> str | None:
    """Return the content that an earlier action will write; None if it deletes the file. Raises KeyError otherwise."""
    return _PENDING.get()[str(path)]


_APPROVED: ContextVar[frozenset[str] | None] = ContextVar("_APPROVED", default=None)


@contextmanager
def using_only(paths: Iterable[str]) -> Iterator[None]:
    """Within the block, let tools write only to these real paths and, unless there are none, read only these."""
    token = _APPROVED.set(frozenset(paths))
    try:
        yield
    finally:
        _APPROVED.reset(token)


def approved_paths() -> frozenset[str] | None:
    """Return the real paths that the running action may use; None if no session runs it."""
    return _APPROVED.get()


# O_PATH and O_SEARCH need only permission to traverse the directory, not to list it.
_PASS: Final = getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))
_DIRECTORY: Final = _PASS | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CANNOT_EXCHANGE: Final = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)
_PIECE: Final = 1 << 18
"""How many bytes are compared at a time; chosen to fit the processor's cache."""
_EXCHANGE: Final = 2
"""RENAME_EXCHANGE on Linux, and RENAME_SWAP on macOS."""
_TRIES: Final = 10
"""How often a path is resolved again because one of its links changed concurrently."""
MOVED: Final = "A directory on the way was moved or replaced"


class RootGone(OSError):
    """The root directory was moved, deleted or replaced; it is not created again."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ESTALE, f"The directory {path} was moved, deleted or replaced", str(path))


def real_path(path: str | Path) -> str:
    """Return the path with all links resolved, as far as it exists; safe while links change concurrently.

    `os.path.realpath` raises EINVAL if a link becomes a directory between two of its calls.
    """
    for _ in range(_TRIES):
        with suppress(OSError):
            return os.path.realpath(path)
    return os.path.abspath(path)  # noqa: PTH100 - returns a string


class Root(msgspec.Struct, frozen=True):
    """A directory below which files are opened; `identity` is its device and inode, or None to accept any directory."""

    path: Path
    identity: tuple[int, int] | None = None
    mode: int = 0o777
    """The permissions of directories that are created below it, before the umask."""

    @classmethod
    def at(cls, path: str | Path) -> Root:
        """Return the root for a path; for a directory that does not exist yet, the root of the file system."""
        real = Path(real_path(path))
        try:
            info = real.stat()
        except OSError:
            return cls(Path(real.anchor))
        return cls(real, (info.st_dev, info.st_ino))

    def holds(self, path: Path) -> bool:
        """Return whether this real path is below the directory."""
        return self._relative_names(path) != [""]

    def _relative_names(self, path: Path) -> list[str]:
        """Return the names on the way from the directory to this path; one empty name if it is not below."""
        # Both are normalized, and strings take a tenth of the time of `relative_to`, for every file that is opened.
        prefix = f"{self.path}/" if self.path.name else f"{self.path}"
        text = f"{path}"
        return text[len(prefix) :].split("/") if text.startswith(prefix) else [""]

    @property
    def is_there(self) -> bool:
        """Return whether the path still leads to the same directory."""
        try:
            os.close(self._opened())
        except OSError:
            return False
        return True

    def hold(self) -> int:
        """Return a descriptor of the directory, or -1 on failure; while it is open, the inode is not reused."""
        try:
            return self._opened()
        except OSError:
            return -1

    @contextmanager
    def entry(self, path: Path, *, make: bool = False) -> Iterator[AnchoredEntry]:
        """Open the parent directory of a file and yield the file's entry; `make` creates missing directories.

        Raises OSError if a directory is missing or a link, or if the path is not below this root.
        """
        names = self._relative_names(path)
        if names == [""]:
            raise OSError(errno.EXDEV, f"It is not below {self.path}", str(path))
        if not _PARTS.isdisjoint(names):
            raise OSError(errno.EXDEV, "The path is not normalized", str(path))
        directory = self._walked(path, names, make=make)
        try:
            yield AnchoredEntry(self, path, directory, names)
        finally:
            os.close(directory)

    def _walked(self, path: Path, names: list[str], *, make: bool = False) -> int:
        """Return a descriptor of the path's parent directory; `names` are the names from this root to the path."""
        at = self._opened()
        try:
            for name in names[:-1]:
                child = _open_subdirectory(at, name, path, self.mode if make else None)
                os.close(at)
                at = child
        except BaseException:
            os.close(at)
            raise
        return at

    def _opened(self) -> int:
        try:
            opened = os.open(self.path, _DIRECTORY)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise RootGone(self.path) from error
            raise
        if self.identity is not None and _identity(opened) != self.identity:
            os.close(opened)
            raise RootGone(self.path)
        return opened


_PARTS: Final = frozenset(("", ".", ".."))
"""Names that no normalized path has, and that could lead out of the directory."""
SYSTEM: Final = Root(Path("/"))
"""The root for files anywhere, by their real path."""


def _open_subdirectory(at: int, name: str, path: Path, mode: int | None) -> int:
    """Open a directory; if it is missing, create it with `mode`, or raise FileNotFoundError if `mode` is None."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=at)
    except FileNotFoundError:
        if mode is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno or 0), str(path)) from error
    with suppress(FileExistsError):
        os.mkdir(name, mode, dir_fd=at)
    return os.open(name, _DIRECTORY, dir_fd=at)


def _identity(descriptor: int) -> tuple[int, int]:
    info = os.fstat(descriptor)
    return info.st_dev, info.st_ino


class AnchoredEntry(msgspec.Struct, frozen=True):
    """A name in an open directory; every method may raise OSError. `beside` names another entry of the directory."""

    root: Root
    path: Path
    directory: int
    names: list[str]
    """The names on the way from the root to the entry; the last is that of the entry."""

    @property
    def name(self) -> str:
        """The name of the entry in its directory."""
        return self.names[-1]

    def stat(self, beside: str = "") -> os.stat_result:
        """Return the stat of the entry itself; links are not followed."""
        return os.stat(beside or self.names[-1], dir_fd=self.directory, follow_symlinks=False)

    def mode(self) -> int:
        """Return the mode, or 0 if the entry does not exist."""
        try:
            return self.stat().st_mode
        except FileNotFoundError:
            return 0

    def open(self, flags: int, mode: int = 0o666, *, beside: str = "") -> int:
        """Open the entry and return a descriptor; fails for a link."""
        return os.open(beside or self.names[-1], flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=self.directory)

    def read(self, beside: str = "") -> bytes:
        """Return the whole content of a regular file."""
        with self._reading(beside) as file:
            return file.readall()

    def target(self, beside: str = "") -> bytes:
        """Return the target of a link."""
        return os.fsencode(os.readlink(beside or self.names[-1], dir_fd=self.directory))

    def has_content(self, content: bytes, beside: str = "") -> bool:
        """Return whether the entry is a readable regular file with exactly this content, or a link to this target."""
        try:
            if stat.S_ISLNK(self.stat(beside).st_mode):
                return self.target(beside) == content
            with self._reading(beside) as file:
                for at in range(0, len(content), _PIECE):
                    piece = content[at : at + _PIECE]
                    if file.read(len(piece)) != piece:
                        return False
                return not file.read(1)
        except OSError:
            return False

    def _reading(self, beside: str) -> FileIO:
        file = os.fdopen(self.open(os.O_RDONLY | os.O_NONBLOCK, beside=beside), "rb", buffering=0)
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise OSError(errno.ESTALE, "It is not a regular file", str(self.path))
        return file

    def may_write(self) -> bool:
        """Return whether its permissions let this process write to it."""
        return os.access(self.names[-1], os.W_OK, dir_fd=self.directory)

    def check_not_moved(self) -> None:
        """Raise OSError if the path no longer leads to this directory."""
        now = self.root._walked(self.path, self.names)
        try:
            if _identity(now) != _identity(self.directory):
                raise OSError(errno.ESTALE, MOVED, str(self.path))
        finally:
            os.close(now)

    def rename_from(self, beside: str) -> None:
        """Rename the other file to this name, replacing an existing entry."""
        os.rename(beside, self.names[-1], src_dir_fd=self.directory, dst_dir_fd=self.directory)

    def rename_to(self, beside: str) -> None:
        """Rename this file to the other name."""
        os.rename(self.names[-1], beside, src_dir_fd=self.directory, dst_dir_fd=self.directory)

    def rename_beside(self, old: str, new: str) -> None:
        """Rename another file in the directory from `old` to `new`."""
        os.rename(old, new, src_dir_fd=self.directory, dst_dir_fd=self.directory)

    def link_from(self, beside: str) -> None:
        """Hard-link the other file under this name too. Raises FileExistsError if the name is in use."""
        os.link(beside, self.names[-1], src_dir_fd=self.directory, dst_dir_fd=self.directory, follow_symlinks=False)

    def exchange(self, beside: str) -> bool:
        """Atomically swap the names of this file and `beside`; return False if the system cannot. Raises OSError."""
        call = _exchange_call()
        if call is None:
            return False
        names = os.fsencode(beside), os.fsencode(self.names[-1])
        if call(self.directory, names[0], self.directory, names[1], _EXCHANGE) == 0:
            return True
        number = _last_error()
        if number in _CANNOT_EXCHANGE:
            return False
        raise OSError(number, os.strerror(number), str(self.path))

    def unlink(self, beside: str = "") -> None:
        """Delete the file or link if it exists."""
        with suppress(FileNotFoundError):
            os.unlink(beside or self.names[-1], dir_fd=self.directory)

    def symlink_to(self, target: str) -> None:
        """Create a symbolic link. Raises FileExistsError if the name is in use."""
        os.symlink(target, self.names[-1], dir_fd=self.directory)

    def chmod(self, mode: int) -> None:
        """Set the permissions of a file: on Linux of any file we own, elsewhere only of a readable one."""
        by_path = hasattr(os, "O_PATH")
        opened = self.open(os.O_PATH if by_path else os.O_RDONLY | os.O_NONBLOCK)
        try:
            if stat.S_ISLNK(os.fstat(opened).st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(self.path))
            os.chmod(f"/proc/self/fd/{opened}" if by_path else opened, mode)  # noqa: PTH101
        finally:
            os.close(opened)

    def mkdir(self) -> None:
        """Create a directory. Raises FileExistsError if the name is in use."""
        os.mkdir(self.names[-1], dir_fd=self.directory)

    def rmdir(self) -> None:
        """Delete an empty directory."""
        os.rmdir(self.names[-1], dir_fd=self.directory)


@cache
def _exchange_call() -> Any:
    """Return renameat2 (Linux) or renameatx_np (macOS); None if the C library has neither."""
    import ctypes  # takes 3 ms, and only writes need it

    name = "renameatx_np" if sys.platform == "darwin" else "renameat2"
    try:
        call = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (OSError, AttributeError, TypeError):
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return call


def _last_error() -> int:
    import ctypes

    return ctypes.get_errno()
