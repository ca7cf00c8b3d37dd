"""A web site on loopback: pages by their path, set by the tests; also slow, endless and broken ones."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeAlias

Page: TypeAlias = "Callable[[Visit], object]"
CERTIFICATE = Path(__file__).with_name("localhost.pem")
"""Signed by itself, for the name localhost."""


@dataclass
class Visit:
    """One request, with methods to answer it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    handler: BaseHTTPRequestHandler
    over: threading.Event

    def answer(self, body: bytes, kind: str = "text/html; charset=utf-8", status: int = 200, **headers: str) -> None:
        self.begin(kind, status, **{"content_length": str(len(body)), **headers})
        self.send(body)

    def begin(self, kind: str, status: int = 200, **headers: str) -> None:
        self.handler.send_response(status)
        for name, value in {"content_type": kind, **headers}.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()

    def send(self, data: bytes) -> None:
        self.handler.wfile.write(data)

    def send_on(self, target: str, status: int = 302) -> None:
        self.answer(b"", status=status, location=target)

    def hold(self) -> None:
        """Send nothing more until the site closes."""
        self.over.wait(60)


@dataclass
class Site:
    """`pages` by path; `visits` records the requests."""

    pages: dict[str, Page] = field(default_factory=dict)
    address: str = "127.0.0.1"
    tls: bool = False
    port: int = 0
    visits: list[Visit] = field(default_factory=list)

    def __enter__(self) -> Site:
        self.over = threading.Event()
        self.arrived = threading.Event()
        self._http = _Server((self.address, self.port), _Handler)
        self._http.site = self
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self.port = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def url(self, path: str = "/", host: str = "") -> str:
        return f"{'https' if self.tls else 'http'}://{host or self.address}:{self.port}{path}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    site: Site

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the errors of clients that hang up: the tests cause them on purpose."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.0"

    def _visit(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        site = self.server.site
        visit = Visit(self.command, self.path, headers, self.rfile.read(length), self, site.over)
        site.visits.append(visit)
        site.arrived.set()
        page = site.pages.get(self.path.partition("?")[0])
        if page is None:
            visit.answer(b"<h1>Nothing here</h1>", status=404)
        else:
            page(visit)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _visit

    def log_message(self, *_: object) -> None:
        """Write nothing to stderr."""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
