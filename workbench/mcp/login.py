"""OAuth sign-in to MCP servers: the flow, and the loopback listener that receives the browser's redirect."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import httpx2

from workbench import __version__
from workbench.errors import UsageError
from workbench.mcp.config import ServerConfig, expanded
from workbench.mcp.errors import ServerFailed, http_words, words_of
from workbench.mcp.token_store import SignIn, TokenStore
from workbench.processes.browser import open_in_browser

PATH = "/callback"
_LONGEST_HEAD = 1 << 16
_PATIENCE = 10.0
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>ohw</title>"
    "<body style='font: 1.1em sans-serif; margin: 4em'>{}<p>You can close this page and go back to the terminal."
)


@dataclass(frozen=True)
class RedirectAnswer:
    """The parameters of the browser's redirect: a code or an error."""

    code: str = ""
    state: str = ""
    issuer: str | None = None
    error: str = ""


class Loopback:
    """Listens on a port of this machine for one redirect; any other request gets a 404."""

    def __init__(self, port: int = 0) -> None:
        """Bind the port, or any free one if it is 0. Raises OSError if the port is in use."""
        self._socket = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}{PATH}"
        """The redirect URL."""
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
        """Wait for the redirect and return its parameters."""
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
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if method != "GET" or parts.path != PATH or not (query.get("code") or query.get("error")):
            return _page("404 Not Found", "<h1>Nothing here</h1>")
        answer = RedirectAnswer(query.get("code", ""), query.get("state", ""), query.get("iss"), query.get("error", ""))
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)
        return _page("200 OK", "<h1>The sign-in was refused.</h1>" if answer.error else "<h1>You are signed in.</h1>")


def _page(status: str, text: str) -> bytes:
    body = _PAGE.format(text).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\nReferrer-Policy: no-referrer\r\n\r\n".encode() + body


PATIENCE = 600.0
"""How many seconds the user has to sign in."""
_HTTP_SECONDS = 30.0
_OWN = ("localhost", "127.0.0.1", "::1")
PrintLine = Callable[[str], None]


def login(store: TokenStore, server: ServerConfig, print_line: PrintLine, *, opens_browser: bool = False) -> None:
    """Sign the user in, in a browser, and store the tokens; `print_line` receives lines for the user.

    Raises UsageError or ServerFailed if that fails.
    """
    if server.kind == "stdio":
        raise UsageError(f"{server.name} runs on this machine; only servers with a URL have a sign-in")
    try:
        sign_in = asyncio.run(_within_time(_Attempt(store, server, print_line, opens_browser)))
    except _sdk_errors() as error:
        raise ServerFailed(f"no sign-in at {server.name}: {words_of(error, server.name)}") from error
    print_line(f"Signed in at {server.name}. The sign-in is stored in {store.write(sign_in)}.")


def _sdk_errors() -> tuple[type[Exception], ...]:
    """Return the exception types that are raised if the server sends something invalid or cannot be reached."""
    from mcp.client.auth import OAuthFlowError

    return OAuthFlowError, httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError


def logout(store: TokenStore, server: ServerConfig, print_line: PrintLine) -> None:
    """Delete the stored sign-in and print whether there was one."""
    was_there = store.forget()
    print_line(f"The sign-in at {server.name} is deleted." if was_there else f"There is no sign-in at {server.name}.")


async def _within_time(attempt: _Attempt) -> SignIn:
    try:
        async with asyncio.timeout(PATIENCE):
            return await attempt.run()
    except TimeoutError:
        raise ServerFailed(f"no sign-in within {PATIENCE / 60:g} minutes") from None


@dataclass
class _Memory:
    """The SDK's token storage for one sign-in. It starts with the stored client registration, but without tokens."""

    client: Any = None

    async def get_tokens(self) -> None:
        return None

    async def set_tokens(self, tokens: Any) -> None:
        """Do nothing: the tokens are read from the provider's context at the end."""

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


