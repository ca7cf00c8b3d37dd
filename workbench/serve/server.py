"""The server of the web view: one page, the files it needs, and a connection for each tab.

The page uses the terminal of textual-serve, and its messages. The program in a tab, however, is started in a pseudo
terminal, not by textual-serve, so that it is the same program with the same driver as anywhere else.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

from aiohttp import WSMsgType, web

from workbench.serve.access import Access
from workbench.serve.enter_key import on_enter
from workbench.serve.keyboard import keys, scrolling_keys
from workbench.serve.terminal import TabTerminal, TerminalFull

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
MOST_TABS = 8
_PROTOCOL = "ohw"
_COOKIE_SECONDS = 7 * 24 * 3600
"""How long the browser keeps a cookie; without a limit, the cookies of ended servers would fill the request headers."""
_LONGEST_MESSAGE = 1 << 20
_HEARTBEAT = 20.0
_LEAST_CELLS, _MOST_CELLS = 10, 500
"""The minimum and maximum number of columns, and of rows, of a terminal."""
_PACKAGE_FILES = {
    "textual.js": ("js/textual.js", "text/javascript"),
    "xterm.css": ("css/xterm.css", "text/css"),
    "roboto-mono.ttf": ("fonts/RobotoMono-VariableFont_wght.ttf", "font/ttf"),
    "roboto-mono-italic.ttf": ("fonts/RobotoMono-Italic-VariableFont_wght.ttf", "font/ttf"),
}
"""The files of textual-serve, by the names under which they are served."""
_OWN_FILES = {"tab.css": "text/css", "tab.js": "text/javascript"}
_HEADERS = {
    # The terminal writes its colors into style elements.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "font-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_INVALID_LINK = (
    "This link has been used, is older than ten minutes, or never was one. If this browser has opened it, open the "
    "address without the link; otherwise press Enter where `ohw serve` runs for a new one.\n"
)
_NO_LINK = "Open the link that `ohw serve` has printed; it works once.\n"
_NO_KEY = "Open a link of `ohw serve` in this browser: press Enter where it runs.\n"
_WRONG_HOST = "This server does not have that name: open it by its address, as in the link that was printed.\n"
_OTHER_SITE = "Pages of other sites may not connect: paste the address into the browser.\n"
_FULL = "{} tabs are open, which is the most. Close one, then connect again."
_NOT_STARTED = "\r\n  The program of this tab cannot start: {}\r\n"


@dataclass(frozen=True)
class ServedView:
    """The command that each tab runs, whether tabs only accept keys that scroll, and how many tabs may be open."""

    command: Sequence[str]
    is_read_only: bool = False
    most_tabs: int = MOST_TABS


class WebView:
    """The web application, which serves browsers that have opened a link."""

    def __init__(self, view: ServedView, access: Access) -> None:
        self._view = view
        self._access = access
        self._tabs: set[web.WebSocketResponse] = set()
        self._closed = asyncio.Condition()
        """Notified when a tab has ended."""

    def application(self) -> web.Application:
        """Return the application with all routes, each behind the same checks."""
        app = web.Application(middlewares=[self._check])
        app.router.add_get("/", self._page, allow_head=False)
        app.router.add_get("/static/{name}", self._file)
        app.router.add_get("/limit", self._limit)
        app.router.add_get("/ws", self._tab)
        app.on_response_prepare.append(_set_headers)
        app.on_shutdown.append(self._close_tabs)
        return app

    @web.middleware
    async def _check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests that name another host, come from another site, or have neither a link nor a cookie."""
        if not self._access.is_ours(request.headers.get("Host", "")):
            return _refusal(_WRONG_HOST)
        if self._is_of_other_site(request):
            return _refusal(_OTHER_SITE)
        if request.method == "GET" and request.path == "/" and "token" in request.query:
            return self._admit(request.query["token"])
        if not self._access.has_cookie(self._cookie(request)):
            return _refusal(_NO_LINK)
        return await handler(request)

    def _is_of_other_site(self, request: web.Request) -> bool:
        """Return whether a page of another site, or another port, has made the request."""
        if request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
            return True
        origin = request.headers.get("Origin")
        # Browsers send no origin when a page is opened, but always with a connection.
        if origin is None and request.path != "/ws":
            return False
        return not self._access.is_same_origin(origin or "", request.headers.get("Host", ""))

    def _cookie(self, request: web.Request) -> str:
        return request.cookies.get(self._access.cookie_name, "")

    def _admit(self, token: str) -> web.Response:
        """Exchange the token of a link for a cookie, and for the key in the page."""
        admission = self._access.redeem(token)
        if admission is None:
            return _refusal(_INVALID_LINK)
        response = _page(admission.key)
        response.set_cookie(
            self._access.cookie_name,
            admission.cookie,
            max_age=_COOKIE_SECONDS,
            httponly=True,
            samesite="Strict",
            path="/",
        )
        return response

    async def _page(self, request: web.Request) -> web.StreamResponse:
        return _page("")

    async def _limit(self, request: web.Request) -> web.StreamResponse:
        """Return the reason why no more tabs can connect, or an empty text; browsers hide a failed connection's reason
        from pages.
        """
        return web.Response(text=_FULL.format(self._view.most_tabs) if self._is_full else "")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name in _OWN_FILES:
            return web.Response(body=_own_file(name), content_type=_OWN_FILES[name])
        if name not in _PACKAGE_FILES:
            raise web.HTTPNotFound
        path, kind = _PACKAGE_FILES[name]
        return web.Response(body=(files("textual_serve") / "static" / path).read_bytes(), content_type=kind)

    @property
    def _is_full(self) -> bool:
        """Whether the maximum number of tabs is open; a tab is counted until its program has ended."""
        return len(self._tabs) >= self._view.most_tabs

    async def _tab(self, request: web.Request) -> web.StreamResponse:
        offered = request.headers.get("Sec-WebSocket-Protocol", "").split(",")
        if not self._access.has_key(self._cookie(request), (each.strip() for each in offered)):
            return _refusal(_NO_KEY)
        if not await self._can_open():
            return web.Response(status=503, text=_FULL.format(self._view.most_tabs))
        connection = web.WebSocketResponse(
            heartbeat=_HEARTBEAT, max_msg_size=_LONGEST_MESSAGE, compress=False, protocols=(_PROTOCOL,)
        )
        self._tabs.add(connection)
        try:
            await connection.prepare(request)
            await self._run(connection, _size(request.query.get("width"), request.query.get("height")))
        finally:
            self._tabs.discard(connection)
            async with self._closed:
                self._closed.notify_all()
        return connection

    async def _can_open(self) -> bool:
        """Return whether one more tab may open, after waiting for the programs of tabs that were closed or reloaded."""
        async with self._closed:
            await self._closed.wait_for(lambda: not (self._is_full and any(tab.closed for tab in self._tabs)))
        return not self._is_full

    async def _run(self, connection: web.WebSocketResponse, size: tuple[int, int]) -> None:
        """Run the program of a tab until it ends or the browser disconnects."""
        try:
            terminal = await TabTerminal.start(self._view.command, *size, os.environ)
        except OSError as error:
            await connection.send_bytes(_NOT_STARTED.format(error.strerror or type(error).__name__).encode())
            await connection.close()
            return
        output = asyncio.create_task(_forward_output(terminal, connection))
        try:
            async for message in connection:
                if message.type is not WSMsgType.TEXT or not self._forward_input(terminal, message.data):
                    break
        finally:
            output.cancel()
            await terminal.close()
            await connection.close()

    def _forward_input(self, terminal: TabTerminal, line: str) -> bool:
        """Forward a message from the browser to the program; return False if it is invalid or the
        program does not read.
        """
        match _message(line):
            case ["stdin", str(text)]:
                typed = scrolling_keys(text) if self._view.is_read_only else keys(text)
                try:
                    terminal.write(typed.encode(errors="replace"))
                except TerminalFull:
                    return False
            case ["resize", {"width": width, "height": height}]:
                terminal.resize(*_size(width, height))
            case ["ping" | "focus" | "blur", *_]:
                pass
            case _:
                return False
        return True

    async def _close_tabs(self, app: web.Application) -> None:
        await asyncio.gather(*(connection.close() for connection in tuple(self._tabs) if connection.prepared))


