"""Where the browser comes back to after a sign-in: a port of this machine that takes one answer; used by `login`."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from workbench.errors import UsageError
from workbench.mcp.config import ServerConfig, expanded
from workbench.mcp.errors import ServerFailed, http_words, words_of
from workbench.mcp.tokens import SignIn, TokenStore
from workbench.processes.start import open_in_browser

PATH = "/callback"
_LONGEST_HEAD = 1 << 16
_PATIENCE = 10.0
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>ohw</title>"
    "<body style='font: 1.1em sans-serif; margin: 4em'>{}<p>You can close this page and go back to the terminal."
)


@dataclass(frozen=True)
class RedirectAnswer:
    """What the browser brought: a code, or why there is none."""

    code: str = ""
    state: str = ""
    issuer: str | None = None
    error: str = ""


class Loopback:
    """Listens while it is entered; anything but the answer gets a 404."""

    def __init__(self, port: int = 0) -> None:
        """Raises OSError where the port is taken."""
        self._socket = socket.create_server(("127.0.0.1", port))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}{PATH}"
        """Where the browser is to be sent."""
        self._server: asyncio.Server | None = None
        self._answer: asyncio.Future[RedirectAnswer] | None = None

    async def __aenter__(self) -> Self:
        self._answer = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._serve, sock=self._socket, limit=_LONGEST_HEAD)
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def answer(self) -> RedirectAnswer:
        """Wait for it."""
        assert self._answer is not None
        return await self._answer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PATIENCE)
            writer.write(self._reply(head.split(b"\r\n", 1)[0].decode("latin-1")))
            await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        finally:
            writer.close()

    def _reply(self, line: str) -> bytes:
        method, _, rest = line.partition(" ")
        parts = urlsplit(rest.partition(" ")[0])
        told = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if method != "GET" or parts.path != PATH or not (told.get("code") or told.get("error")):
            return _page("404 Not Found", "<h1>Nothing here</h1>")
        found = RedirectAnswer(told.get("code", ""), told.get("state", ""), told.get("iss"), told.get("error", ""))
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(found)
        return _page("200 OK", "<h1>The sign-in was refused.</h1>" if found.error else "<h1>You are signed in.</h1>")


def _page(status: str, text: str) -> bytes:
    body = _PAGE.format(text).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\nReferrer-Policy: no-referrer\r\n\r\n".encode() + body


PATIENCE = 600.0
"""Seconds for the person to sign in."""
_HTTP_SECONDS = 30.0
_OWN = ("localhost", "127.0.0.1", "::1")
Say = Callable[[str], None]


def login(store: TokenStore, server: ServerConfig, say: Say, *, opens_browser: bool = False) -> None:
    """Sign in and keep what comes of it; raises UsageError or ServerFailed."""
    if server.kind == "stdio":
        raise UsageError(f"{server.name} runs on this machine; only servers with an address have a sign-in")
    try:
        sign_in = asyncio.run(_within_time(_Attempt(store, server, say, opens_browser)))
    except _sdk_errors() as error:
        raise ServerFailed(f"no sign-in at {server.name}: {words_of(error, server.name)}") from error
    say(f"Signed in at {server.name}. The sign-in is kept in {store.write(sign_in)}.")


def _sdk_errors() -> tuple[type[Exception], ...]:
    """What is raised for what the server sent."""
    import httpx2
    from mcp.client.auth import OAuthFlowError

    return OAuthFlowError, httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError


def logout(store: TokenStore, server: ServerConfig, say: Say) -> None:
    """Forget the sign-in."""
    was_there = store.forget()
    say(f"The sign-in at {server.name} is forgotten." if was_there else f"There is no sign-in at {server.name}.")


async def _within_time(attempt: _Attempt) -> SignIn:
    try:
        async with asyncio.timeout(PATIENCE):
            return await attempt.made()
    except TimeoutError:
        raise ServerFailed(f"nobody signed in within {PATIENCE / 60:g} minutes") from None


@dataclass
class _Memory:
    """What the SDK wants for a store: the client it was registered as, and nothing else from before."""

    client: Any = None

    async def get_tokens(self) -> None:
        return None

    async def set_tokens(self, tokens: Any) -> None:
        """They are taken from its context at the end."""

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


class _Attempt:
    """One sign-in."""

    def __init__(self, store: TokenStore, server: ServerConfig, say: Say, opens_browser: bool) -> None:
        self._server = server
        self._say = say
        self._opens_browser = opens_browser
        self._url = expanded(server.url, os.environ)
        self._known = store.read()
        self._provider: Any = None
        logging.getLogger("mcp").addHandler(logging.NullHandler())  # its errors come back as exceptions

    async def made(self) -> SignIn:
        """What came of it; raises whatever the SDK raises."""
        from mcp.client.auth import OAuthClientProvider
        from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

        _check_secret(self._url)
        listener, is_same = self._listener()
        async with listener:

            async def came_back() -> AuthorizationCodeResult:
                found = await listener.answer()
                if found.error:
                    raise ServerFailed(f"the sign-in at {self._server.name} was refused ({found.error})")
                return AuthorizationCodeResult(code=found.code, state=found.state, iss=found.issuer)

            about = OAuthClientMetadata.model_validate({"redirect_uris": [listener.address], "client_name": "ohw"})
            memory = _Memory(self._client(listener.address, is_same))
            self._provider = OAuthClientProvider(self._url, about, memory, self._shown, came_back)
            status, reason = await self._asked()
        if self._provider.context.current_tokens is None:
            if status < 400:
                raise UsageError(f"{self._server.name} wants no sign-in")
            raise ServerFailed(f"no sign-in at {self._server.name}: {http_words(status, reason)}")
        return self._kept(listener.address)

    def _listener(self) -> tuple[Loopback, bool]:
        """Where the browser comes back to: the same place as last time, since the server may know only that."""
        port = self._server.oauth.get("callbackPort") or (urlsplit(self._known.redirect).port if self._known else 0)
        try:
            found = Loopback(port or 0)
        except OSError as error:
            if "callbackPort" in self._server.oauth:
                raise UsageError(f"the port {port} (callbackPort) is taken: {error.strerror}") from error
            found = Loopback()
        return found, self._known is not None and found.address == self._known.redirect

    def _client(self, redirect: str, is_same: bool) -> Any:
        """Who we are to the server, where that is settled already."""
        from mcp.shared.auth import OAuthClientInformationFull

        told: dict[str, Any] = {}
        if self._server.oauth.get("clientId"):
            secret = expanded(self._server.oauth.get("clientSecret", ""), os.environ)
            way = "client_secret_post" if secret else "none"
            told = {"client_id": self._server.oauth["clientId"], "client_secret": secret, "way": way, "issuer": ""}
        elif self._known and is_same and self._known.client_id:
            known = self._known
            told = {"client_id": known.client_id, "client_secret": known.client_secret, "issuer": known.issuer}
            told["way"] = known.client_auth
        if not told:
            return None
        told["token_endpoint_auth_method"] = told.pop("way")
        return OAuthClientInformationFull.model_validate({**told, "redirect_uris": [redirect]})

    async def _shown(self, address: str) -> None:
        """The person's part: the address to sign in at."""
        metadata = self._provider.context.oauth_metadata
        for url in (address, str(metadata.token_endpoint) if metadata else self._url):
            _check_secret(url)
        self._say(f"Sign in at {self._server.name} with your browser:\n\n{address}\n")
        if self._opens_browser and not await asyncio.to_thread(open_in_browser, address):
            self._say("No browser could be opened from here; open the address yourself.")
        self._say(f"Waiting for that, {PATIENCE / 60:g} minutes at most (ctrl+c gives up) …")

    async def _asked(self) -> tuple[int, str]:
        """A first request under the provider, which signs in where the server wants it."""
        import httpx2

        method, hello = ("GET", None) if self._server.kind == "sse" else ("POST", _hello())
        accept = "text/event-stream" if method == "GET" else "application/json, text/event-stream"
        headers = {"Accept": accept, **_version()}
        async with (
            httpx2.AsyncClient(auth=self._provider, timeout=_HTTP_SECONDS) as client,
            client.stream(method, self._url, headers=headers, json=hello) as answer,
        ):
            return answer.status_code, answer.reason_phrase

    def _kept(self, redirect: str) -> SignIn:
        context = self._provider.context
        tokens, client = context.current_tokens, context.client_info
        return SignIn(
            access=tokens.access_token,
            refresh=tokens.refresh_token or "",
            until=context.token_expiry_time,
            token_url=_token_url(context, self._url),
            resource=context.get_resource_url() if context.protected_resource_metadata else "",
            client_id=client.client_id,
            client_secret=client.client_secret or "",
            client_auth=client.token_endpoint_auth_method or "none",
            redirect=redirect,
            issuer=client.issuer or "",
        )


def _token_url(context: Any, url: str) -> str:
    if context.oauth_metadata and context.oauth_metadata.token_endpoint:
        return str(context.oauth_metadata.token_endpoint)
    return f"{context.get_authorization_base_url(url)}/token"


def _check_secret(url: str) -> None:
    """Raises UsageError for an address at which a token could be read on its way."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _OWN:
        raise UsageError(f"a token would go unencrypted to {parts.hostname}: a sign-in needs https://")


def _hello() -> Mapping[str, Any]:
    from workbench import __version__

    params = {
        "protocolVersion": _version()["MCP-Protocol-Version"],
        "capabilities": {},
        "clientInfo": {"name": "ohw", "version": __version__},
    }
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def _version() -> dict[str, str]:
    return {"MCP-Protocol-Version": "2025-06-18"}
