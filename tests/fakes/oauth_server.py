"""An MCP server over HTTP that requires a sign-in, and issues the tokens: RFC 9728, 8414, 7591, 7636 and 6749."""

import base64
import hashlib
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.fakes.mcp_http import HttpServer


class OAuthServer(HttpServer):
    """`mode`: "denied" (the user refuses), "down" (no token is renewed), "over" (renewing is refused)."""

    def __init__(self, mode: str = "", seconds: int | None = 3600) -> None:
        super().__init__(mode)
        self.seconds = seconds
        self.clients: dict[str, list[str]] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.access: set[str] = set()
        self.refresh: set[str] = set()
        self.asked: list[dict[str, str]] = []
        """The requests to the token endpoint."""
        self._count = 0
        self._lock = threading.Lock()

    @property
    def base(self) -> str:
        return self.url.removesuffix("/mcp")

    def got(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        parameters = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path.startswith("/.well-known/oauth-protected-resource"):
            self.send(handler, 200, {"resource": self.url, "authorization_servers": [self.base]})
        elif parts.path.startswith("/.well-known/oauth-authorization-server"):
            self.send(handler, 200, self._metadata())
        elif parts.path == "/authorize":
            self._authorize(handler, parameters)
        else:
            self.send(handler, 405)

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.base,
            "authorization_endpoint": f"{self.base}/authorize",
            "token_endpoint": f"{self.base}/give",
            "registration_endpoint": f"{self.base}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }

    def _authorize(self, handler: BaseHTTPRequestHandler, parameters: dict[str, str]) -> None:
        """Act as a user with a browser who agrees at once."""
        known = parameters["redirect_uri"] in self.clients.get(parameters["client_id"], ())
        if not known or parameters["code_challenge_method"] != "S256" or parameters["response_type"] != "code":
            self.send(handler, 400)
            return
        back = {"error": "access_denied"} if self.mode == "denied" else {"code": self._made("code")}
        if "code" in back:
            self.codes[back["code"]] = parameters
        self.send(
            handler, 302, Location=f"{parameters['redirect_uri']}?{urlencode({**back, 'state': parameters['state']})}"
        )

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/mcp":
            signed = handler.headers.get("Authorization", "").removeprefix("Bearer ") in self.access
            if signed or self.mode == "gone":
                super().answer(handler)
            else:
                self.note(handler)
                self._body(handler)
                where = f'Bearer resource_metadata="{self.base}/.well-known/oauth-protected-resource/mcp"'
                self.send(handler, 401, WWW_Authenticate=where)
            return
        self.note(handler)
        if handler.path == "/register":
            self._register(handler)
        else:
            parameters = {name: values[0] for name, values in parse_qs(self._body(handler).decode()).items()}
            self.asked.append(parameters)
            code, response = self._given(parameters)
            self.send(handler, code, response)

    def _register(self, handler: BaseHTTPRequestHandler) -> None:
        import json

        parameters = json.loads(self._body(handler))
        name = self._made("client")
        self.clients[name] = parameters["redirect_uris"]
        self.send(handler, 201, {**parameters, "client_id": name, "token_endpoint_auth_method": "none"})

    def _given(self, parameters: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if parameters["grant_type"] == "authorization_code":
            asked = self.codes.pop(parameters["code"], {})
            digest = hashlib.sha256(parameters["code_verifier"].encode()).digest()
            proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if asked.get("code_challenge") != proof or asked["redirect_uri"] != parameters["redirect_uri"]:
                return 400, {"error": "invalid_grant"}
        elif self.mode == "down":
            return 503, {}
        elif self.mode == "over" or parameters["refresh_token"] not in self.refresh:
            return 400, {"error": "invalid_grant"}
        else:
            self.refresh.discard(parameters["refresh_token"])  # each is valid once
        access, refresh = self._made("access"), self._made("refresh")
        self.access.add(access)
        self.refresh.add(refresh)
        times = {} if self.seconds is None else {"expires_in": self.seconds}
        return 200, {"access_token": access, "token_type": "bearer", "refresh_token": refresh, **times}

    def _made(self, what: str) -> str:
        with self._lock:
            self._count += 1
            return f"{what}-4711-{self._count:03d}-abcdef"

    @staticmethod
    def _body(handler: BaseHTTPRequestHandler) -> bytes:
        return handler.rfile.read(int(handler.headers["Content-Length"]))
