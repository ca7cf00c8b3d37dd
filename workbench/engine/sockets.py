"""The Unix socket of a session: its path, who may connect, and protection against tracing."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from workbench.config.locations import private_directory
from workbench.errors import WorkbenchError
from workbench.processes.ancestry import ancestors
from workbench.processes.descendants import mark_level

_PR_SET_DUMPABLE = 4
_SO_PEERPIDFD = 77
"""The value of this Linux socket option on x86, ARM and RISC-V."""
_MOST_ANCESTORS = 1000
_PROBE = 2.0
"""Seconds to wait for an engine to accept a connection that only asks whether it runs."""
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
"""The level and options of macOS that Python does not name, see unix(4)."""
_XUCRED_BYTES = 76
_PROC_PIDTBSDINFO, _BSDINFO_BYTES, _STATUS_OFFSET, _PPID_OFFSET, _STOPPED = 3, 136, 4, 16, 4
"""A flavor of proc_pidinfo, the size of its result, the offsets of the state and the parent's pid in it, and SSTOP."""


def forbid_tracing() -> None:
    """Prevent other processes of this user from tracing this one or reading its memory and environment (on Linux).

    An agent's command runs as the same user: it could otherwise read keys, or make a screen answer for the user. Root
    is not prevented, and child processes are not protected.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def is_of_an_agent(pid: int) -> bool:
    """Return whether an agent started the process, as far as the system shows it; True if the process has ended."""
    if sys.platform == "darwin":
        return _descends_from_us_on_macos(pid)
    if sys.platform != "linux":
        return False
    # It is in a process namespace that is not visible here.
    if pid <= 0:
        return True
    try:
        level = mark_level(pid)
        above = list(ancestors(pid))
    except (OSError, ValueError):
        return True
    if level <= mark_level():
        return True
    ours = set(ancestors(os.getpid())) - {os.getpid()}
    return any(each == os.getpid() or (each not in ours and _is_engine(each)) for each in above)


def _descends_from_us_on_macos(pid: int) -> bool:
    """Return whether the process `pid` descends from this process; True if it or one of its ancestors has ended.

    A process that has detached from all its ancestors is not recognized: macOS has no mark like the one on Linux.
    """
    for _ in range(_MOST_ANCESTORS):
        if pid == os.getpid():
            return True
        if pid <= 1:
            return pid < 1
        pid = _parent_on_macos(pid)
    return True


def _parent_on_macos(pid: int) -> int:
    """Return the pid of the process's parent; 0 if the process has ended."""
    return int.from_bytes(_bsdinfo(pid)[_PPID_OFFSET : _PPID_OFFSET + 4], sys.byteorder)


def _bsdinfo(pid: int) -> bytes:
    """Return what macOS reports about a process (libproc.h: struct proc_bsdinfo); empty if the process has ended."""
    buffer = ctypes.create_string_buffer(_BSDINFO_BYTES)
    size = ctypes.CDLL("/usr/lib/libproc.dylib").proc_pidinfo(
        pid, _PROC_PIDTBSDINFO, ctypes.c_uint64(0), buffer, _BSDINFO_BYTES
    )
    return buffer.raw if size == _BSDINFO_BYTES else b""


def is_stopped(pid: int) -> bool:
    """Return whether a signal or a debugger has stopped the process; False where the system cannot tell."""
    if sys.platform == "darwin":
        return _bsdinfo(pid)[_STATUS_OFFSET : _STATUS_OFFSET + 4] == _STOPPED.to_bytes(4, sys.byteorder)
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat.rpartition(b")")[2].split()[0] in (b"T", b"t")


def _is_engine(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return (b"-m", b"workbench.engine") in pairwise(words)


def listen(path: Path) -> socket.socket:
    """Create a listening socket at `path`, with mode 0600, in place of any existing file.

    The caller must hold the session's lock, so an existing socket is stale. Raises WorkbenchError if the socket cannot
    be created.
    """
    private_directory(path.parent)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(8)
    except OSError as error:
        listener.close()
        raise WorkbenchError(f"cannot listen on {path}: {error.strerror or error}") from error
    return listener


def connect(path: Path, timeout: float) -> socket.socket | None:
    """Connect to the engine that listens on `path`; return None if no engine of this user listens there.

    `timeout`, in seconds, is that of every operation on the socket.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        return None
    if not is_own(connection) or _is_in_the_way(connection):
        connection.close()
        return None
    return connection


def is_served(path: Path) -> bool:
    """Return whether an engine of this user listens on `path`."""
    connection = connect(path, _PROBE) if path.exists() else None
    if connection is not None:
        connection.close()
    return connection is not None


def _is_in_the_way(connection: socket.socket) -> bool:
    """Return whether the listening process belongs to an agent, and is not an engine.

    An agent's process could listen on the path of an engine that has ended. On Linux it is recognized by its mark
    level: an engine's is at most one below that of a front end, and that of every process an engine starts is lower
    still.
    """
    peer = _peer(connection)
    if peer is None or peer[0] <= 0 or sys.platform != "linux":
        return False
    try:
        level = mark_level(peer[0])
    except (OSError, ValueError):
        return True
    return level < mark_level() - 1


def is_own(connection: socket.socket) -> bool:
    """Return whether the peer runs as this user; True where the system cannot tell (the directory
    is private anyway).
    """
    peer = _peer(connection)
    return peer is None or peer[1] == os.getuid()


def is_screen(connection: socket.socket) -> bool:
    """Return whether the peer may be a front end of the user's: any process that no agent started."""
    peer = _peer(connection)
    if peer is None:
        return True
    with _held(connection) as lives:
        # Checked while the process is held: after it has ended, another process may get its pid.
        return not is_of_an_agent(peer[0]) and lives()


@contextmanager
def _held(connection: socket.socket) -> Iterator[Callable[[], bool]]:
    """Keep a descriptor of the connected process; yield a function that returns whether that process is still running.

    Where the system cannot tell (before Linux 6.5), the process is assumed to be running.
    """
    try:
        size = struct.calcsize("i")
        (process,) = struct.unpack("i", connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD, size))
    except OSError as error:
        # A process that its parent has reaped can no longer be opened as a descriptor.
        is_gone = error.errno in (errno.ESRCH, errno.EINVAL)
        yield lambda: not is_gone
        return
    poll = select.poll()
    poll.register(process, select.POLLIN)
    try:
        yield lambda: not poll.poll(0)
    finally:
        os.close(process)


def _peer(connection: socket.socket) -> tuple[int, int] | None:
    """Return the pid and uid of the peer, or None where the system cannot tell."""
    if sys.platform == "darwin":
        return _peer_on_macos(connection)
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return pid, uid


def _peer_on_macos(connection: socket.socket) -> tuple[int, int]:
    """Return the pid and uid of the peer; the pid is 0 if the process has ended, the uid -1 if it is not known.

    The credentials are a struct xucred (sys/ucred.h): its version, which is 0, and the effective user.
    """
    try:
        (pid,) = struct.unpack("i", connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, struct.calcsize("i")))
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
        version, uid = struct.unpack_from("=II", credentials)
    except (OSError, struct.error):
        # The peer has disconnected; unlike Linux, macOS does not keep its credentials.
        return 0, -1
    return pid, uid if version == 0 else -1
