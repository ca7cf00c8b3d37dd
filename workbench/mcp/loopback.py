"""Where the browser comes back to after a sign-in: a port of this machine that takes one answer; used by `login`."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qs, urlsplit

PATH = "/callback"
_LONGEST_HEAD = 1 << 16
_PATIENCE = 10.0
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>ohw</title>"
    "<body style='font: 1.1em sans-serif; margin: 4em'>{}<p>You can close this page and go back to the terminal."
)


@dataclass(frozen=True)
class Answer:
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
        self._answer: asyncio.Future[Answer] | None = None

    async def __aenter__(self) -> Self:
        self._answer = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._serve, sock=self._socket, limit=_LONGEST_HEAD)
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def answer(self) -> Answer:
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
        found = Answer(told.get("code", ""), told.get("state", ""), told.get("iss"), told.get("error", ""))
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(found)
        return _page("200 OK", "<h1>The sign-in was refused.</h1>" if found.error else "<h1>You are signed in.</h1>")


def _page(status: str, text: str) -> bytes:
    body = _PAGE.format(text).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\nReferrer-Policy: no-referrer\r\n\r\n".encode() + body
