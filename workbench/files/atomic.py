"""Files written whole or not at all, with mode, owner, attributes and links as they were; used by whatever writes
files of the user.

Paths are real paths below a `Root`; see `workbench.files.anchored` for what that guarantees.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from workbench.files.anchored import SYSTEM, AnchoredEntry, Root
from workbench.files.replace import note_own_write
from workbench.processes.leftovers import mark

_NO_RENAME = (errno.EPERM, errno.EACCES, errno.EBUSY)
"""In a folder where only an owner may, or over a file that is mounted on its own."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_CHANGED = "It was changed by something else at this moment"
_TURNS = 10
"""How often names are exchanged to leave the newest content in place while somebody else goes on writing."""


def write_new(path: Path, raw: bytes, root: Root = SYSTEM, *, mode: int | None = None) -> None:
    """Create the file and its folders; raises FileExistsError when it is there by now, OSError.

    Without `mode` it has the permissions that the umask leaves a new file.
    """
    note_own_write(path, raw)
    with root.entry(path, make=True) as entry:
        temporary = _name()
        try:
            _write_temporary(entry, temporary, raw, mode=mode)
            entry.check_in_place()
            _link(entry, temporary, raw, mode)
            _check_stayed(entry)
        finally:
            entry.unlink(temporary)


def replace(path: Path, raw: bytes, root: Root = SYSTEM, *, before: bytes | None = None) -> None:
    """Give an existing regular file this content; raises OSError, also when it became something else meanwhile.

    `before` is what was read from it: where it holds anything else by now, that stays. After an error it is as it was;
    but a crash may tear one that had to be written in place (it has several names, an owner we cannot give to another
    file, or is mounted on its own).
    """
    note_own_write(path, raw)
    with root.entry(path) as entry:
        found = entry.stat()
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.ESTALE, "It is not the file any more that it was", str(path))
        if not entry.may_write():
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        if found.st_nlink > 1 or not _replace_by_rename(entry, raw, found, before):
            _write_in_place(entry, raw, before)


def remove(path: Path, root: Root = SYSTEM, *, before: bytes | None = None) -> None:
    """Delete the file or link; raises OSError, also where it holds something else than `before`: then it stays."""
    note_own_write(path, None)
    with root.entry(path) as entry:
        if before is None:
            entry.unlink()
            return
        # under another name nobody can write to it between the comparison and the end
        aside = _name()
        entry.check_in_place()
        entry.rename_to(aside)
        if entry.has_content(before, aside):
            entry.unlink(aside)
            return
        entry.link_from(aside)
        entry.unlink(aside)
        raise OSError(errno.ESTALE, _CHANGED, str(path))


class _Stranded(OSError):
    """What somebody wrote could not be given its name back; it has the temporary one and stays there."""


@dataclass(frozen=True)
class _State:
    """What has a name: device and inode, and the content of a regular file that we may read."""

    identity: tuple[int, int]
    content: bytes | None

    @classmethod
    def of(cls, entry: AnchoredEntry, name: str) -> _State:
        found = entry.stat(name)
        content = None
        with suppress(OSError):
            content = entry.read(name)
        return cls((found.st_dev, found.st_ino), content)


def _name() -> str:
    return f".ohw-{mark()}-{secrets.token_hex(8)}.tmp"


def _replace_by_rename(entry: AnchoredEntry, raw: bytes, found: os.stat_result, before: bytes | None) -> bool:
    """False where a new file cannot stand in for the old one; then nothing has changed."""
    temporary = _name()
    try:
        _write_temporary(entry, temporary, raw, like=found)
        entry.check_in_place()
        _swap_in(entry, temporary, raw, found, before)
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


def _swap_in(entry: AnchoredEntry, temporary: str, raw: bytes, found: os.stat_result, before: bytes | None) -> None:
    """Give the new file the name; raises OSError where the old one was changed by then, which has the name again.

    Where names can be exchanged, what had the name is compared when nobody can reach it by that name any more. Anywhere
    else it is compared just before the rename.
    """
    mine = entry.stat(temporary)
    if not entry.exchange(temporary):
        _check_unchanged(entry, "", found, before)
        entry.rename_from(temporary)
        return
    try:
        _check_unchanged(entry, temporary, found, before)
        entry.check_in_place()
    except OSError:
        _exchange_back(entry, temporary, _State((mine.st_dev, mine.st_ino), raw))
        raise