async def _forward_output(terminal: TabTerminal, connection: web.WebSocketResponse) -> None:
    """Send the program's output to the browser, no faster than the browser accepts it; close the
    connection at its end.
    """
    try:
        while data := await terminal.read():
            await connection.send_bytes(data)
        await connection.close()
    except ConnectionError:
        return  # the browser has left, which ends the tab


def _message(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _size(width: object, height: object) -> tuple[int, int]:
    return _bounded(width, 80), _bounded(height, 24)


def _bounded(value: object, default: int) -> int:
    """Return a number from a browser, limited to the size of a terminal; `default` if it is not a number."""
    digits = str(value)
    is_number = digits.isascii() and digits.isdecimal() and len(digits) < 6
    return min(max(int(digits), _LEAST_CELLS), _MOST_CELLS) if is_number else default


def _own_file(name: str) -> bytes:
    return Path(__file__).with_name(name).read_bytes()


def _page(key: str) -> web.Response:
    """Return the page with this key, which is empty unless a link opened the page."""
    body = _own_file("tab.html").replace(b"{key}", key.encode())
    return web.Response(body=body, content_type="text/html", charset="utf-8")


def _refusal(text: str) -> web.Response:
    return web.Response(status=403, text=text)


async def _set_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)
    response.headers.pop("Server", None)


async def run_server(view: ServedView, host: str, listener: socket.socket, announce: Callable[[str], None]) -> int:
    """Serve on the listening socket until a signal arrives, and return the exit code.

    `announce` is called with each new link; pressing Enter on the terminal creates another one.
    """
    access = Access(host)
    runner = web.AppRunner(WebView(view, access).application(), access_log=None, shutdown_timeout=1)
    await runner.setup()
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    base = f"http://{_in_url(host)}:{listener.getsockname()[1]}"

    def print_link() -> None:
        announce(f"{base}/?token={access.new_token()}")

    try:
        await web.SockSite(runner, listener).start()
        print_link()
        on_enter(print_link)
        await ended.wait()
    finally:
        await runner.cleanup()
    return 0


def _in_url(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
