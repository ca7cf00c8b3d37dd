"""Atomic writes of the user's files that preserve mode, owner, extended attributes and links.

Paths are real paths below a `Root`; `workbench.files.root_directory` describes what that guarantees.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from io import FileIO
from pathlib import Path

import msgspec

from workbench.files.root_directory import SYSTEM, AnchoredEntry, Root
from workbench.files.state_files import note_own_write
from workbench.processes.leftovers import mark

_NO_RENAME = (errno.EPERM, errno.EACCES, errno.EBUSY)
"""Errors of a rename in a directory where only an owner may rename, and over a file that is a mount point."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_CHANGED = "It was changed by something else at this moment"
_TURNS = 10
"""How often names are exchanged to preserve the newest content while another process keeps writing."""

_SYNCS: ContextVar[bool] = ContextVar("_SYNCS", default=True)


@contextmanager
def without_sync() -> Iterator[None]:
    """Within the block, do not wait until new files have reached the disk, as for copies that are soon deleted.

    A write in place is still synchronized.
    """
    token = _SYNCS.set(False)
    try:
        yield
    finally:
        _SYNCS.reset(token)


def write_new(path: Path, raw: bytes, root: Root = SYSTEM, *, mode: int | None = None) -> None:
    """Create the file and its parent directories. Raises OSError, and FileExistsError if the file exists by then.

    Without `mode`, the file gets the permissions that the umask gives a new file.
    """
    note_own_write(path, raw)
    with root.entry(path, make=True) as entry:
        temporary = _name()
        try:
            _write_temporary(entry, temporary, raw, mode=mode)
            entry.check_not_moved()
            _link(entry, temporary, raw, mode)
            _check_stayed(entry)
        finally:
            entry.unlink(temporary)


def replace(path: Path, raw: bytes, root: Root = SYSTEM, *, before: bytes | None = None) -> None:
    """Replace the content of a regular file. Raises OSError, also if it is no longer a regular file.

    `before` is the content that the caller has read; OSError is raised if the file has any other content now. After an
    error the content is unchanged. A crash may tear a file that has to be written in place: one with several names, one
    whose owner we cannot give to another file, or one that is a mount point.
    """
    note_own_write(path, raw)
    with root.entry(path) as entry:
        info = entry.stat()
        if not stat.S_ISREG(info.st_mode):
            raise OSError(errno.ESTALE, "It is not the file any more that it was", str(path))
        if not entry.may_write():
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        # The content was already written, through another name of the same file.
        if before is not None and info.st_nlink > 1 and entry.has_content(raw):
            return
        if info.st_nlink > 1 or not _replace_by_rename(entry, raw, info, before):
            _overwrite_content(entry, raw, before)


def remove(path: Path, root: Root = SYSTEM, *, before: bytes | None = None) -> None:
    """Delete the file or link. With `before`, raise OSError and keep the file if its content differs from `before`."""
    note_own_write(path, None)
    with root.entry(path) as entry:
        if before is None:
            entry.unlink()
            return
        # Renamed, so that no process can open it by its name between the comparison and the deletion.
        aside = _name()
        entry.check_not_moved()
        entry.rename_to(aside)
        if entry.has_content(before, aside):
            entry.unlink(aside)
            return
        _put_back(entry, aside)
        raise OSError(errno.ESTALE, _CHANGED, str(path))


def _put_back(entry: AnchoredEntry, aside: str) -> None:
    """Give a file its name back. Raises _Stranded if the name is in use again."""
    try:
        entry.link_from(aside)
    except FileExistsError as error:
        raise _stranded(entry, aside, error) from error
    entry.unlink(aside)


class _Stranded(OSError):
    """Another process's content could not be renamed back; it is kept beside the file as `NAME.ohw-saved-…`."""


def _stranded(entry: AnchoredEntry, temporary: str, error: OSError) -> _Stranded:
    """Save another process's content under a name that no cleanup of ours deletes; return the error that reports it."""
    saved_name = f"{entry.name}.ohw-saved-{secrets.token_hex(4)}"
    entry.rename_beside(temporary, saved_name)
    message = f"{_CHANGED}, and its content is in {saved_name} beside it now ({error.strerror})"
    return _Stranded(errno.ESTALE, message, str(entry.path))


class _State(msgspec.Struct, frozen=True):
    """The device and inode of the file with a name, and its content if it is a readable regular file."""

    identity: tuple[int, int]
    content: bytes | None

    @classmethod
    def of(cls, entry: AnchoredEntry, name: str) -> _State:
        info = entry.stat(name)
        content = None
        with suppress(OSError):
            content = entry.read(name)
        return cls((info.st_dev, info.st_ino), content)


def _name() -> str:
    return f".ohw-{mark()}-{secrets.token_hex(8)}.tmp"


def _replace_by_rename(entry: AnchoredEntry, raw: bytes, info: os.stat_result, before: bytes | None) -> bool:
    """Rename a new file over the old one; return False, with nothing changed, if the rename is not permitted."""
    temporary = _name()
    try:
        _write_temporary(entry, temporary, raw, like=info)
        entry.check_not_moved()
        _swap_in(entry, temporary, raw, info, before)
    except _Stranded:
        raise
    except OSError as error:
        entry.unlink(temporary)
        if error.errno not in _NO_RENAME:
            raise
        return False
    except BaseException:
        entry.unlink(temporary)
        raise
    entry.unlink(temporary)
    return True


