"""The network of programs in the partial sandbox: the engine's proxy, and their own servers on the loopback interface.

The seccomp filter suspends every `connect`, `bind` and `listen` and notifies the supervisor, where a thread decides on
the call. The thread makes an allowed call on a new socket and replaces the program's socket with it, so whatever the
program changes in the meantime has no effect. For a connection to the proxy, the other end of the new socket is passed
to the engine. The supervisors use this module, so it imports little, and only from the standard library.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable
    from typing import TypeAlias

PROXY_PORT = 3128
"""The port of the proxy inside a sandbox, on the loopback interface."""
CONNECT, BIND, LISTEN = "connect", "bind", "listen"
CALLS = {"x86_64": {CONNECT: 42, BIND: 49, LISTEN: 50}, "aarch64": {CONNECT: 203, BIND: 200, LISTEN: 201}}
"""The numbers of the system calls that the filter suspends, by machine."""
_RECEIVE, _SEND, _IS_VALID, _ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103
"""The ioctl requests for the listener of a filter, from `linux/seccomp.h`."""
_NOTIFICATION = struct.Struct("=QII iIQ 6Q")
_EXCHANGE = 1
_LONGEST_ENDPOINT = 128
_INTERNET, _INTERNET_6 = 2, 10
_MAPPED = bytes(10) + b"\xff\xff"
_PRIVILEGED_PORTS = 1024
_MOST_PENDING = 64
_LISTENS = "0A"
_SECONDS = 2.0

Endpoint: TypeAlias = "tuple[str, int]"


class SuspendedCall:
    """A system call that the filter has suspended; its thread waits until it is answered."""

    def __init__(self, listener: int, data: bytearray) -> None:
        """`data` is the notification that was read from the filter's listener."""
        self._listener = listener
        self._id, self._thread, _, self.number, _, _, *arguments = _NOTIFICATION.unpack(data)
        self.descriptor, self._second, self._third = arguments[0] & 0xFFFFFFFF, arguments[1], arguments[2]

    @property
    def backlog(self) -> int:
        """The second argument of the call, limited to 4096; for `listen`."""
        return int(min(self._second & 0x7FFFFFFF, 4096))

    def endpoint(self) -> Endpoint:
        """Return the endpoint that the call's second argument points to; for `connect` and `bind`. Raises OSError."""
        with open(f"/proc/{self._thread}/mem", "rb", buffering=0) as memory:  # noqa: PTH123 - pathlib is slow to import
            memory.seek(self._second)
            data = memory.read(min(self._third, _LONGEST_ENDPOINT))
        # Otherwise that was perhaps the memory of a later thread with the same number.
        self._check()
        return _endpoint_of(data)

    def inode(self) -> int:
        """Return the inode of the socket that the call is about. Raises OSError."""
        inode = os.stat(f"/proc/{self._thread}/fd/{self.descriptor}").st_ino  # noqa: PTH116
        self._check()
        return inode

    def exchange(self, new: socket) -> None:
        """Replace the thread's socket with `new`, which gets the flags of the old one. Raises OSError."""
        with open(f"/proc/{self._thread}/fdinfo/{self.descriptor}") as file:  # noqa: PTH123
            flags = int(file.read().partition("flags:")[2].split()[0], 8)
        self._check()
        new.setblocking(not flags & os.O_NONBLOCK)
        added = struct.pack("=QIIII", self._id, _EXCHANGE, new.fileno(), self.descriptor, flags & os.O_CLOEXEC)
        fcntl.ioctl(self._listener, _ADD_DESCRIPTOR, added)

    def answer(self, failure: int) -> None:
        """Let the call return: with success if `failure` is 0, otherwise with that errno."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._listener, _SEND, struct.pack("=QqiI", self._id, 0, -failure, 0))

    def _check(self) -> None:
        fcntl.ioctl(self._listener, _IS_VALID, struct.pack("=Q", self._id))


class ConfinedNetwork:
    """The connections and servers of the programs of one supervisor; allows or refuses each call."""

    def __init__(self, proxy: socket | None) -> None:
        """`proxy` is the socket through which the engine gets the other ends of connections; None if there is no
        proxy.
        """
        self._proxy = proxy
        self._servers: dict[tuple[bool, int], tuple[int, Endpoint]] = {}
        """The inode and endpoint of each server's socket, by whether it is IPv6, and port."""
        self._pending: dict[int, socket] = {}
        """The sockets that are bound but do not listen yet, by inode."""
        self._listening: dict[int, None] = {}
        """The inodes of the sockets that listened last, because a program may call `listen` again."""

    def connect(self, call: SuspendedCall) -> None:
        """Connect to the proxy or to a server of the same supervisor's programs. Raises OSError for any other
        endpoint.
        """
        host, port = call.endpoint()
        if not _is_loopback(host):
            raise OSError(errno.ENETUNREACH, "no such host")
        if (host, port) == ("127.0.0.1", PROXY_PORT):
            self._connect_to_proxy(call)
        else:
            with contextlib.closing(self._connected_to_server(":" in host, port)) as new:
                call.exchange(new)

    def bind(self, call: SuspendedCall) -> None:
        """Bind a socket to the loopback interface, even if the program asks for all interfaces. Raises OSError."""
        host, port = call.endpoint()
        if 0 < port < _PRIVILEGED_PORTS:
            raise PermissionError(errno.EACCES, "a privileged port")
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        if not _is_loopback(host):
            raise OSError(errno.EADDRNOTAVAIL, "not the loopback interface")
        new = _new_socket(is_6=":" in host)
        try:
            new.bind((host, port))
            call.exchange(new)
        except OSError:
            new.close()
            raise
        inode = os.fstat(new.fileno()).st_ino
        self._servers[":" in host, new.getsockname()[1]] = inode, new.getsockname()[:2]
        self._pending[inode] = new
        if len(self._pending) > _MOST_PENDING:
            self._pending.pop(next(iter(self._pending))).close()

    def listen(self, call: SuspendedCall) -> None:
        """Let a socket listen. Raises OSError if it was not bound by `bind`."""
        inode = call.inode()
        if inode in self._listening:
            return
        if inode not in self._pending:
            raise PermissionError(errno.EACCES, "not bound to the loopback interface")
        with contextlib.closing(self._pending.pop(inode)) as server:
            server.listen(call.backlog)
        self._listening[inode] = None
        if len(self._listening) > _MOST_PENDING:
            del self._listening[next(iter(self._listening))]

    def _connect_to_proxy(self, call: SuspendedCall) -> None:
        if self._proxy is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "there is no proxy")
        ours, theirs = _pair()
        with contextlib.closing(ours), contextlib.closing(theirs):
            pass_descriptor(self._proxy, ours.fileno())
            call.exchange(theirs)

    def _connected_to_server(self, is_6: bool, port: int) -> socket:
        """Return a connection to a server at this port, which may listen on the other version of IP. Raises OSError."""
        for version in (is_6, not is_6):
            inode, endpoint = self._servers.get((version, port), (0, ("", 0)))
            if inode and inode in _listening_at(port, version):
                new = _new_socket(version)
                try:
                    new.connect(endpoint)
                except OSError:
                    new.close()
                    raise
                return new
        raise ConnectionRefusedError(errno.ECONNREFUSED, "no server of these programs")


