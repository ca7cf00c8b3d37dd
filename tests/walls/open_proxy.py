"""A proxy that refuses nothing, for HTTP and SOCKS5: it shows that the escapes by a proxy work where it is careless."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
from collections.abc import Iterator

TIMEOUT = 5.0
LOOPBACK_NAME = "loopback.walls.example"
"""A name that a hostile name server resolves to 127.0.0.1."""


@contextlib.contextmanager
def serve() -> Iterator[int]:
    """Answer on the port that is yielded."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_accept, args=(listener,))
        thread.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _accept(listener: socket.socket) -> None:
    """Answer one client after the other until the listener is shut down."""
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            with client, contextlib.suppress(OSError):
                client.settimeout(TIMEOUT)
                _answer(client)


def _answer(client: socket.socket) -> None:
    request = client.recv(4096)
    if request[:1] == b"\x05":
        host, port = _socks(client)
        first = b""
    else:
        host, port, first = _http(request.decode("latin-1"))
    host = "127.0.0.1" if host == LOOPBACK_NAME else host
    with socket.create_connection((host, port), timeout=TIMEOUT) as target:
        if first:
            target.sendall(first)
            return
        client.sendall(b"\x05\x00\x00\x01" + bytes(6) if request[:1] == b"\x05" else b"HTTP/1.1 200 OK\r\n\r\n")
        target.sendall(client.recv(4096))


def _http(request: str) -> tuple[str, int, bytes]:
    """Return host and port, and what is sent at once for a request without a tunnel."""
    match = re.match(r"(CONNECT |GET http://)\[?([^/\s]*?)\]?:(\d+)(?=[/\s])(\S*)", request)
    if not match:
        raise OSError("this is no request")
    first = b"" if match[1] == "CONNECT " else f"GET {match[4]} HTTP/1.1\r\n\r\n".encode()
    return match[2], int(match[3]), first


def _socks(client: socket.socket) -> tuple[str, int]:
    client.sendall(b"\x05\x00")
    request = client.recv(4096)
    port = struct.unpack("!H", request[-2:])[0]
    kind, rest = request[3], request[4:-2]
    if kind == 1:
        return socket.inet_ntoa(rest), port
    if kind == 4:
        return socket.inet_ntop(socket.AF_INET6, rest), port
    return rest[1:].split(b"\0")[0].decode(), port
