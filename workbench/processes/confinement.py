"""Confines a thread, and every thread and process that it starts from then on, to writing below some directories.

Linux enforces it (Landlock, since 5.13), and nothing can lift it. Reading stays as it was, and so does changing the
permissions and times of files. Since Linux 6.12, no process outside the confinement can be signaled either.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVILEGES: Final = 38
_VERSION_ONLY, _PATH_RULE = 1, 1
_WRITE_FILE, _TRUNCATE, _REFER = 1 << 1, 1 << 14, 1 << 13
_ENTRIES: Final = sum(1 << bit for bit in range(4, 13))
"""Removing and making files, directories, links, sockets, pipes and devices."""
_SIGNALS: Final = 1 << 1
_SINCE_SCOPES: Final = 6
_DEVICES, _SHARED_MEMORY = Path("/dev"), Path("/dev/shm")


def confine(directories: Iterable[Path]) -> bool:
    """Let this thread write only below the directories, to existing devices and to shared memory.

    Returns False where the system cannot do that. Raises OSError if a directory cannot be opened.
    """
    version = _call(_CREATE, None, 0, _VERSION_ONLY) if sys.platform == "linux" else 0
    if version < 1:
        return False
    writes = _WRITE_FILE | _ENTRIES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    attributes = struct.pack("3Q", writes, 0, _SIGNALS) if version >= _SINCE_SCOPES else struct.pack("Q", writes)
    rules = _call(_CREATE, attributes, len(attributes), 0)
    if rules < 0:
        return False
    try:
        for directory in directories:
            _allow(rules, directory, writes)
        _allow(rules, _DEVICES, writes & (_WRITE_FILE | _TRUNCATE))
        if _SHARED_MEMORY.is_dir():
            _allow(rules, _SHARED_MEMORY, writes)
        return _prctl() and _call(_RESTRICT, rules, 0) == 0
    finally:
        os.close(rules)


def _allow(rules: int, directory: Path, access: int) -> None:
    descriptor = os.open(directory, os.O_PATH | os.O_CLOEXEC)
    try:
        if _call(_ADD, rules, _PATH_RULE, struct.pack("=Qi", access, descriptor), 0) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(directory))
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: int | bytes | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    passed = [ctypes.c_long(each) if isinstance(each, int) else ctypes.c_char_p(each) for each in arguments]
    return int(libc.syscall(ctypes.c_long(number), *passed))


def _prctl() -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    return int(libc.prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), zero, zero, zero)) == 0
