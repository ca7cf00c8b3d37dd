"""Signs in to GitHub Copilot: shows a code and a URL, and waits for the user to enter the code there."""

from __future__ import annotations

import threading
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.llm.device_sign_in import DeviceCode, request_code, wait_for_token
from workbench.processes.browser import open_in_browser
from workbench.text import visible
from workbench.tui.key_names import key_of
from workbench.tui.widgets.dock import SIDES, DockedPanel, hint_line
from workbench.tui.widgets.strips import css_beside
from workbench.view.formatting.key_hints import KeyHint


class DeviceSignInScreen(ModalScreen[bool]):
    """Shows the code of a sign-in; dismisses with True once a token is stored, or False if the user cancels."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "Copy the code", id="device.copy"),
        Binding("o", "open", "Open the page in the browser", id="device.open"),
        Binding("r", "retry", "New code", id="device.retry"),
        Binding("escape", "cancel", "Cancel", id="device.cancel"),
    ]

    def __init__(self, model: str) -> None:
        super().__init__(id="device")
        self._model = model
        self._code: DeviceCode | None = None
        self._problem = ""
        self._cancelled = threading.Event()
        self._title, self._text, self._keys = Static(id="title"), Static(id="text"), Static(id="keys")

    def compose(self) -> ComposeResult:
        """Yield the code, the state and the key hints."""
        with DockedPanel():
            yield self._title
            yield self._text
            yield self._keys

    def on_mount(self) -> None:
        """Request a code."""
        self._title.update(Content.styled(f"Sign in to GitHub Copilot for {visible(self._model, lines=False)}", "bold"))
        self.action_retry()

    def on_unmount(self) -> None:
        """Stop waiting."""
        self._cancelled.set()

    def on_resize(self) -> None:
        """Fit the key hints to the width."""
        self._show()

    def action_retry(self) -> None:
        """Request a code, unless one is shown already."""
        if self._code is None or self._problem:
            self._code, self._problem = None, ""
            self._show()
            self.run_worker(self._sign_in())

    def action_copy(self) -> None:
        """Copy the code."""
        if self._code is not None:
            self.app.copy_to_clipboard(self._code.user_code)
            self.app.notify("Copied: the code", timeout=2)

    def action_open(self) -> None:
        """Open the page in the browser; copy its URL if there is none."""
        if self._code is not None and not open_in_browser(self._code.url):
            self.app.copy_to_clipboard(self._code.url)
            self.app.notify("No browser here; the link was copied", severity="warning", timeout=4)

    def action_cancel(self) -> None:
        """Stop waiting; the session keeps its model."""
        self.dismiss(False)

    async def _sign_in(self) -> None:
        try:
            self._code = await in_daemon(request_code)
            self._show()
            is_signed_in = await in_daemon(partial(wait_for_token, self._code, self._cancelled))
        except WorkbenchError as error:
            self._problem = str(error)
            self._show()
            return
        if is_signed_in and self.is_attached:
            self.dismiss(True)

    def _show(self) -> None:
        if not self.is_attached:
            return
        code, back = self._code, KeyHint(key_of(self.app, "device.cancel", "escape"), "Cancel", 1)
        hints = [back]
        if self._problem:
            text = Content.styled(f"✗ {visible(self._problem, lines=False)}", "$sign-failed")
            hints = [KeyHint(key_of(self.app, "device.retry", "r"), "New code"), back]
        elif code is None:
            text = Content.styled("Requesting a code …", "$dim")
        else:
            text = Content.assemble(
                "Open  ",
                (visible(code.url, lines=False), "bold"),
                "\nEnter ",
                (visible(code.user_code, lines=False), "bold $primary"),
                ("\n● waiting for GitHub …", "$sign-running"),
            )
            hints = [
                KeyHint(key_of(self.app, "device.copy", "c"), "Copy the code"),
                KeyHint(key_of(self.app, "device.open", "o"), "Open in the browser", 2),
                back,
            ]
        self._text.update(text)
        self._keys.update(hint_line(self.app, hints, max(4, self.size.width - SIDES)))
