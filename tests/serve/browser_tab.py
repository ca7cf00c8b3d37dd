"""A tab of a real browser that shows `ohw serve`: keys in, what its terminal shows out.

The browser draws on a canvas; what it draws is computed here from the same messages, as the other tests do it.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, WebSocket

from tests.chromium import PATIENCE, wait_in
from tests.terminal.screen import Screen
from workbench.view.approval.quiet_time import QUIET


class BrowserTab:
    """One tab; its `screen` is what the terminal in it shows."""

    def __init__(self, context: BrowserContext, link: str) -> None:
        self.page = context.new_page()
        self.requests: list[str] = []
        self.errors: list[str] = []
        """What the browser has reported: exceptions of scripts, and requests that failed."""
        self.screen = Screen(80, 24)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.page.on("websocket", self._connected)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._logged)
        self.page.goto(link)

    def wait_for(self, text: str) -> str:
        """Wait until the terminal shows this text; return the whole picture."""
        return self.wait_until(lambda picture: text in picture, f"{text!r} to be shown")

    def wait_until(self, is_so: Callable[[str], object], what: str) -> str:
        """Wait until the condition holds for the picture; return the picture."""
        try:
            wait_in(self.page, lambda: is_so(self.screen.text), what, PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{error}; the tab shows:\n{self.screen.text}") from error
        return self.screen.text

    def type(self, text: str) -> None:
        """Type text, key by key."""
        self.page.keyboard.type(text)

    def press(self, *keys: str) -> None:
        """Press keys by the browser's names."""
        for key in keys:
            self.page.keyboard.press(key)

    def send(self, text: str) -> None:
        """Type a message and send it."""
        self.type(text)
        self.wait_for(text)
        self.press("Enter")

    def approve(self) -> None:
        """Press the key that approves, once the question accepts one."""
        self.wait_for("y Approve")
        self.page.wait_for_timeout(1_000 * (QUIET + 0.2))
        self.press("y")

    def _logged(self, line: ConsoleMessage) -> None:
        if line.type == "error":
            self.errors.append(line.text)

    def _connected(self, socket: WebSocket) -> None:
        size = parse_qs(urlsplit(socket.url).query)
        self.screen = Screen(int(size["width"][0]), int(size["height"][0]))
        self._decoder.reset()
        socket.on("framereceived", self._received)
        socket.on("framesent", self._sent)

    def _received(self, payload: str | bytes) -> None:
        if isinstance(payload, bytes):
            self.screen.feed(self._decoder.decode(payload))

    def _sent(self, payload: str | bytes) -> None:
        kind, *values = json.loads(payload)
        if kind == "resize":
            size = values[0]["width"], values[0]["height"]
            if size != (self.screen.columns, self.screen.rows):
                self.screen = Screen(*size)
