"""Landlock: kernel rules that restrict a thread, and all that it starts from then on (Linux 5.13 and later).

A ruleset names the rights that it handles; whatever uses a handled right fails unless a rule allows it. A rule applies
to a file, or to everything below a directory, and nothing can lift the restriction. Formats and numbers:
`linux/landlock.h`. The supervisors use this module too, so it imports little, and only from the standard library.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

EXECUTE, WRITE_FILE, READ_FILE, READ_DIRECTORY = (1 << bit for bit in range(4))
ENTRIES = sum(1 << bit for bit in range(4, 13))
"""The rights to create and remove files, directories, links, sockets, pipes and devices."""
REFER, TRUNCATE, CONTROL_DEVICE = 1 << 13, 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIRECTORY
WRITE = WRITE_FILE | ENTRIES | REFER | TRUNCATE
_SINCE = ((1, READ | WRITE_FILE | ENTRIES), (2, REFER), (3, TRUNCATE), (5, CONTROL_DEVICE))
_ONLY_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | CONTROL_DEVICE
TCP = 3
"""The rights to bind TCP sockets and to connect them."""
SINCE_TCP = 4
ABSTRACT_SOCKETS, SIGNALS = 1, 2
SINCE_SCOPES = 6

_CREATE, _ADD, _RESTRICT, _OPEN = 444, 445, 446, 437
_VERSION_ONLY, _PATH_RULE = 1, 1
_NO_NEW_PRIVILEGES = 38
_NO_SYMLINKS = 4
_HERE = -100
_LIBC = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """Return the version of the kernel's Landlock interface. Raises OSError if Landlock is not available."""
    if sys.platform != "linux":
        raise OSError("Landlock is Linux's")
    return _checked(_call(_CREATE, None, 0, _VERSION_ONLY))


def rights_over_files(version: int) -> int:
    """Return the file rights that a version of the Landlock interface can handle."""
    return sum(rights for since, rights in _SINCE if version >= since)


class Ruleset:
    """A ruleset under construction; the caller closes `descriptor`, which identifies it to the kernel."""

    def __init__(self, files: int, network: int = 0, scopes: int = 0) -> None:
        """Create a ruleset that handles these rights and allows none of them yet. Raises OSError."""
        attributes = struct.pack("3Q", files, network, scopes)
        # The kernel takes a longer structure than it knows if the rest is zero.
        self.descriptor = _checked(_call(_CREATE, attributes, len(attributes), 0))
        self._files = files

    def allow(self, path: str, rights: int) -> None:
        """Allow those of the rights that the ruleset handles, for a file or for everything below a directory. Raises
        OSError.

        No part of the path may be a symbolic link, because a link could have been created since the path was resolved.
        """
        how = struct.pack("3Q", os.O_PATH | os.O_CLOEXEC, 0, _NO_SYMLINKS)
        descriptor = _checked(_call(_OPEN, _HERE, os.fsencode(path), how, len(how)))
        try:
            self.allow_opened(descriptor, rights)
        finally:
            os.close(descriptor)

    def allow_opened(self, descriptor: int, rights: int) -> None:
        """Like `allow`, for a file or directory that is already open. Raises OSError."""
        allow(self.descriptor, descriptor, rights & self._files)


def allow(ruleset: int, descriptor: int, rights: int) -> None:
    """Allow rights, all of which the ruleset must handle, for an open file or below an open directory. Raises
    OSError.
    """
    is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
    rule = struct.pack("=Qi", rights if is_directory else rights & _ONLY_FILES, descriptor)
    _checked(_call(_ADD, ruleset, _PATH_RULE, rule, 0))


def restrict(ruleset: int) -> None:
    """Apply a ruleset to this thread, and disable setuid and file capabilities for the programs that it executes.
    Raises OSError.
    """
    zero = ctypes.c_ulong(0)
    _checked(int(_LIBC.prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), zero, zero, zero)))
    _checked(_call(_RESTRICT, ruleset, 0))


def _call(number: int, *arguments: int | bytes | None) -> int:
    passed: Sequence[object] = [
        ctypes.c_long(each) if isinstance(each, int) else ctypes.c_char_p(each) for each in arguments
    ]
    return int(_LIBC.syscall(ctypes.c_long(number), *passed))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
