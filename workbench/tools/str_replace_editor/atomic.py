"""Files written whole or not at all, with mode, owner, attributes and links as they were; used by the editor."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from io import FileIO
from pathlib import Path

_OLD = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_RENAME = (errno.EPERM, errno.EACCES, errno.EBUSY)
"""In a folder where only an owner may, or over a file that is mounted on its own."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def write_new(path: Path, raw: bytes) -> None:
    """Create the file and its folders; raises FileExistsError when it is there by now, OSError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:  # what should be its folder is a file
        raise NotADirectoryError(errno.ENOTDIR, "Not a directory", str(path.parent)) from error
    temporary = _write_temporary(path.parent, raw, None)
    try:
        os.link(temporary, path)  # unlike a rename this never replaces a file
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        _write_exclusively(path, raw)
    finally:
        temporary.unlink()


def replace(path: Path, raw: bytes) -> None:
    """Give an existing regular file this content; raises OSError, also when it became something else meanwhile.

    After an error it is as it was; but a crash may tear one that had to be written in place (it has several names, an
    owner we cannot give to another file, or is mounted on its own).
    """
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.ESTALE, "It is not the file any more that it was", str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))
    if found.st_nlink > 1 or not _replace_by_rename(path, raw, found):
        _write_in_place(path, raw)


def _replace_by_rename(path: Path, raw: bytes, found: os.stat_result) -> bool:
    """False where a new file cannot stand in for the old one; then nothing has changed."""
    try:
        temporary = _write_temporary(path.parent, raw, (path, found))
    except PermissionError:
        return False
    try:
        _check_same(path, found)
        temporary.replace(path)
    except OSError as error:
        if error.errno not in _NO_RENAME:
            raise
        return False
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _check_same(path: Path, found: os.stat_result) -> None:
    """Raise OSError when somebody wrote to the file while its new content went to the disk."""
    now = path.lstat()
    if (now.st_ino, now.st_size, now.st_mtime_ns) != (found.st_ino, found.st_size, found.st_mtime_ns):
        raise OSError(errno.ESTALE, "It was changed by something else at this moment", str(path))


def _write_temporary(folder: Path, raw: bytes, like: tuple[Path, os.stat_result] | None) -> Path:
    temporary = folder / f".ohw-{secrets.token_hex(8)}.tmp"
    opened = os.open(temporary, _NEW, 0o600 if like else 0o666)
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(raw)
            if like:
                _take_after(file.fileno(), *like)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _take_after(file: int, path: Path, found: os.stat_result) -> None:
    """Owner, attributes, mode of the file it will replace; raises PermissionError where we may not set them."""
    mine = os.fstat(file)
    if (mine.st_uid, mine.st_gid) != (found.st_uid, found.st_gid):
        os.chown(file, found.st_uid, found.st_gid)
    if hasattr(os, "listxattr"):
        _copy_attributes(file, path)
    os.chmod(file, stat.S_IMODE(found.st_mode))


def _copy_attributes(file: int, path: Path) -> None:
    with suppress(OSError):  # a file system without attributes
        for name in os.listxattr(path):
            with suppress(OSError):  # one that only the system sets
                os.setxattr(file, name, os.getxattr(path, name))


def _write_in_place(path: Path, raw: bytes) -> None:
    with os.fdopen(os.open(path, _OLD), "r+b", buffering=0) as file:
        before = file.readall()
        try:
            _overwrite(file, raw)
        except OSError:
            _overwrite(file, before)  # its room is there still
            raise


def _write_exclusively(path: Path, raw: bytes) -> None:
    with path.open("xb", buffering=0) as file:
        try:
            _overwrite(file, raw)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _overwrite(file: FileIO, raw: bytes) -> None:
    file.seek(0)
    left = memoryview(raw)
    while left:
        left = left[file.write(left) :]
    file.truncate()
    os.fsync(file.fileno())
