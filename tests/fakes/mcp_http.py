"""A small MCP server over HTTP without the SDK, in threads of the test; it may misbehave as `mode` says."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

ECHO = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}


class HttpServer:
    """`requests` holds (method, path, headers) of all that came."""

    def __init__(self, mode: str = "", target: str = "") -> None:
        self.mode = mode
        self.target = target
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.sessions = 0
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
                """Silent."""

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

    def send(self, handler: BaseHTTPRequestHandler, code: int, told: Any = None, **headers: str) -> None:
        body = json.dumps(told).encode() if told is not None else b""
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def got(self, handler: BaseHTTPRequestHandler) -> None:
        """A GET: there is nothing to listen to."""
        self.send(handler, 405)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.note(handler)
        if self.mode == "gone":
            handler.close_connection = True
            return None
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        if self.mode == "401":
            return self.send(handler, 401)
        if self.mode == "redirect":
            return self.send(handler, 307, Location=self.target)
        lost = handler.headers.get("Mcp-Session-Id") not in (None, str(self.sessions))
        if lost or "id" not in request:
            return self.send(handler, 404 if lost else 202)
        method, more = request["method"], {}
        if method == "initialize":
            self.sessions += 1
            more = {"Mcp_Session_Id": str(self.sessions)}
        self.send(
            handler, 200, {"jsonrpc": "2.0", "id": request["id"], "result": self._result(method, request)}, **more
        )
        return None

    def _result(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        params = request.get("params") or {}
        if method == "initialize":
            info = {"name": "web", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        if method == "tools/list":
            return {"tools": [ECHO]}
        return {"content": [{"type": "text", "text": f"echo: {params['arguments'].get('text')}"}]}
