"""A real HTTP server on loopback that streams in the form of any provider, whole or cut at a byte; used by tests."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes.model_turns import Fault, Request, Turn
from tests.fakes.provider_streams import CONTENT_TYPES, Encoder


class WireServer:
    """Answers every request with `turn` in the form of `encoder`, or with a fault or a redirect.

    `cut` is the number of bytes after which the body ends: cleanly, so that only the format itself shows the cut, or
    with a reset if `resets`. `requests` holds the requests received. With `keeps_alive`, several requests may come over
    a connection.
    """

    def __init__(
        self,
        encoder: Encoder,
        turn: Turn | Fault,
        *,
        cut: int | None = None,
        resets: bool = False,
        keeps_alive: bool = False,
    ) -> None:
        self.encoder = encoder
        self.turn = turn
        self.cut = cut
        self.resets = resets
        self.keeps_alive = keeps_alive
        self.frames: list[bytes] = []
        """The frames of the answer, where they are not those of the encoder."""
        self.is_silent = False
        """Whether it does not even begin to answer, but waits for the client to close."""
        self.holds_open = False
        """Whether it waits for the client to close instead of ending the answer."""
        self.gone = threading.Event()
        """Set when a client closed the connection before the end of the answer."""
        self.redirect: tuple[int, str] | None = None
        """A status and a `location` to send in place of an answer; the path `/moved` has an answer."""
        self.requests: list[Request] = []

    def __enter__(self) -> WireServer:
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.wire = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)

    @property
    def base_url(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def body(self) -> bytes:
        """The whole answer as it goes over the wire."""
        return b"".join(self.frames or self.encoder(self.turn)) if isinstance(self.turn, Turn) else b""


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    wire: WireServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.protocol_version = "HTTP/1.1" if self.server.wire.keeps_alive else "HTTP/1.0"

    def do_GET(self) -> None:
        """End a redirect that turned a POST into a GET."""
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}"))

    def _answer(self, body: dict[str, Any]) -> None:
        wire = self.server.wire
        # litellm asks Ollama about the model from another thread.
        if self.path == "/api/show":
            self._head(200, {"content-type": "application/json", "content-length": "2"})
            self.wfile.write(b"{}")
            return
        wire.requests.append(Request(self.path, dict(self.headers.items()), body, f"{self.client_address[1]}"))
        try:
            if wire.redirect and self.path != "/moved":
                self._head(wire.redirect[0], {"location": wire.redirect[1], "content-length": "0"})
            elif isinstance(wire.turn, Fault):
                self._head(wire.turn.status, {"content-type": "application/json", **wire.turn.headers})
                self.wfile.write(wire.turn.raw or json.dumps({"error": wire.turn.error}).encode())
            else:
                self._stream(wire)
                if wire.resets:
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except ConnectionError:
            wire.gone.set()

    def _stream(self, wire: WireServer) -> None:
        if wire.is_silent:
            return self._wait_for_client(wire)
        chunked = {"transfer-encoding": "chunked"} if wire.keeps_alive else {}
        self._head(200, {"content-type": CONTENT_TYPES.get(wire.encoder, "text/event-stream"), **chunked})
        body = wire.body[: wire.cut]
        self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body) if wire.keeps_alive and body else body)
        if wire.holds_open:
            return self._wait_for_client(wire)
        self.wfile.write(b"0\r\n\r\n" if wire.keeps_alive else b"")
        return None

    def _wait_for_client(self, wire: WireServer) -> None:
        self.connection.settimeout(60)
        with contextlib.suppress(ConnectionError):
            self.connection.recv(1)
        wire.gone.set()
        self.close_connection = True

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Write nothing to stderr."""
