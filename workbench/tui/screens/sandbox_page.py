"""The page about the sandbox of a session on another machine, and about the ports there."""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content

from workbench.protocol.live import ListeningPorts
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.text_lines import TextLines

_INTERVAL = 2.0
"""Seconds after which the ports are asked for again."""


class SandboxPage(PagerScreen):
    """Shows the page about the sandbox in a pager, and keeps its list of ports up to date."""

    def __init__(self, text: Callable[[ListeningPorts | None], str], ask: Callable[[], None]) -> None:
        """`text` returns the page for the ports, None until they are received; `ask` requests them from the engine."""
        self._text_lines = TextLines(text(None), id="pager-text")
        super().__init__(Content("Sandbox and ports"), "", lines=self._text_lines)
        self._ports: ListeningPorts | None = None
        self._text = text
        self._ask = ask

    def on_mount(self) -> None:
        """Ask for the ports, now and at each interval."""
        self._ask()
        self.set_interval(_INTERVAL, self._ask)

    def receive(self, ports: ListeningPorts) -> None:
        """Show the ports that the engine has sent, if they have changed, because new text removes the matches of a
        search.
        """
        if ports != self._ports:
            self._ports = ports
            self._text_lines.replace(self._text(ports))
            self._show_status()
