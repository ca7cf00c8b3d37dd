"""A real HTTP server on loopback that streams like an OpenAI-compatible one, also its faults.

In tests: `with ModelServer([Say("hello"), Call("think", {"thought": "…"})]) as server: …  server.base_url`.
By hand: `python -m tests.fakes.model_server --port 8001 --script turns.json`, where the file holds a list of turns such
as `{"text": "…", "calls": [{"name": "execute_bash", "arguments": {"command": "ls"}}]}` (see `turn_from_json`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias

from tests.fakes.model_turns import Fault, Reply, Request, ScriptTurn, Turn, turn_from_json
from tests.fakes.openai_chunks import chunks_of, frame

Script: TypeAlias = Iterable[ScriptTurn]


@dataclass
class ModelServer:
    """Plays one turn for each request; after the last it answers that none is left. `requests` is the record.

    With a `key`, requests without it are rejected, and recorded in `rejected` instead. `names` are the models it lists.
    """

    script: Script = ()
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    repeat_last: bool = False
    key: str = ""
    names: Sequence[str] = ()
    rejected: list[str] = field(default_factory=list)
    opened: list[Request] = field(default_factory=list)
    """Requests without a body, by which clients open a connection early."""
    answers_head: bool = True
    on_moment: Callable[[str], object] = lambda moment: None
    """Called with "asked" when a request begins to arrive and "answered" when its answer has been sent."""

    def __post_init__(self) -> None:
        self._turns = list(self.script)
        self._lock = threading.Lock()
        self._played = 0
        self._stalled = threading.Event()
        self.arrived = threading.Event()
        """Set when a request came."""
        self.gone = threading.Event()
        """Set when a client closed its connection in the middle of an answer."""

    def __enter__(self) -> ModelServer:
        self._http = _Http(("127.0.0.1", self.port), _Handler)
        self._http.model = self
        self.port = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stalled.set()
        self._http.shutdown()
        self._http.close_all()
        self._http.server_close()
        self._thread.join(10)

    @property
    def base_url(self) -> str:
        """The address to give as --api-base."""
        return f"http://127.0.0.1:{self.port}/v1"

    def answer(self, request: Request) -> Reply | Fault:
        """Return the turn for this request."""
        with self._lock:
            self.requests.append(request)
            turn = self._next()
            self.arrived.set()
        return turn(request) if callable(turn) else turn

    def _next(self) -> ScriptTurn:
        if self._played < len(self._turns):
            self._played += 1
            return self._turns[self._played - 1]
        return self._turns[-1] if self.repeat_last and self._turns else Turn("The script of this server is over.")

    def stall(self) -> None:
        """Hold a connection open until the server is closed."""
        self._stalled.wait(60)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    model: ModelServer

    def __init__(self, address: tuple[str, int], handler: Callable[..., BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def close_all(self) -> None:
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Http

    def do_HEAD(self) -> None:
        model = self.server.model
        model.opened.append(Request(self.path, dict(self.headers.items()), {}, self._sender))
        if model.answers_head:
            self.send_response(404)
            self.send_header("content-length", "0")
            self.end_headers()
            self.wfile.flush()
        else:
            model.stall()

    def do_GET(self) -> None:
        if self._is_allowed():
            self._json(200, {}, {"object": "list", "data": [{"id": name} for name in self.server.model.names]})

    @property
    def _sender(self) -> str:
        return f"{self.client_address[0]}:{self.client_address[1]}"

    def _is_allowed(self) -> bool:
        """Whether the request has the key; if not, it has been answered."""
        sent, key = self.headers.get("authorization", ""), self.server.model.key
        if not key or sent == f"Bearer {key}":
            return True
        self.server.model.rejected.append(sent)
        self._json(401, {}, {"error": {"message": "Incorrect API key provided.", "code": "invalid_api_key"}})
        return False

    def do_POST(self) -> None:
        self.server.model.on_moment("asked")
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self._is_allowed():
            return
        request = Request(self.path, dict(self.headers.items()), json.loads(body), self._sender)
        turn = self.server.model.answer(request)
        try:
            if isinstance(turn, Fault):
                self._fail(turn)
            else:
                self._stream(turn)
                self.server.model.on_moment("answered")
        except OSError:
            self.server.model.gone.set()
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Write nothing to stderr."""

    def _fail(self, fault: Fault) -> None:
        if fault.kind == "silent":
            self.server.model.stall()
            self.close_connection = True
        elif fault.kind == "hang up":
            self._reset()
        else:
            self._body(fault.status, fault.headers, fault.raw or json.dumps({"error": fault.error}).encode())

    def _json(self, status: int, headers: dict[str, str], content: dict[str, Any]) -> None:
        self._body(status, headers, json.dumps(content).encode())

    def _body(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def _stream(self, turn: Reply) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, chunk in enumerate(chunks_of(turn)):
            if turn.cut_after is not None and number >= turn.cut_after:
                self.wfile.flush()
                return self._break_off(turn)
            self._send(frame(chunk))
            if turn.pause:
                self.wfile.flush()
                self.server.model._stalled.wait(turn.pause)
        self._send(b"data: [DONE]\n\n" if turn.done else b"")
        self._send(None)
        self.wfile.flush()
        return None

    def _send(self, data: bytes | None) -> None:
        if data is None:
            self.wfile.write(b"0\r\n\r\n")
        elif data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _break_off(self, turn: Reply) -> None:
        if turn.then == "stall":
            self._wait_for_client()
        else:
            self._reset()

    def _wait_for_client(self) -> None:
        """Send nothing more; notice when the client closes."""
        with contextlib.suppress(OSError):
            self.connection.settimeout(60)
            if not self.connection.recv(1):
                self.server.model.gone.set()
        self.close_connection = True

    def _reset(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a script until interrupted; prints the address on the first line."""
    parser = argparse.ArgumentParser(description="A fake model server on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, required=True, help="a JSON file with a list of turns")
    parser.add_argument("--times", type=Path, help="a file for one line a moment: asked or answered, and seconds")
    options = parser.parse_args(arguments)
    turns = [turn_from_json(entry) for entry in json.loads(options.script.read_text())]
    with contextlib.ExitStack() as stack:
        server = ModelServer(turns, port=options.port)
        if options.times:
            lines = stack.enter_context(options.times.open("w", buffering=1))
            server.on_moment = lambda moment: lines.write(f"{moment} {time.monotonic()}\n")
        stack.enter_context(server)
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
