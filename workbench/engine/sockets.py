"""The Unix socket of a session: where it lives and who may speak on it, and that nobody traces who does."""

from __future__ import annotations

import ctypes
import os
import resource
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from workbench.config.locations import Locations, private_directory
from workbench.errors import WorkbenchError

# RLIMIT_LOCKS: every Linux process has and inherits it, and no kernel since 2.4.25 enforces it.
_MARK = 10
_TOP = 1 << 20
_PR_SET_DUMPABLE = 4
_MOST_ANCESTORS = 1000


def mark_descendants() -> None:
    """Give this process, and all that it starts from here on, the mark of an agent's processes (on Linux)."""
    if sys.platform != "linux":
        return
    level = _level(resource.getrlimit(_MARK)[1])
    if level > 0:
        with suppress(OSError, ValueError):
            resource.setrlimit(_MARK, (level - 1, level - 1))


def forbid_tracing() -> None:
    """Let no other process of this user trace this one, or read its memory, environment or descriptors (on Linux).

    An agent's command runs as the same user: it could read keys, or make a screen answer. Root may still do all that.
    What this process starts is not affected.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def is_of_an_agent(pid: int) -> bool:
    """Whether an agent started that process, as far as the system tells; one that is gone already counts as such."""
    if sys.platform != "linux":
        return False
    if pid <= 0:  # in a namespace that cannot be looked into
        return True
    try:
        level = _level(resource.prlimit(pid, _MARK)[1])
        above = list(_ancestors(pid))
    except (OSError, ValueError):
        return True
    if level <= _level(resource.getrlimit(_MARK)[1]):
        return True
    ours = set(_ancestors(os.getpid())) - {os.getpid()}
    return any(each == os.getpid() or (each not in ours and _is_engine(each)) for each in above)


def _level(hard: int) -> int:
    return _TOP if hard == resource.RLIM_INFINITY else hard


def _ancestors(pid: int) -> Iterator[int]:
    """The process itself and those above it; raises OSError or ValueError when it is gone."""
    for _ in range(_MOST_ANCESTORS):
        yield pid
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        pid = int(stat.rpartition(b")")[2].split()[1])  # a name may hold blanks and brackets
        if pid <= 1:
            return


def _is_engine(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return (b"-m", b"workbench.engine") in pairwise(words)


def socket_path(locations: Locations, session_id: str) -> Path:
    """The socket of one session's engine, in the private runtime folder."""
    path = locations.runtime / f"{session_id}.sock"
    if len(os.fsencode(path)) <= 107:  # the limit of a socket's name
        return path
    return locations.runtime / f"{session_id[-24:].lstrip('-')}.sock"


def listen(path: Path) -> socket.socket:
    """Listen on `path`, mode 0600; whoever calls holds the session's lock, so a socket in the way is a stale one."""
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
    """A connection to the engine behind `path`, or None when nobody listens there."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        return None
    if not is_own(connection):
        connection.close()
        return None
    return connection


def is_own(connection: socket.socket) -> bool:
    """Whether the other end runs as this user (where the system can tell; the folder is private in any case)."""
    peer = _peer(connection)
    return peer is None or peer[1] == os.getuid()


def is_screen(connection: socket.socket) -> bool:
    """Whether the other end may be a screen of the user's: no process that an agent started is one."""
    peer = _peer(connection)
    return peer is None or not is_of_an_agent(peer[0])


def _peer(connection: socket.socket) -> tuple[int, int] | None:
    """Process and user that connected; None where the system cannot tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return pid, uid
