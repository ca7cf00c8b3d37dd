"""Starts a program in the partial sandbox, made of Landlock rules and a system call filter (seccomp).

The engine passes the rules, the filter and the program's environment. The supervisor's child applies them to itself
before it executes the program, and passes the filter's listener to the supervisor. The supervisors use this module, so
it imports little, and only from the standard library.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import os
import struct
import sys

from workbench.processes import descendants, landlock, landlock_network

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable

MARK = "landlock:"
"""The prefix of a SANDBOX argument that asks for the partial sandbox."""
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_FILTER, _NEW_LISTENER, _UNTIL_KILLED = 1, 1 << 3, 1 << 5
_DROP_BOUNDING, _AMBIENT, _CLEAR_AMBIENT = 24, 47, 4
_MOST_CAPABILITIES = 64
_CAPABILITIES_VERSION = 0x20080522


def start(prepare: Callable[[int], None], argv: list[str], words: str) -> int:
    """Start a program in the partial sandbox; return its pid. The child calls `prepare` with this process's pid first.

    `words` is the `words` of a `ProgramStart`: the descriptors of the ruleset, of the filter, and of a file with the
    program's directory and variables; if there is a proxy, also a socket that stays open as long as this process, and
    the socket through which connections are passed to the proxy.
    """
    # The module `socket` takes 10 ms to import.
    import _socket

    rules, filter_file, variables, *proxy = (int(word) for word in words.removeprefix(MARK).split(","))
    for number in (rules, filter_file, variables, *proxy):
        os.set_inheritable(number, False)
    ours, theirs = _socket.socketpair()

    def confine() -> None:
        _enter(_read(variables))
        for number in (0, 1, 2):
            _allow_own_terminal(rules, number)
        _drop_capabilities()
        landlock.restrict(rules)
        landlock_network.pass_descriptor(theirs, _filtered(_read(filter_file)))

    child = descendants.start_program(prepare, argv, confine)
    theirs.close()
    for number in (rules, filter_file, variables):
        os.close(number)
    listener = _passed(ours)
    ours.close()
    if listener >= 0:
        _thread.start_new_thread(landlock_network.serve, (listener, proxy[1] if proxy else -1))
    return child


def _read(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _enter(variables: bytes) -> None:
    """Enter the program's directory, and replace the environment with the program's; `variables` contains both."""
    directory, *pairs = variables.split(b"\0")[:-1]
    os.chdir(directory)
    os.environb.clear()
    for pair in pairs:
        name, _, value = pair.partition(b"=")
        os.environb[name] = value


def _allow_own_terminal(rules: int, number: int) -> None:
    """If the descriptor `number` is a terminal, let the program open that terminal by its path too."""
    if os.isatty(number):
        descriptor = os.open(f"/proc/self/fd/{number}", os.O_PATH | os.O_CLOEXEC)
        # The rules handle the last right only since version 5.
        for rights in (landlock.READ_FILE | landlock.WRITE_FILE, landlock.CONTROL_DEVICE):
            with contextlib.suppress(OSError):
                landlock.allow(rules, descriptor, rights)
        os.close(descriptor)


def _drop_capabilities() -> None:
    """Drop all of root's capabilities; this changes nothing for other users. Raises OSError."""
    libc, zero = ctypes.CDLL(None, use_errno=True), ctypes.c_ulong(0)
    for capability in range(_MOST_CAPABILITIES):
        libc.prctl(_DROP_BOUNDING, ctypes.c_ulong(capability), zero, zero, zero)
    libc.prctl(_AMBIENT, ctypes.c_ulong(_CLEAR_AMBIENT), zero, zero, zero)
    if libc.capset(struct.pack("=Ii", _CAPABILITIES_VERSION, 0), bytes(24)):
        raise OSError(ctypes.get_errno(), "the capabilities cannot be dropped")


def _filtered(rules: bytes) -> int:
    """Apply the seccomp filter to this thread, and return the filter's listener. Raises OSError."""
    program = ctypes.create_string_buffer(rules, len(rules))
    header = struct.pack("@HP", len(rules) // 8, ctypes.addressof(program))
    for flags in (_NEW_LISTENER | _UNTIL_KILLED, _NEW_LISTENER):
        number = ctypes.c_long(_SECCOMP[os.uname().machine])
        listener = int(
            ctypes.CDLL(None, use_errno=True).syscall(number, ctypes.c_long(_SET_FILTER), ctypes.c_long(flags), header)
        )
        if listener >= 0:
            return listener
    raise OSError(ctypes.get_errno(), "the filter of system calls cannot be used")


def _passed(channel: socket) -> int:
    """Return the descriptor that the child sent through a socket; -1 if it ended without sending one."""
    import _socket

    _, ancillary, _, _ = channel.recvmsg(1, _socket.CMSG_SPACE(4), _socket.MSG_CMSG_CLOEXEC)
    return next((int.from_bytes(data[:4], sys.byteorder) for _, _, data in ancillary), -1)