def _swap_in(entry: AnchoredEntry, temporary: str, raw: bytes, info: os.stat_result, before: bytes | None) -> None:
    """Give the file's name to the new file. Raises OSError, restoring the name, if the old file has changed.

    If names can be exchanged atomically, the old file is compared after the exchange, when it can no longer be reached
    by its name. Otherwise it is compared just before the rename.
    """
    mine = entry.stat(temporary)
    if not entry.exchange(temporary):
        _check_unchanged(entry, "", info, before)
        entry.rename_from(temporary)
        return
    try:
        _check_unchanged(entry, temporary, info, before)
        entry.check_not_moved()
    except OSError:
        _exchange_back(entry, temporary, _State((mine.st_dev, mine.st_ino), raw))
        raise


def _check_stayed(entry: AnchoredEntry) -> None:
    """Raise OSError and delete the new file again if its directory was moved during the write."""
    try:
        entry.check_not_moved()
    except OSError:
        entry.unlink()
        raise


def _exchange_back(entry: AnchoredEntry, temporary: str, put: _State) -> None:
    """Exchange the names back, so the name refers to the old file or whatever another process has written since.

    `put` is the state that the name is expected to have now. Raises _Stranded if the names cannot be exchanged.
    """
    for _ in range(_TURNS):
        theirs = _State.of(entry, temporary)
        try:
            entry.exchange(temporary)
        except OSError as error:
            raise _stranded(entry, temporary, error) from error
        if _State.of(entry, temporary) == put:
            return
        put = theirs


def _check_unchanged(entry: AnchoredEntry, name: str, info: os.stat_result, before: bytes | None) -> None:
    """Raise OSError if the file named `name` differs from the stat `info`, or its content from `before` (if given)."""
    now = entry.stat(name)
    same = all(getattr(now, key) == getattr(info, key) for key in _COMPARED)
    if not same or (before is not None and not entry.has_content(before, name)):
        raise OSError(errno.ESTALE, _CHANGED, str(entry.path))


_COMPARED = ("st_dev", "st_ino", "st_mode", "st_uid", "st_gid", "st_size", "st_mtime_ns")


def _link(entry: AnchoredEntry, temporary: str, raw: bytes, mode: int | None) -> None:
    try:
        entry.link_from(temporary)  # unlike a rename, this never replaces a file
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        _write_exclusively(entry, raw, mode)


def _write_temporary(
    entry: AnchoredEntry, name: str, raw: bytes, *, like: os.stat_result | None = None, mode: int | None = None
) -> None:
    is_usual = like is None and mode is None
    with os.fdopen(entry.open(_NEW, 0o666 if is_usual else 0o600, beside=name), "wb", buffering=0) as file:
        write_all(file, raw)
        if like is not None:
            _copy_metadata(file.fileno(), entry, like)
        elif mode is not None:
            os.fchmod(file.fileno(), mode)
        if _SYNCS.get():
            os.fsync(file.fileno())


def _copy_metadata(file: int, entry: AnchoredEntry, info: os.stat_result) -> None:
    """Copy the owner, attributes and mode of the file to replace. Raises PermissionError if that is not allowed."""
    mine = os.fstat(file)
    if (mine.st_uid, mine.st_gid) != (info.st_uid, info.st_gid):
        os.chown(file, info.st_uid, info.st_gid)
    if hasattr(os, "listxattr"):
        _copy_attributes(file, entry)
    os.chmod(file, stat.S_IMODE(info.st_mode))


def _copy_attributes(file: int, entry: AnchoredEntry) -> None:
    with suppress(OSError):  # a file system without attributes
        old = entry.open(os.O_PATH)
        try:
            path = f"/proc/self/fd/{old}"  # with a descriptor, the calls would need one opened for reading
            for name in os.listxattr(path):
                with suppress(OSError):  # some attributes can be set only by the system
                    os.setxattr(file, name, os.getxattr(path, name))
        finally:
            os.close(old)


def _overwrite_content(entry: AnchoredEntry, raw: bytes, before: bytes | None) -> None:
    with os.fdopen(entry.open(os.O_RDWR), "r+b", buffering=0) as file:
        old = file.readall()
        entry.check_not_moved()
        if before is not None and old != before:
            raise OSError(errno.ESTALE, _CHANGED, str(entry.path))
        try:
            _overwrite(file, raw)
        except OSError:
            # This fits even on a full disk, because the file's space is still allocated.
            _overwrite(file, old)
            raise


def _write_exclusively(entry: AnchoredEntry, raw: bytes, mode: int | None) -> None:
    with os.fdopen(entry.open(_NEW, 0o666 if mode is None else mode), "wb", buffering=0) as file:
        try:
            _overwrite(file, raw)
        except BaseException:
            entry.unlink()
            raise


def _overwrite(file: FileIO, raw: bytes) -> None:
    file.seek(0)
    write_all(file, raw)
    file.truncate()
    os.fsync(file.fileno())


def write_all(file: FileIO, raw: bytes) -> None:
    """Write all bytes, which may take several calls."""
    remaining = memoryview(raw)
    while remaining:
        remaining = remaining[file.write(remaining) :]
