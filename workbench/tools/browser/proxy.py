"""The browser's only access to the network: a proxy on loopback that connects only to permitted addresses.

The browser resolves no names itself, so redirects, subresources and DNS rebinding cannot bypass the proxy.
Public addresses are permitted, all others only if the settings list them. A server on this machine can be opened with
`goto`, and is then accessible to its own pages alone: requests to it from other sites' pages are refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from workbench.lazy_pattern import lazy_pattern
from workbench.web.network import HostRefused, NetworkPolicy, Unresolved, unused_note

_LONGEST_HEAD = 1 << 16
_CHUNK = 1 << 16
_PATIENCE = 20.0
_SETTING = "`private` in [tools.browser]"
_LOOPBACK = ["127.0.0.0/8", "::1/128"]
_HOP = lazy_pattern(rb"(?im)^(?:connection|proxy-connection|proxy-authorization|keep-alive):[^\n]*\n")
_SITE = lazy_pattern(rb"(?im)^sec-fetch-site:[ \t]*([\w-]+)[ \t]*\r$")
"""The header in which the browser says who makes the request; pages cannot set it."""
_ORIGIN = lazy_pattern(rb"(?im)^origin:[ \t]*(\S+)[ \t]*\r$")
_TLS = b"\x16"
_MOST_REFUSALS = 5
_EXPECTED_WITHIN = 0.5


Endpoint: TypeAlias = tuple[str, int]
"""A host and a port."""


class BrowserProxy:
    """The proxy; `refused` lists what it blocked since the list was last reset."""

    def __init__(self, private: bool | list[str]) -> None:
        self._allowed = NetworkPolicy(private, setting=_SETTING)
        self._own = NetworkPolicy(_LOOPBACK, setting=_SETTING)
        self._named: set[Endpoint] = set()
        self._going: set[Endpoint] = set()
        self.pages: Callable[[], Sequence[str]] = list
        """Returns the URLs of the open pages."""
        self._expected: set[str] = set()
        self._server: asyncio.Server | None = None
        self.refused: dict[str, None] = {}

    async def open(self) -> str:
        """Start listening; return the proxy's URL."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_LONGEST_HEAD)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @contextlib.contextmanager
    def going(self, url: str = "") -> Iterator[None]:
        """Within the block, let the agent open pages on this machine: at the URL's server or, without a URL, at any
        server opened before.
        """
        if url:
            self._named.add(_endpoint(url))
        self._going = {_endpoint(url)} if url else set(self._named)
        try:
            yield
        finally:
            self._going = set()

    def refusal_of(self, url: str) -> str:
        """Return why the URL's server was not reached; empty if it was not blocked."""
        start = _not_reached(_endpoint(url))
        return next((words for words in self.refused if words.startswith(start)), "")

    def expect(self, url: str) -> None:
        """Permit requests to the URL's host, to which a page is about to make one. Requests that no page made, such as
        those to the browser's vendor, are blocked.
        """
        self._expected.add(urlsplit(url).hostname or "")

    async def _is_expected(self, host: str) -> bool:
        """Return whether a page asked for this host; the connection may precede the notification by a moment."""
        until = time.monotonic() + _EXPECTED_WITHIN
        while host not in self._expected and time.monotonic() < until:
            await asyncio.sleep(0.01)
        return host in self._expected

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection from the browser: one request, or one tunnel."""
        try:
            await self._pass(reader, writer)
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            with contextlib.suppress(OSError):
                writer.write(_answer(502, "Bad Gateway", "This URL could not be reached."))
        finally:
            await _closed(writer)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, rest = head.partition(b"\r\n")
        method, target, version = line.decode("latin-1").split(" ")
        is_tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if is_tunnel else target)
        host, port = parts.hostname or "", parts.port or (443 if is_tunnel else 80)
        try:
            if not await self._is_expected(host):
                raise HostRefused("")
            is_asked = await self._is_asked((host, port), rest, is_tunnel)
            there, back = await self._connected((host, port), is_asked)
        except HostRefused as why:
            hint = "" if isinstance(why, Unresolved) else self._hint((host, port), is_tunnel)
            self._refuse(writer, (host, port), f"{str(why).rstrip('.')}{hint}" if str(why) else "")
            return
        except OSError:
            note = unused_note(f"{'https' if is_tunnel else 'http'}://{host}:{port}")
            self._note_refusal(f"{host}:{port} could not be reached.{note}" if note else "")
            raise
        try:
            if is_tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back.write(await _greeting(reader, (host, port)) if is_asked else b"")
            else:
                path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
                first = f"{method} {path} {version}\r\n".encode("latin-1")
                back.write(first + _HOP.sub(b"", rest[:-2]) + b"Connection: close\r\n\r\n")
            answer = _copied(there, writer) if is_tunnel else self._answered(there, writer)
            await _both(_copied(reader, back), answer)
        finally:
            await _closed(back)

    async def _is_asked(self, endpoint: Endpoint, head: bytes, is_tunnel: bool) -> bool:
        """Return whether a request to a server on this machine comes from the agent or from one of that server's pages.

        A tunnel is opaque: it is attributed to such pages as long as all open pages belong to servers on this machine
        that the agent opened.
        """
        if endpoint not in self._named or not _is_own(endpoint[0]):
            return False
        if not is_tunnel:
            site = _SITE.search(head)
            return site is not None and (site[1] == b"same-origin" or (site[1] == b"none" and endpoint in self._going))
        until = time.monotonic() + _EXPECTED_WITHIN
        while not (endpoint in self._going or self._shows_only_own(endpoint)):
            if time.monotonic() > until:
                return False
            await asyncio.sleep(0.01)
        return True

    def _shows_only_own(self, endpoint: Endpoint) -> bool:
        endpoints = {_endpoint(url) for url in self.pages() if url != "about:blank"}
        return endpoint in endpoints and endpoints <= self._named

    async def _connected(self, endpoint: Endpoint, is_asked: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a checked address. Raises HostRefused or OSError."""
        allowed, (host, port) = self._own if is_asked else self._allowed, endpoint
        fault: OSError | None = None
        for ip in await asyncio.wait_for(allowed.of(host, port), _PATIENCE):
            try:
                return await asyncio.wait_for(asyncio.open_connection(ip, port), _PATIENCE)
            except OSError as error:
                fault = error
        raise fault or OSError("no address")

    async def _answered(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay the answer to a plain request; the browser must not reuse the connection."""
        try:
            head = await there.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            writer.write(error.partial)
            return
        writer.write(_HOP.sub(b"", head[:-2]) + b"Connection: close\r\n\r\n")
        await _copied(there, writer)

    def _note_refusal(self, words: str) -> None:
        if words and len(self.refused) < _MOST_REFUSALS:
            self.refused[words] = None

    def _hint(self, endpoint: Endpoint, is_tunnel: bool) -> str:
        """Return how a server on this machine can be opened; empty for other hosts, and while it is being opened."""
        if not _is_own(endpoint[0]) or endpoint in self._going:
            return ""
        if endpoint in self._named:
            return "; only its own pages reach it"
        # A tunnel is opaque: it is for https or for a WebSocket.
        call = "goto" if is_tunnel else f"goto('http://{_written(endpoint)}/…')"
        return f"; {call} opens it by its URL"

    def _refuse(self, writer: asyncio.StreamWriter, endpoint: Endpoint, why: str) -> None:
        self._note_refusal(f"{_not_reached(endpoint)}{why}" if why else "")
        writer.write(_answer(403, "Forbidden", "This URL may not be reached from this browser."))


def _not_reached(endpoint: Endpoint) -> str:
    return f"{_written(endpoint)} was not reached: "


def _written(endpoint: Endpoint) -> str:
    """Return the endpoint as a URL has it, an IPv6 address in brackets."""
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _answer(status: int, reason: str, text: str) -> bytes:
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n"
    return f"{head}Connection: close\r\n\r\n{text}".encode()


def _endpoint(url: str) -> Endpoint:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme in ("https", "wss") else 80)


def _is_own(host: str) -> bool:
    return (
        host in ("localhost", "::1")
        or host.endswith(".localhost")
        or re.fullmatch(r"127(?:\.\d+){3}", host) is not None
    )


async def _greeting(reader: asyncio.StreamReader, endpoint: Endpoint) -> bytes:
    """Return the first bytes of a tunnel to this machine; for a WebSocket without TLS, check its origin. Raises OSError
    if it comes from another site.
    """
    first = await reader.readexactly(1)
    if first == _TLS:
        return first
    head = first + await reader.readuntil(b"\r\n\r\n")
    origin = _ORIGIN.search(head)
    if origin is None or _endpoint(origin[1].decode("latin-1")) != endpoint:
        raise OSError("a page of another place asks")
    return head


async def _both(up: Coroutine[Any, Any, None], down: Coroutine[Any, Any, None]) -> None:
    """Relay both directions concurrently, until the answer has ended."""
    tasks = [asyncio.create_task(up), asyncio.create_task(down)]
    try:
        await tasks[1]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()


async def _closed(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, TimeoutError):
        writer.close()
        await asyncio.wait_for(writer.wait_closed(), 5)
