"""Opens the socket of the server, and explains errors."""

from __future__ import annotations

import errno
import socket

from workbench.errors import UsageError


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the host and port. Raises UsageError with advice."""
    try:
        family, _, _, _, endpoint = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(endpoint[:2], family=family)
    except (socket.gaierror, UnicodeError):
        raise UsageError(f"--host: there is no host {host}; give a name or address of this machine") from None
    except OSError as error:
        raise UsageError(_problem(host, port, error)) from error


def _problem(host: str, port: int, error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"port {port} is in use; --port 0 takes a free one"
        case errno.EADDRNOTAVAIL:
            return f"--host: {host} is not an address of this machine; without --host only this machine can connect"
        case errno.EACCES | errno.EPERM:
            return f"only root may listen on port {port}; use one from 1024, or --port 0 for a free one"
        case _:
            return f"cannot listen on {host}, port {port}: {error.strerror}; --port 0 takes a free port"
