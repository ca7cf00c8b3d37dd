"""MCP servers over HTTP, in threads of the test: a small one without the SDK that may misbehave, and the SDK's own."""

import asyncio
import gzip
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.sandbox import wait_for

HUGE = 60_000_000
ECHO = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}


@contextmanager
def sse_server() -> Iterator[str]:
    """Run the SDK's own server over SSE, and yield its URL."""
    import uvicorn
    from mcp.server.mcpserver import MCPServer

    app = MCPServer("sse")

    @app.tool()
    def echo(text: str) -> str:
        return f"echo: {text}"

    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app.sse_app(), log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
    thread.start()
    wait_for(lambda: server.started, "the server")
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/sse"
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()


class HttpServer:
    """A server that misbehaves as `mode` says; `requests` holds (method, path, headers) of every request received."""

    def __init__(self, mode: str = "", target: str = "") -> None:
        self.mode = mode
        self.target = target
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.sessions = 0
        self.left = 0  # answers that were not read to their end
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                server.answer(self)

            def do_GET(self) -> None:
                server.note(self)
                server.got(self)

            def do_DELETE(self) -> None:
                server.note(self)
                server.send(self, 200)

            def log_message(self, *words: Any) -> None:
                """Write nothing to stderr."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/mcp"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.mode = "gone"
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def note(self, handler: BaseHTTPRequestHandler) -> None:
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.requests.append((handler.command, handler.path, headers))

    def send(self, handler: BaseHTTPRequestHandler, code: int, body: Any = None, **headers: str) -> None:
        self.send_body(
            handler, code, json.dumps(body).encode() if body is not None else b"", "application/json", headers
        )

    def send_body(
        self, handler: BaseHTTPRequestHandler, code: int, body: bytes, kind: str, headers: dict[str, str]
    ) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def got(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a GET: there is no stream to listen to."""
        self.send(handler, 405)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.note(handler)
        if self.mode == "gone":
            handler.close_connection = True
            return None
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        if self.mode in ("401", "403", "500"):
            return self.send(handler, int(self.mode))
        if self.mode == "redirect":
            return self.send(handler, 307, Location=self.target)
        lost = handler.headers.get("Mcp-Session-Id") not in (None, str(self.sessions))
        if lost or "id" not in request:
            return self.send(handler, 404 if lost else 202)
        method, more = request["method"], {}
        if method == "initialize":
            self.sessions += 1
            more = {"Mcp_Session_Id": str(self.sessions)}
        response = {"jsonrpc": "2.0", "id": request["id"], "result": self._result(method, request)}
        way = str((request.get("params") or {}).get("arguments", {}).get("text", "")).rpartition(" ")[2]
        self.send_as(handler, response, way, more)
        return None

    def send_as(self, handler: BaseHTTPRequestHandler, payload: Any, way: str, more: dict[str, str]) -> None:
        """Send the payload as JSON, as `events`, or `packed`."""
        body = json.dumps(payload).encode()
        kind = "application/json"
        if way == "events":
            body, kind = b"event: message\r\ndata: " + body + b"\r\n\r\n", "text/event-stream"
        if way == "packed":
            body, more = gzip.compress(body), {**more, "Content_Encoding": "gzip"}
        try:
            self.send_body(handler, 200, body, kind, more)
        except ConnectionError:
            self.left += 1
            handler.close_connection = True

    def _result(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        params = request.get("params") or {}
        if method == "initialize":
            info = {"name": "web", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        if method == "tools/list":
            return {"tools": [ECHO]}
        words = str(params["arguments"].get("text"))
        return {"content": [{"type": "text", "text": f"echo: {words}" + "x" * HUGE * words.startswith("huge")}]}
