"""Files reached through an open root directory (openat), so that a link swapped in meanwhile leads nowhere else.

Also what the session tells a tool about files: for a preview, the contents that earlier actions of the same response
will write; while an action runs, the files the user was shown.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from io import FileIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

_NOTHING: Final[Mapping[str, str | None]] = MappingProxyType({})
_TEXTS: ContextVar[Mapping[str, str | None]] = ContextVar("_TEXTS", default=_NOTHING)


@contextmanager
def on_top_of(texts: Mapping[str, str | None]) -> Iterator[None]:
    """Within it these files (by real path) count as holding these texts; None: as not being there."""
    token = _TEXTS.set(texts)
    try:
        yield
    finally:
        _TEXTS.reset(token)


def is_beneath(path: Path) -> bool:
    """Whether an earlier action leaves its own text, or nothing, at this real path."""
    return str(path) in _TEXTS.get()


def text_beneath(path: Path) -> str | None:
    """The text that an earlier action leaves in the file; None: there will be none."""
    return _TEXTS.get()[str(path)]


_SHOWN: ContextVar[frozenset[str] | None] = ContextVar("_SHOWN", default=None)


@contextmanager
def writing_only(paths: Iterable[str]) -> Iterator[None]:
    """Within it a tool that shows what it writes may write these files alone, by real path: they were decided on."""
    token = _SHOWN.set(frozenset(paths))
    try:
        yield
    finally:
        _SHOWN.reset(token)


def shown_paths() -> frozenset[str] | None:
    """The files that were shown to be written by the action that runs; None where no session runs it."""
    return _SHOWN.get()


# O_PATH and O_SEARCH need no right to list the directory, only to pass through it
_PASS: Final = getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))
_DIRECTORY: Final = _PASS | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CANNOT_EXCHANGE: Final = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)
_PIECE: Final = 1 << 18
"""Bytes that are compared at a time: they stay in the processor's cache."""
_EXCHANGE: Final = 2
"""RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS."""
_LOOKS: Final = 10
"""How often a path is followed again because a link on it changed meanwhile."""
MOVED: Final = "A directory on the way was moved or replaced"


