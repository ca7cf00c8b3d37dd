"""The Unix socket of a session: where it lives and who may speak on it; used by server and client."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

from workbench.config.locations import Locations, private_directory
from workbench.engine.peers import is_of_an_agent
from workbench.errors import WorkbenchError


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
