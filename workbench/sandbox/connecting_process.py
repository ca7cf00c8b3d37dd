"""Finds the process at the other end of a connection from inside the sandbox."""

from __future__ import annotations

import fcntl
import os
import shlex
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

_NAMESPACE_OF_SOCKET: Final = 0x894C
"""SIOCGSKNS of `linux/sockios.h`: opens the network namespace of a socket."""
_LONGEST: Final = 4_000


def connecting_command(client: socket.socket) -> str:
    """Return the command line of the process that has connected, or an empty string if the process cannot be found.

    Works on Linux, for a connection over the loopback interface.
    """
    try:
        ours, theirs = client.getsockname()[1], client.getpeername()[1]
        inode = _namespace(client)
        pids = [pid for pid in _pids() if _inode(f"/proc/{pid}/ns/net") == inode]
        return next(_commands(pids, _socket_names(pids, theirs, ours)), "")
    except (OSError, ValueError, IndexError):
        return ""


def _namespace(client: socket.socket) -> int:
    """Return the inode of a socket's network namespace; that is our own if the kernel refuses to tell."""
    try:
        namespace = fcntl.ioctl(client.fileno(), _NAMESPACE_OF_SOCKET)
    except PermissionError:
        return _inode("/proc/self/ns/net")
    try:
        return os.fstat(namespace).st_ino
    finally:
        os.close(namespace)


def _pids() -> list[str]:
    return sorted((name for name in os.listdir("/proc") if name.isdigit()), key=int)  # noqa: PTH208 - strings


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino  # noqa: PTH116 - a string
    except OSError:
        return 0


def _socket_names(pids: Iterable[str], port: int, remote: int) -> set[str]:
    """Return the names that descriptors of the socket with these two ports have in /proc, such as `socket:[123]`."""
    pid = next(iter(pids), "self")
    lines = [line.split() for name in ("tcp", "tcp6") for line in _lines(f"/proc/{pid}/net/{name}")]
    return {f"socket:[{words[9]}]" for words in lines if (_port(words[1]), _port(words[2])) == (port, remote)}


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return []


def _port(endpoint: str) -> int:
    return int(endpoint.rpartition(":")[2], 16)


def _commands(pids: Iterable[str], names: set[str]) -> Iterator[str]:
    """Yield the command lines of the processes that have a descriptor with one of the names open."""
    for pid in pids if names else ():
        if not names.isdisjoint(_descriptors(pid)):
            words = Path(f"/proc/{pid}/cmdline").read_bytes()[:_LONGEST].decode(errors="replace").split("\0")
            yield shlex.join(word for word in words if word)


def _descriptors(pid: str) -> Iterator[str]:
    try:
        with os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                yield os.readlink(entry.path)  # noqa: PTH115 - a string
    except OSError:
        return
