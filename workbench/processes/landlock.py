"""Landlock, the kernel's rules for what a thread, and all that it starts from then on, may do (Linux, since 5.13).

The rules only allow: what is handled and not allowed fails. They apply below a directory, and nothing can lift them.
Formats and numbers: `linux/landlock.h`. Used by a supervisor too, so standard library only, and little of it.
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
"""Removing and making files, directories, links, sockets, pipes and devices."""
REFER, TRUNCATE, CONTROL_DEVICE = 1 << 13, 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIRECTORY
WRITE = WRITE_FILE | ENTRIES | REFER | TRUNCATE
_SINCE = ((1, READ | WRITE_FILE | ENTRIES), (2, REFER), (3, TRUNCATE), (5, CONTROL_DEVICE))
_ONLY_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | CONTROL_DEVICE
TCP = 3
"""Binding and connecting."""
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
    """Return the kernel's version of Landlock. Raises OSError where it cannot be used."""
    if sys.platform != "linux":
        raise OSError("Landlock is Linux's")
    return _checked(_call(_CREATE, None, 0, _VERSION_ONLY))


def rights_over_files(version: int) -> int:
    """Return the rights that a version of Landlock handles."""
    return sum(rights for since, rights in _SINCE if version >= since)


class Ruleset:
    """Rules under construction, of which `descriptor` stands for the whole; the caller closes it."""

    def __init__(self, files: int, network: int = 0, scopes: int = 0) -> None:
        """Handle these rights, none of which is allowed yet. Raises OSError."""
        attributes = struct.pack("3Q", files, network, scopes)
        # The kernel takes a longer structure than it knows if the rest is zero.
        self.descriptor = _checked(_call(_CREATE, attributes, len(attributes), 0))
        self._files = files

    def allow(self, path: str, rights: int) -> None:
        """Allow those of the rights that are handled, below a directory or for a file. Raises OSError.

        No part of the path may be a symbolic link, which could have been made since the path was resolved.
        """
        how = struct.pack("3Q", os.O_PATH | os.O_CLOEXEC, 0, _NO_SYMLINKS)
        descriptor = _checked(_call(_OPEN, _HERE, os.fsencode(path), how, len(how)))
        try:
            self.allow_opened(descriptor, rights)
        finally:
            os.close(descriptor)

    def allow_opened(self, descriptor: int, rights: int) -> None:
        """Allow the same for what is opened. Raises OSError."""
        allow(self.descriptor, descriptor, rights & self._files)


def allow(ruleset: int, descriptor: int, rights: int) -> None:
    """Add the rights over an opened directory or file to a ruleset, all of which it handles. Raises OSError."""
    is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
    rule = struct.pack("=Qi", rights if is_directory else rights & _ONLY_FILES, descriptor)
    _checked(_call(_ADD, ruleset, _PATH_RULE, rule, 0))


def restrict(ruleset: int) -> None:
    """Apply the rules to this thread; its programs get no privileges from their files any more. Raises OSError."""
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
