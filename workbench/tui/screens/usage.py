"""The Usage screen (/cost): costs, tokens and context of this session, of today, of the last seven days, or of all
sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.client.threads import in_daemon
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.protocol.commands import Command, DropOutput
from workbench.tui.key_names import hint_content, key_of
from workbench.tui.messages import StateChanged
from workbench.tui.widgets.strips import as_content
from workbench.view.state import SessionState
from workbench.view.stats import SCOPES, Scope, Stats, read_usage
from workbench.view.usage import UsageLimits, biggest_output, usage_page
from workbench.view.wrapping import Line, Piece

_KEYS: Final = "{usage.scope=tab} Scope   ↑↓ Scroll   {usage.close=escape} Close"


class UsagePage(Static):
    """A page of lines, fitted to the widget's width."""

    def __init__(self) -> None:
        super().__init__(id="usage-page")
        self._lines: Callable[[int], list[Line]] = lambda width: [[Piece("Reading …", "dim")]]

    def show(self, lines: Callable[[int], list[Line]]) -> None:
        """Show the lines that the function returns for a width."""
        self._lines = lines
        self.on_resize()

    def on_resize(self) -> None:
        """Fit the lines to the new width."""
        self.update(as_content(self._lines(max(1, self.size.width))))


class UsageScreen(ModalScreen[None]):
    """Shows the usage of one scope, which Tab changes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="usage.close"),
        Binding("tab", "scope(1)", "Scope", id="usage.scope", priority=True),
        Binding("x", "drop", "Drop the biggest output from the context", id="usage.drop"),
        Binding("shift+tab", "scope(-1)", "Previous scope", show=False, id="usage.scope-back", priority=True),
    ]

    class Read(Message):
        """Posted when a thread has read the usage of a scope."""

        def __init__(self, number: int, stats: Stats) -> None:
            super().__init__()
            self.number, self.stats = number, stats

    def __init__(
        self,
        state: SessionState,
        settings: Settings,
        locations: Locations,
        send: Callable[[Command], None],
        of_session: Locations | None = None,
    ) -> None:
        """`send` sends a command to the session's engine."""
        super().__init__(id="usage")
        self._send = send
        self._state = state
        self._settings = settings
        self._locations = locations
        self._of_session = of_session or locations
        self._scope: Scope = "session" if state.session_id else "all"
        self._stats: Stats | None = None
        self._number = 0
        """Counts the readings, so that the thread of an earlier one stops."""

    def compose(self) -> ComposeResult:
        """Yield the page."""
        with VerticalScroll(id="usage-box", classes="page-box"):
            yield UsagePage()

    def on_mount(self) -> None:
        """Start reading in a thread."""
        self.query_one("#usage-box").focus()
        self._begin()

    def on_unmount(self) -> None:
        """Stop the thread."""
        self._number += 1

    def action_scope(self, by: int) -> None:
        """Show the next scope, or the previous one."""
        scopes = list(SCOPES)[0 if self._state.session_id else 1 :]
        self._scope = scopes[(scopes.index(self._scope) + by) % len(scopes)]
        self._begin()

    def action_drop(self) -> None:
        """Drop the largest output from the model's context."""
        biggest = biggest_output(self._state)
        if self._scope == "session" and biggest:
            self._send(DropOutput(action_id=biggest.action_id))

    @on(StateChanged)
    def on_state_changed(self) -> None:
        """Show how full the context is now."""
        self._show()

    def _begin(self) -> None:
        self._number += 1
        self._stats = None
        self.run_worker(in_daemon(partial(self._read, self._number, self._scope)))
        self._show()

    def _read(self, number: int, scope: Scope) -> None:
        stats = read_usage(
            self._of_session if scope == "session" else self._locations,
            scope,
            self._state.session_id,
            lambda: number != self._number,
        )
        if self.is_running:
            self.post_message(self.Read(number, stats))

    @on(Read)
    def on_read(self, read: Read) -> None:
        """Show what was read, unless another scope has been chosen since."""
        if read.number == self._number:
            self._stats = read.stats
            self._show()

    def _show(self) -> None:
        box = self.query_one("#usage-box", VerticalScroll)
        names = [(f" {name} ", "bold reverse" if scope == self._scope else "$dim") for scope, name in SCOPES.items()]
        box.border_title = Content.assemble("Usage ", *names)
        box.border_subtitle = hint_content(self.app, _KEYS)
        if self._stats is not None:
            self.query_one(UsagePage).show(partial(self._page, self._stats, self._scope))

    def _page(self, stats: Stats, scope: Scope, width: int) -> list[Line]:
        settings, drop = self._settings, key_of(self.app, "usage.drop", "x")
        limits = UsageLimits(settings.max_cost, settings.condense_percent, settings.max_observe, drop)
        return usage_page(stats, scope, self._state, width, limits)