class _Attempt:
    """Runs one sign-in flow."""

    def __init__(self, store: TokenStore, server: ServerConfig, print_line: PrintLine, opens_browser: bool) -> None:
        self._server = server
        self._print_line = print_line
        self._opens_browser = opens_browser
        self._url = expanded(server.url, os.environ)
        self._stored = store.read()
        self._provider: Any = None
        # The SDK logs errors that it also raises; without this handler they would be printed too.
        logging.getLogger("mcp").addHandler(logging.NullHandler())

    async def run(self) -> SignIn:
        """Run the flow and return the sign-in. Raises UsageError, ServerFailed or one of `_sdk_errors`."""
        from mcp.client.auth import OAuthClientProvider
        from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

        _check_secret(self._url)
        listener, is_same = self._listener()
        async with listener:

            async def came_back() -> AuthorizationCodeResult:
                answer = await listener.answer()
                if answer.error:
                    raise ServerFailed(f"the sign-in at {self._server.name} was refused ({answer.error})")
                return AuthorizationCodeResult(code=answer.code, state=answer.state, iss=answer.issuer)

            about = OAuthClientMetadata.model_validate({"redirect_uris": [listener.url], "client_name": "ohw"})
            memory = _Memory(self._client(listener.url, is_same))
            self._provider = OAuthClientProvider(self._url, about, memory, self._show_url, came_back)
            status, reason = await self._asked()
        if self._provider.context.current_tokens is None:
            if status < 400:
                raise UsageError(f"{self._server.name} wants no sign-in")
            raise ServerFailed(f"no sign-in at {self._server.name}: {http_words(status, reason)}")
        return self._sign_in(listener.url)

    def _listener(self) -> tuple[Loopback, bool]:
        """Return the listener, and whether its URL is the stored redirect URL.

        It uses the port of the last sign-in if that is free, because the server may accept only that redirect URL.
        """
        port = self._server.oauth.get("callbackPort") or (urlsplit(self._stored.redirect).port if self._stored else 0)
        try:
            loopback = Loopback(port or 0)
        except OSError as error:
            if "callbackPort" in self._server.oauth:
                raise UsageError(f"the port {port} (callbackPort) is taken: {error.strerror}") from error
            loopback = Loopback()
        return loopback, self._stored is not None and loopback.url == self._stored.redirect

    def _client(self, redirect: str, is_same: bool) -> Any:
        """Return the configured or stored client registration, or None if there is none yet."""
        from mcp.shared.auth import OAuthClientInformationFull

        client: dict[str, Any] = {}
        if self._server.oauth.get("clientId"):
            secret = expanded(self._server.oauth.get("clientSecret", ""), os.environ)
            way = "client_secret_post" if secret else "none"
            client = {"client_id": self._server.oauth["clientId"], "client_secret": secret, "way": way, "issuer": ""}
        elif self._stored and is_same and self._stored.client_id:
            stored = self._stored
            client = {"client_id": stored.client_id, "client_secret": stored.client_secret, "issuer": stored.issuer}
            client["way"] = stored.client_auth
        if not client:
            return None
        client["token_endpoint_auth_method"] = client.pop("way")
        return OAuthClientInformationFull.model_validate({**client, "redirect_uris": [redirect]})

    async def _show_url(self, url: str) -> None:
        """Print the sign-in URL, and open it in a browser if requested. Raises UsageError if it is not secure."""
        metadata = self._provider.context.oauth_metadata
        for each in (url, str(metadata.token_endpoint) if metadata else self._url):
            _check_secret(each)
        self._print_line(f"Sign in at {self._server.name} with your browser:\n\n{url}\n")
        if self._opens_browser and not open_in_browser(url):
            self._print_line("No browser could be opened; open the URL yourself.")
        self._print_line(f"Waiting up to {PATIENCE / 60:g} minutes (ctrl+c cancels) …")

    async def _asked(self) -> tuple[int, str]:
        """Send a first request and return the status and reason; the provider signs in if the server requires it."""
        method, hello = ("GET", None) if self._server.kind == "sse" else ("POST", _hello())
        accept = "text/event-stream" if method == "GET" else "application/json, text/event-stream"
        headers = {"Accept": accept, **_version()}
        async with (
            httpx2.AsyncClient(auth=self._provider, timeout=_HTTP_SECONDS) as client,
            client.stream(method, self._url, headers=headers, json=hello) as answer,
        ):
            return answer.status_code, answer.reason_phrase

    def _sign_in(self, redirect: str) -> SignIn:
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
    """Raise UsageError if a token sent to this URL would be unencrypted."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _OWN:
        raise UsageError(f"a token would go unencrypted to {parts.hostname}: a sign-in needs https://")


def _hello() -> Mapping[str, Any]:
    params = {
        "protocolVersion": _version()["MCP-Protocol-Version"],
        "capabilities": {},
        "clientInfo": {"name": "ohw", "version": __version__},
    }
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def _version() -> dict[str, str]:
    return {"MCP-Protocol-Version": "2025-06-18"}
