"""A real HTTP server on loopback that streams like Anthropic's; for the routes that litellm translates."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes.model_turns import Fault, Request

THOUGHT = {"type": "thinking", "thinking": "Let me see.", "signature": "signed-1"}
HIDDEN = {"type": "redacted_thinking", "data": "secret-2"}
SECOND_THOUGHT = {"type": "thinking", "thinking": "One more thing.", "signature": "signed-3"}


class AnthropicServer:
    """Answers every request with "Hello there" and a call of a tool, or as `fault` and `cut` demand.

    `cut` breaks off "in text", "in call", or stays "silent" after the text. `thinks` is where thinking is sent:
    "first", or also "between" two texts.
    """

    def __init__(self, cut: str = "", fault: Fault | None = None, thinks: str = "", tool: str = "execute_bash") -> None:
        self.cut = cut
        self.thinks = thinks
        self.tool = tool
        self.fault = fault
        self.requests: list[Request] = []
        self.answers: list[list[dict[str, Any]]] = []
        """The blocks of each answer."""
        self.gone = threading.Event()
        """Set when the client closed a silent connection."""

    def answer(self) -> list[dict[str, Any]]:
        """Return the blocks of the next answer; the IDs of its calls are numbered."""
        number = len(self.answers) + 1
        text, call = {"type": "text", "text": "Hello there"}, {"type": "tool_use", "id": f"toolu_{number}"}
        arguments = {"command": "ls"} if self.tool == "execute_bash" else {}
        before = {"": [], "first": [THOUGHT, HIDDEN], "between": [THOUGHT]}[self.thinks]
        between = [SECOND_THOUGHT, {"type": "text", "text": " and here"}] if self.thinks == "between" else []
        self.answers.append([*before, text, *between, {**call, "name": self.tool, "input": arguments}])
        return self.answers[-1]

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
            for event in _events(model.cut, model.answer()):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
            if model.cut == "silent":
                self.connection.settimeout(60)
                if not self.connection.recv(1):
                    model.gone.set()

    def log_message(self, *_: object) -> None:
        """Write nothing to stderr."""


def _events(cut: str, blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 25, "output_tokens": 1, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 5}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**head, "stop_reason": None, "stop_sequence": None}}
    for index, block in enumerate(blocks):
        empty, deltas = _streamed(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        if {"text": "in text", "tool_use": "in call"}.get(block["type"]) == cut:
            return
        if cut == "silent" and block["type"] == "text":
            return
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": "tool_use", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 33}}
    yield {"type": "message_stop"}


def _streamed(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the start of a block and its parts, each text in two pieces."""
    match block["type"]:
        case "text":
            pieces = [{"type": "text_delta", "text": part} for part in _halves(block["text"])]
            return {**block, "text": ""}, pieces
        case "thinking":
            pieces = [{"type": "thinking_delta", "thinking": part} for part in _halves(block["thinking"])]
            return {"type": "thinking", "thinking": ""}, [
                *pieces,
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case "tool_use":
            text = json.dumps(block["input"])
            pieces = [{"type": "input_json_delta", "partial_json": part} for part in _halves(text)]
            return {**block, "input": {}}, pieces
    return block, []


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]