class RootGone(OSError):
    """The directory that holds the files was moved, deleted or replaced; nothing is made in its place."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ESTALE, f"The folder {path} was moved, deleted or replaced", str(path))


def real_path(path: str | Path) -> str:
    """The path with all links followed, as far as there is something; safe while links change under it.

    `os.path.realpath` raises EINVAL where a link becomes a folder between two of its calls.
    """
    for _ in range(_LOOKS):
        with suppress(OSError):
            return os.path.realpath(path)
    return os.path.abspath(path)  # noqa: PTH100 - a string comes out


@dataclass(frozen=True)
class Root:
    """A directory below which files are opened; `identity` is its device and inode, None where any will do."""

    path: Path
    identity: tuple[int, int] | None = None

    @classmethod
    def at(cls, path: str | Path) -> Root:
        """The directory that is there now; one that does not exist yet is made with the first file in it."""
        real = Path(real_path(path))
        try:
            found = real.stat()
        except OSError:
            return cls(Path(real.anchor))
        return cls(real, (found.st_dev, found.st_ino))

    def holds(self, path: Path) -> bool:
        """Whether this real path is below the directory."""
        return path != self.path and path.is_relative_to(self.path)

    @property
    def is_there(self) -> bool:
        """Whether the path still leads to the same directory."""
        try:
            os.close(self._opened())
        except OSError:
            return False
        return True

    def hold(self) -> int:
        """A descriptor of the directory, -1 where there is none: while it is open no other gets the same inode."""
        try:
            return self._opened()
        except OSError:
            return -1

    @contextmanager
    def entry(self, path: Path, *, make: bool = False) -> Iterator[AnchoredEntry]:
        """The place of a file, held by its directory; `make` creates directories that are missing below this one.

        Raises OSError where a directory is missing, is a link, or the path is not below this directory.
        """
        if not self.holds(path):
            raise OSError(errno.EXDEV, f"It is not below {self.path}", str(path))
        folder = self._walked(path, make=make)
        try:
            yield AnchoredEntry(self, path, folder)
        finally:
            os.close(folder)

    def _walked(self, path: Path, *, make: bool = False) -> int:
        """A descriptor of the directory of the path."""
        at = self._opened()
        try:
            for name in path.relative_to(self.path).parts[:-1]:
                below = _opened_below(at, name, path, make=make)
                os.close(at)
                at = below
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


SYSTEM: Final = Root(Path("/"))
"""For files anywhere, by their real path."""


def _opened_below(at: int, name: str, path: Path, *, make: bool) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=at)
    except FileNotFoundError:
        if not make:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno or 0), str(path)) from error
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=at)
    return os.open(name, _DIRECTORY, dir_fd=at)


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


@dataclass(frozen=True)
class AnchoredEntry:
    """One name in an open directory; every method raises OSError. `beside` is another name in it."""

    root: Root
    path: Path
    folder: int

    def stat(self, beside: str = "") -> os.stat_result:
        """Return its stat; a link is not followed."""
        return os.stat(beside or self.path.name, dir_fd=self.folder, follow_symlinks=False)

    def mode(self) -> int:
        """Return its mode, 0 where nothing is there."""
        try:
            return self.stat().st_mode
        except FileNotFoundError:
            return 0

    def open(self, flags: int, mode: int = 0o666, *, beside: str = "") -> int:
        """Open it; fails for a link."""
        return os.open(beside or self.path.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=self.folder)

    def read(self, beside: str = "") -> bytes:
        """The whole content of a regular file."""
        with self._reading(beside) as file:
            return file.readall()

    def has_content(self, content: bytes, beside: str = "") -> bool:
        """Whether it is a regular file that we may read, with just this content."""
        try:
            with self._reading(beside) as file:
                for at in range(0, len(content), _PIECE):
                    if file.read(_PIECE) != content[at : at + _PIECE]:
                        return False
                return not file.read(1)
        except OSError:
            return False

    def _reading(self, beside: str) -> FileIO:
        file = os.fdopen(self.open(os.O_RDONLY | os.O_NONBLOCK, beside=beside), "rb", buffering=0)
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise OSError(errno.ESTALE, "It is no regular file", str(self.path))
        return file

    def may_write(self) -> bool:
        """Whether the permissions of the file let us write to it."""
        return os.access(self.path.name, os.W_OK, dir_fd=self.folder)

    def check_in_place(self) -> None:
        """Raise OSError where the path does not lead to this directory any more."""
        now = self.root._walked(self.path)
        try:
            if _identity(now) != _identity(self.folder):
                raise OSError(errno.ESTALE, MOVED, str(self.path))
        finally:
            os.close(now)

    def rename_from(self, beside: str) -> None:
        """Give the other file this name; what had it is gone."""
        os.rename(beside, self.path.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def rename_to(self, beside: str) -> None:
        """Give the file the other name."""
        os.rename(self.path.name, beside, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def rename_beside(self, old: str, new: str) -> None:
        """Rename another file of the directory."""
        os.rename(old, new, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def link_from(self, beside: str) -> None:
        """Give the other file this name too; raises FileExistsError where something has it."""
        os.link(beside, self.path.name, src_dir_fd=self.folder, dst_dir_fd=self.folder, follow_symlinks=False)

    def exchange(self, beside: str) -> bool:
        """Let the two files change names in one step; False where the system or the file system cannot."""
        call = _exchange_call()
        if call is None:
            return False
        names = os.fsencode(beside), os.fsencode(self.path.name)
        if call(self.folder, names[0], self.folder, names[1], _EXCHANGE) == 0:
            return True
        number = _last_error()
        if number in _CANNOT_EXCHANGE:
            return False
        raise OSError(number, os.strerror(number), str(self.path))

    def unlink(self, beside: str = "") -> None:
        """Delete the file or link; nothing happens where there is none."""
        with suppress(FileNotFoundError):
            os.unlink(beside or self.path.name, dir_fd=self.folder)

    def symlink_to(self, target: str) -> None:
        """Make a symbolic link; raises FileExistsError where something is."""
        os.symlink(target, self.path.name, dir_fd=self.folder)

    def chmod(self, mode: int) -> None:
        """Set the permissions of a file that we may read, or of any of ours on Linux."""
        by_path = hasattr(os, "O_PATH")
        opened = self.open(os.O_PATH if by_path else os.O_RDONLY | os.O_NONBLOCK)
        try:
            if stat.S_ISLNK(os.fstat(opened).st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(self.path))
            os.chmod(f"/proc/self/fd/{opened}" if by_path else opened, mode)  # noqa: PTH101
        finally:
            os.close(opened)

    def mkdir(self) -> None:
        """Make a directory; raises FileExistsError."""
        os.mkdir(self.path.name, dir_fd=self.folder)

    def rmdir(self) -> None:
        """Delete an empty directory."""
        os.rmdir(self.path.name, dir_fd=self.folder)


@cache
def _exchange_call() -> Any:
    """renameat2 of Linux or renameatx_np of macOS; None where the C library has neither."""
    import ctypes  # 3 ms that only a write pays

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
