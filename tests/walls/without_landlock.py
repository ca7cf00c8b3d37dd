"""Runs a command on a machine whose kernel answers every call of Landlock with an error.

The arguments are NAME, such as `ENOSYS`, and COMMAND …. The kernel answers so because a filter of system calls says it,
as the filters of containers do.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

_CALLS = (444, 445, 446)
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUAL, _RETURN, _ALLOW, _ERROR = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000


def main(name: str, *command: str) -> None:
    """Become the command."""
    statements = [(_LOAD, 0, 0, 0)]
    for call in _CALLS:
        statements += [(_EQUAL, 0, 1, call), (_RETURN, 0, 0, _ERROR | getattr(errno, name))]
    statements.append((_RETURN, 0, 0, _ALLOW))
    rules = b"".join(struct.pack("=HBBI", *each) for each in statements)
    program = ctypes.create_string_buffer(rules, len(rules))
    header = struct.pack("@HP", len(statements), ctypes.addressof(program))
    libc, zero = ctypes.CDLL(None, use_errno=True), ctypes.c_ulong(0)
    if libc.prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), zero, zero, zero) or libc.prctl(_SET_SECCOMP, _FILTER, header):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