def _check_stayed(entry: AnchoredEntry) -> None:
    """Delete the new file again where its folder was moved away at that moment; raises OSError then."""
    try:
        entry.check_in_place()
    except OSError:
        entry.unlink()
        raise


def _exchange_back(entry: AnchoredEntry, temporary: str, put: _State) -> None:
    """Give the name to what had it, or to what somebody has written since; `put` has it now, as far as we know."""
    for _ in range(_TURNS):
        theirs = _State.of(entry, temporary)
        try:
            entry.exchange(temporary)
        except OSError as error:
            kept = f"{entry.path.name}.ohw-saved-{secrets.token_hex(4)}"  # a name that no sweep takes for ours
            entry.rename_beside(temporary, kept)
            said = f"{_CHANGED}, and what it held is in {kept} beside it now ({error.strerror})"
            raise _Stranded(errno.ESTALE, said, str(entry.path)) from error
        if _State.of(entry, temporary) == put:
            return
        put = theirs


def _check_unchanged(entry: AnchoredEntry, name: str, found: os.stat_result, before: bytes | None) -> None:
    """Raise OSError when somebody wrote to the file since it was read, or changed its owner or mode."""
    now = entry.stat(name)
    same = all(getattr(now, key) == getattr(found, key) for key in _COMPARED)
    if not same or (before is not None and not entry.has_content(before, name)):
        raise OSError(errno.ESTALE, _CHANGED, str(entry.path))


_COMPARED = ("st_dev", "st_ino", "st_mode", "st_uid", "st_gid", "st_size", "st_mtime_ns")


def _link(entry: AnchoredEntry, temporary: str, raw: bytes, mode: int | None) -> None:
    try:
        entry.link_from(temporary)  # unlike a rename this never replaces a file
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        _write_exclusively(entry, raw, mode)


def _write_temporary(
    entry: AnchoredEntry, name: str, raw: bytes, *, like: os.stat_result | None = None, mode: int | None = None
) -> None:
    is_usual = like is None and mode is None
    with os.fdopen(entry.open(_NEW, 0o666 if is_usual else 0o600, beside=name), "wb") as file:
        file.write(raw)
        if like is not None:
            _take_after(file.fileno(), entry, like)
        elif mode is not None:
            os.fchmod(file.fileno(), mode)
        file.flush()
        os.fsync(file.fileno())


def _take_after(file: int, entry: AnchoredEntry, found: os.stat_result) -> None:
    """Owner, attributes, mode of the file it will replace; raises PermissionError where we may not set them."""
    mine = os.fstat(file)
    if (mine.st_uid, mine.st_gid) != (found.st_uid, found.st_gid):
        os.chown(file, found.st_uid, found.st_gid)
    if hasattr(os, "listxattr"):
        _copy_attributes(file, entry)
    os.chmod(file, stat.S_IMODE(found.st_mode))


def _copy_attributes(file: int, entry: AnchoredEntry) -> None:
    with suppress(OSError):  # a file system without attributes
        old = entry.open(os.O_PATH)
        try:
            path = f"/proc/self/fd/{old}"  # the calls that take a descriptor want one that may read
            for name in os.listxattr(path):
                with suppress(OSError):  # one that only the system sets
                    os.setxattr(file, name, os.getxattr(path, name))
        finally:
            os.close(old)


def _write_in_place(entry: AnchoredEntry, raw: bytes, before: bytes | None) -> None:
    with os.fdopen(entry.open(os.O_RDWR), "r+b", buffering=0) as file:
        old = file.readall()
        entry.check_in_place()
        if before is not None and old != before:
            raise OSError(errno.ESTALE, _CHANGED, str(entry.path))
        try:
            _overwrite(file, raw)
        except OSError:
            _overwrite(file, old)  # its room is there still
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
    left = memoryview(raw)
    while left:
        left = left[file.write(left) :]
    file.truncate()
    os.fsync(file.fileno())