def serve(listener: int, connections: int) -> None:
    """Answer suspended calls until all the programs have ended; `connections` is a socket to the engine, or -1 for no
    proxy.
    """
    import _socket

    proxy = _socket.socket(fileno=connections) if connections >= 0 else None
    if proxy is not None:
        proxy.setblocking(False)
    network = ConfinedNetwork(proxy)
    numbers = CALLS[os.uname().machine]
    handlers: dict[int, Callable[[SuspendedCall], None]] = {
        numbers[CONNECT]: network.connect,
        numbers[BIND]: network.bind,
        numbers[LISTEN]: network.listen,
    }
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while poll.poll()[0][1] & select.POLLIN:
        data = bytearray(_NOTIFICATION.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, data)
        except OSError:  # the caller has been killed
            continue
        call = SuspendedCall(listener, data)
        try:
            handlers[call.number](call)
        except OSError as error:
            call.answer(error.errno or errno.EACCES)
        except (ValueError, OverflowError):  # what the arguments point to is nowhere
            call.answer(errno.EFAULT)
        else:
            call.answer(0)
    os.close(listener)


def pass_descriptor(channel: socket, descriptor: int) -> None:
    """Send a descriptor through a socket. Raises OSError."""
    import _socket

    passed = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptor.to_bytes(4, sys.byteorder))]
    channel.sendmsg([b"d"], passed)


def _endpoint_of(data: bytes) -> Endpoint:
    """Return the host and port of a `sockaddr`; an IPv4-mapped IPv6 address becomes IPv4. Raises OSError."""
    import _socket

    family, port = int.from_bytes(data[:2], sys.byteorder), int.from_bytes(data[2:4], "big")
    if family == _INTERNET and len(data) >= 8:
        return _socket.inet_ntop(_INTERNET, data[4:8]), port
    if family == _INTERNET_6 and len(data) >= 24:
        host = data[8:24]
        if host.startswith(_MAPPED):
            return _socket.inet_ntop(_INTERNET, host[12:]), port
        return _socket.inet_ntop(_INTERNET_6, host), port
    raise PermissionError(errno.EACCES, "no such network")


def _is_loopback(host: str) -> bool:
    return host in ("::1", "0.0.0.0", "::") or (host.startswith("127.") and ":" not in host)


def _new_socket(is_6: bool) -> socket:
    import _socket

    new = _socket.socket(_socket.AF_INET6 if is_6 else _socket.AF_INET, _socket.SOCK_STREAM)
    new.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    new.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
    if is_6:
        new.setsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_V6ONLY, 1)
    new.settimeout(_SECONDS)
    return new


def _pair() -> tuple[socket, socket]:
    """Return two TCP sockets that are connected to each other, and to no other process."""
    import _socket

    with contextlib.closing(_new_socket(is_6=False)) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        theirs = _new_socket(is_6=False)
        theirs.connect(listener.getsockname())
        while True:
            descriptor, peer = listener._accept()  # type: ignore[attr-defined]
            ours = _socket.socket(fileno=descriptor)
            if peer == theirs.getsockname():
                return ours, theirs
            ours.close()


def _listening_at(port: int, is_6: bool) -> set[int]:
    """Return the inodes of the sockets on this machine that listen on a port."""
    with open(f"/proc/net/tcp{'6' if is_6 else ''}") as file:  # noqa: PTH123
        lines = [line.split() for line in file][1:]
    return {int(line[9]) for line in lines if line[3] == _LISTENS and int(line[1].rpartition(":")[2], 16) == port}
