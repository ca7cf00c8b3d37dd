"""The file format of git's index, read to find the blobs of unchanged files and written for a first snapshot.

See gitformat-index(5). Only what every version of git since 2006 can read is written.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

_LARGEST = 1_000_000_000
"""Size in bytes of the largest index that is read."""
_HEADER = struct.Struct(">4sII")
_STAT = struct.Struct(">10I")
_FLAGS, _FIXED = 60, 62
"""The offsets of an entry's flags and of its path, in bytes."""
MODIFIED = slice(8, 16)
_DEVICE, _INODE, _MODE, _SIZE = 16, 20, 24, 36
"""The offsets of these numbers in a stat. Git ignores the device's, which may change whenever the system starts."""
_EXTENDED, _STAGE, _LONGEST_NAME = 0x4000, 0x3000, 0xFFF
_MODES = {mode.to_bytes(4, "big"): b"%o" % mode for mode in (0o100644, 0o100755, 0o120000, 0o160000)}
_WORD, _SECOND = 0xFFFFFFFF, 10**9


Entry: TypeAlias = bytes
"""A file in the index: the 40 bytes of its stat, and then the hash of its blob."""


def blob_of(entry: Entry) -> bytes:
    """Return the hash of the file's blob, in binary."""
    return entry[_STAT.size :]


def size_of(entry: Entry) -> int:
    """Return the file's size in bytes, modulo 4 GiB."""
    return int.from_bytes(entry[_SIZE : _STAT.size])


def mode_of(entry: Entry) -> bytes:
    """Return the file's mode in the form of a tree, such as `100644`."""
    return _MODES[entry[_MODE : _MODE + 4]]


def is_unchanged(entry: Entry, status: bytes) -> bool:
    """Return whether a file with this stat is unchanged since the entry was written."""
    return entry[:_DEVICE] == status[:_DEVICE] and entry[_INODE : _STAT.size] == status[_INODE:]


def stat_of(status: os.stat_result) -> bytes:
    """Return the stat of a regular file or a symbolic link in the form of the index."""
    mode = stat.S_IFLNK if stat.S_ISLNK(status.st_mode) else stat.S_IFREG | (0o755 if status.st_mode & 0o100 else 0o644)
    changed, changed_ns = divmod(status.st_ctime_ns, _SECOND)
    modified, modified_ns = divmod(status.st_mtime_ns, _SECOND)
    return _STAT.pack(
        changed & _WORD,
        changed_ns,
        modified & _WORD,
        modified_ns,
        status.st_dev & _WORD,
        status.st_ino & _WORD,
        mode,
        status.st_uid,
        status.st_gid,
        status.st_size & _WORD,
    )


def read_index(path: Path) -> tuple[dict[bytes, Entry], bytes]:
    """Return the files of an index by path, without those of an unfinished merge, and when it was written.

    The time has the form in which a stat has the time of a file's last change, at `MODIFIED`.

    Raises OSError, or ValueError for a file that is not an index of SHA-1 blobs.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe does not make it wait
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise ValueError(f"{path} is not an index")
        raw = file.read()
    try:
        return _entries(raw), stat_of(status)[MODIFIED]
    except (struct.error, IndexError) as error:
        raise ValueError(f"{path} is not an index: {error}") from error


def _entries(raw: bytes) -> dict[bytes, Entry]:
    signature, version, count = _HEADER.unpack_from(raw)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError(f"an index of version {version}")
    entries: dict[bytes, Entry] = {}
    at, path = _HEADER.size, b""
    for _ in range(count):
        (flags,) = struct.unpack_from(">H", raw, at + _FLAGS)
        name = at + _FIXED + (2 if flags & _EXTENDED else 0)
        if version == 4:  # the path lacks what it has in common with the one before
            removed, name = _number(raw, name)
            end = raw.index(0, name)
            path, after = path[: len(path) - removed] + raw[name:end], end + 1
        else:
            end = raw.index(0, name)
            path, after = raw[name:end], at + (end - at + 8) // 8 * 8
        if path and not flags & _STAGE:
            entries[path] = raw[at : at + _FLAGS]
        at = after
    return entries


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """Return the variable-length number at an offset, and the offset after it."""
    number = raw[at] & 0x7F
    while raw[at] & 0x80:
        at += 1
        number = (number + 1) << 7 | raw[at] & 0x7F
    return number, at + 1


def write_index(path: Path, entries: Mapping[bytes, Entry], modified_ns: int) -> None:
    """Write an index with this modification time: git will compare the contents of files changed since. Raises
    OSError.
    """
    raw = b"".join(
        (_HEADER.pack(b"DIRC", 2, len(entries)), *(_packed(name, entries[name]) for name in sorted(entries)))
    )
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(raw + hashlib.sha1(raw, usedforsecurity=False).digest())
    os.utime(new, ns=(modified_ns, modified_ns))
    new.replace(path)


def _packed(path: bytes, entry: Entry) -> bytes:
    flags = min(len(path), _LONGEST_NAME).to_bytes(2, "big")
    return entry + flags + path + bytes(8 - (_FIXED + len(path)) % 8)
