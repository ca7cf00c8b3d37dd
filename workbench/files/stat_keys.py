"""Whether a file may have changed since it was read, judged by its stat alone; used wherever contents are cached.

No program can set a ctime, but the same ctime does not always mean the same content. Two writes within one tick of the
clock leave the same ctime. A write through a memory map updates the ctime only once per write-back of its page (within
35 s by default: `vm.dirty_expire_centisecs`, `dirty_writeback_centisecs`); further writes before the next write-back
leave the stat unchanged. A file system in memory never writes back, so further writes there never change it.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

StatKey: TypeAlias = tuple[int | str, ...]

_GRAIN_NS: Final = 30_000_000
_WRITTEN_BACK_NS: Final = 60_000_000_000
_IN_MEMORY: Final = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
_MOUNTS: Final = "/proc/self/mountinfo"
_in_memory: dict[int, bool] = {}
"""Device number -> whether its file system is held in memory."""


def stat_key(info: os.stat_result) -> StatKey:
    """Return a key that differs after each change of a file for which `has_settled` is true."""
    return info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_dev, info.st_size, info.st_mode


def is_settled_directory(info: os.stat_result) -> bool:
    """Return whether the entries stay the same as long as the directory's stat does; directories cannot be mapped."""
    return _age(info) >= _GRAIN_NS


def has_settled(info: os.stat_result) -> bool:
    """Return whether the content of a regular file or link stays the same for as long as its stat does."""
    return _age(info) >= _WRITTEN_BACK_NS and not _is_in_memory(info.st_dev)


def _age(info: os.stat_result) -> int:
    return abs(time.time_ns() - info.st_ctime_ns)


def _is_in_memory(device: int) -> bool:
    if device not in _in_memory:
        _in_memory.update(_mounted())
    return _in_memory.setdefault(device, False)


def _mounted() -> dict[int, bool]:
    """Return whether each mounted device is held in memory, see proc_pid_mountinfo(5); empty if none are listed."""
    devices: dict[int, bool] = {}
    with suppress(OSError, ValueError, IndexError):
        for line in Path(_MOUNTS).read_text(encoding="utf-8", errors="replace").splitlines():
            mount, _, source = line.partition(" - ")
            major, _, minor = mount.split()[2].partition(":")
            devices[os.makedev(int(major), int(minor))] = source.split()[0] in _IN_MEMORY
    return devices
