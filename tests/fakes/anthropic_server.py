"""A real HTTP server on loopback that streams like Anthropic's; for the routes that litellm translates."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes.model_turns import Fault, Request


class AnthropicServer:
    """Answers every request with "Hello there" and a call of `execute_bash`, or as `fault` and `cut` demand.

    `cut` breaks off "in text", "in call", or stays "silent" after the text; with `thinks` it sends reasoning first.
    """

    def __init__(self, cut: str = "", fault: Fault | None = None, thinks: bool = False) -> None:
        self.cut = cut
        self.thinks = thinks
        self.fault = fault
        self.requests: list[Request] = []
        self.gone = threading.Event()
        """Set when the client closed a silent connection."""

    def __enter__(self) -> AnthropicServer:
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.model = self
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    model: AnthropicServer


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def do_POST(self) -> None:
        model = self.server.model
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        model.requests.append(Request(self.path, dict(self.headers.items()), body))
        fault = model.fault
        self.send_response(fault.status if fault else 200)
        self.send_header("content-type", "application/json" if fault else "text/event-stream")
        self.end_headers()
        with contextlib.suppress(OSError):
            if fault:
                error = {"type": "error", "error": {"type": fault.code, "message": fault.message}}
                self.wfile.write(json.dumps(error).encode())
                return
            for event in _events(model.cut, model.thinks):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
            if model.cut == "silent":
                self.connection.settimeout(60)
                if not self.connection.recv(1):
                    model.gone.set()

    def log_message(self, *_: object) -> None:
        """Write nothing to stderr."""


def _events(cut: str, thinks: bool) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 25, "output_tokens": 1, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 5}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**head, "stop_reason": None, "stop_sequence": None}}
    first = 0
    if thinks:
        yield from _thinking()
        first = 2
    yield {"type": "content_block_start", "index": first, "content_block": {"type": "text", "text": ""}}
    for part in ("Hello ", "there"):
        yield {"type": "content_block_delta", "index": first, "delta": {"type": "text_delta", "text": part}}
    if cut in ("in text", "silent"):
        return
    yield {"type": "content_block_stop", "index": first}
    block = {"type": "tool_use", "id": "toolu_1", "name": "execute_bash", "input": {}}
    yield {"type": "content_block_start", "index": first + 1, "content_block": block}
    for part in ('{"comm', 'and": "ls"}'):
        yield {
            "type": "content_block_delta",
            "index": first + 1,
            "delta": {"type": "input_json_delta", "partial_json": part},
        }
    if cut == "in call":
        return
    yield {"type": "content_block_stop", "index": first + 1}
    stop = {"stop_reason": "tool_use", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 33}}
    yield {"type": "message_stop"}


def _thinking() -> Iterator[dict[str, Any]]:
    """Yield a reasoning block in two pieces with its signature, and a redacted one."""
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}
    for part in ("Let me ", "see."):
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": part}}
    signed = {"type": "signature_delta", "signature": "signed-1"}
    yield {"type": "content_block_delta", "index": 0, "delta": signed}
    yield {"type": "content_block_stop", "index": 0}
    hidden = {"type": "redacted_thinking", "data": "secret-2"}
    yield {"type": "content_block_start", "index": 1, "content_block": hidden}
    yield {"type": "content_block_stop", "index": 1}
