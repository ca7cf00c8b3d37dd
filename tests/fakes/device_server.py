"""GitHub's device flow on loopback: a code, then one answer of a script for each request for the token."""

import json
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.fakes.mcp_http import HttpServer


class DeviceServer(HttpServer):
    """`script` holds the errors that are answered before the token; the last one stays if it is no pending one."""

    def __init__(self, *script: str, code: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.script = list(script)
        self.polls: list[dict[str, Any]] = []
        self.codes = 0
        self._code = {"user_code": "ABCD-1234", "verification_uri": "https://github.com/login/device"} | {
            "device_code": "dev1",
            "interval": 0.01,
            "expires_in": 900,
        }
        self._code |= code or {}

    @property
    def env(self) -> dict[str, str]:
        base = self.url.removesuffix("/mcp")
        return {
            "GITHUB_COPILOT_DEVICE_CODE_URL": f"{base}/code",
            "GITHUB_COPILOT_ACCESS_TOKEN_URL": f"{base}/token",
        }

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        if handler.path == "/code":
            self.codes += 1
            self.send(handler, 200, self._code)
            return
        self.polls.append(body)
        error = self.script.pop(0) if self.script else ""
        self.send(handler, 200, {"error": error} if error else {"access_token": "gho_secret"})
