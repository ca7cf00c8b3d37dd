"""A proxy for tests over real sockets: a server on loopback that stands for the internet, and clients of the proxy."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

from workbench.sandbox.host_access import HostRequest, HostVerdict
from workbench.sandbox.proxy import NetworkProxy, ProxyTimeouts
from workbench.web.network import NetworkPolicy

LABEL = "bash"
ALLOWED = HostVerdict(True)
HOST = "registry.example"


class Server:
    """A server on loopback; `handle` is called in a thread for each connection."""

    def __init__(self, handle: Callable[[socket.socket], None]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        self._handle = handle
        self._threads: list[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            self._handle(connection)

    def close(self) -> None:
        """Stop accepting."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join(5)


def echo(connection: socket.socket) -> None:
    """Send back what comes."""
    while data := connection.recv(1 << 16):
        connection.sendall(data)


def policy(**names: list[str]) -> NetworkPolicy:
    """Return a policy under which the fake internet on loopback may be reached; other names do not exist."""

    def resolve(host: str, port: int) -> list[str]:
        if host == HOST:
            return ["127.0.0.1"]
        if host in names:
            return names[host]
        if host.replace(".", "").replace(":", "").isdigit() or ":" in host:
            return [host]
        raise OSError(-2, "Name or service not known")

    return NetworkPolicy([HOST], resolve)


@contextlib.contextmanager
def proxied(
    decide: Callable[[HostRequest], HostVerdict] = lambda request: ALLOWED,
    *,
    checks: NetworkPolicy | None = None,
    timeouts: ProxyTimeouts | None = None,
) -> Iterator[tuple[NetworkProxy, Callable[[], socket.socket]]]:
    """Serve one listener; yield the proxy and a function that connects to it from inside."""
    proxy = NetworkProxy(decide, checks or policy(), timeouts)
    listener = socket.create_server(("127.0.0.1", 0))
    inside = listener.getsockname()
    proxy.serve(listener, LABEL)
    clients: list[socket.socket] = []

    def connect() -> socket.socket:
        client = socket.create_connection(inside, timeout=10)
        clients.append(client)
        return client

    try:
        yield proxy, connect
    finally:
        for client in clients:
            client.close()
        proxy.close()


def tunnel(client: socket.socket, host: str, port: int) -> bytes:
    """Ask for a tunnel with CONNECT; return the answer's head."""
    client.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    return head_of(client)


def head_of(client: socket.socket) -> bytes:
    """Read one head, and nothing after it."""
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        byte = client.recv(1)
        if not byte:
            break
        data += byte
    return data


def rest_of(client: socket.socket) -> bytes:
    """Read until the other side closes."""
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := client.recv(1 << 16):
            data += chunk
    return data


def socks(client: socket.socket, host: str | bytes, port: int, command: int = 1) -> int | None:
    """Ask for a connection with SOCKS5; return the code of the reply, or None if there is none."""
    client.sendall(b"\x05\x01\x00")
    assert exactly(client, 2) == b"\x05\x00"
    client.sendall(socks_request(host, port, command))
    reply = exactly(client, 10)
    return reply[1] if reply else None


def socks_request(host: str | bytes, port: int, command: int = 1) -> bytes:
    """Return a request; an IP address is sent as one, and bytes as a name."""
    for kind, family in ((1, socket.AF_INET), (4, socket.AF_INET6)):
        with contextlib.suppress(OSError, TypeError):
            return bytes((5, command, 0, kind)) + socket.inet_pton(family, host) + struct.pack("!H", port)  # type: ignore[arg-type]
    name = host.encode() if isinstance(host, str) else host
    return bytes((5, command, 0, 3, len(name))) + name + struct.pack("!H", port)


def exactly(client: socket.socket, size: int) -> bytes:
    """Read so many bytes, or fewer if the other side closes."""
    data = b""
    while len(data) < size and (chunk := client.recv(size - len(data))):
        data += chunk
    return data


def recording(verdict: HostVerdict = ALLOWED) -> tuple[list[Any], Callable[[HostRequest], HostVerdict]]:
    """Return a list of requests, and a function that records them and answers with a verdict."""
    requests: list[Any] = []

    def decide(request: HostRequest) -> HostVerdict:
        requests.append((request.host, request.port, request.label, request.uploaded))
        return verdict

    return requests, decide
