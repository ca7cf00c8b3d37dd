"""The Trusted directories screen (/trust): the directories whose own tools, rules and servers are used; trust in them
can be revoked.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from workbench.client.threads import in_daemon
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tools.trust import revoke
from workbench.tui.key_names import hint_content, key_of
from workbench.tui.widgets.strips import css_beside
from workbench.view.approval.quiet_time import Confirmation
from workbench.view.approval.trust_list import TrustRow, trust_rows
from workbench.view.formatting.timeline_rows import from_home
from workbench.view.wrapping import clip, pad

_NONE = "No directory is trusted. Opening one with tools, rules, MCP servers or sub-agents asks you first."
_REVOKED = "Revoked. Sessions that are open keep what they loaded until they end."


class TrustedScreen(ModalScreen[None]):
    """Shows the directories that the user trusted, and those that the settings name (`trusted`)."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="trusted.close"),
        Binding("d", "revoke", "Revoke", id="trusted.revoke"),
    ]

    def __init__(self, locations: Locations, trusted: Sequence[str]) -> None:
        super().__init__(id="trusted")
        self._locations = locations
        self._named = trusted
        self._rows: Sequence[TrustRow] = ()
        self.confirmation = Confirmation(self.call_after_refresh, time.monotonic)
        """Confirms a revocation by a second press."""

    def compose(self) -> ComposeResult:
        """Yield the list, and below it what the directory under the cursor contains."""
        with Vertical(id="trusted-box", classes="page-box") as box:
            box.border_title = "Trusted directories"
            drop, close = key_of(self.app, "trusted.revoke", "d"), key_of(self.app, "trusted.close", "escape")
            box.border_subtitle = hint_content(self.app, f"↑↓ Move   {drop} Revoke   {close} Close")
            yield OptionList(id="trusted-list")
            yield Static("reading …", id="trusted-note")

    async def on_mount(self) -> None:
        """Read the directories in a thread."""
        self.query_one(OptionList).focus()
        await self._load("")

    async def _load(self, message: str) -> None:
        self._rows = await in_daemon(partial(trust_rows, self._locations, self._named))
        if not self.is_attached:
            return
        self._show_rows()
        if message or not self._rows:
            self._show(message or _NONE)

    def on_resize(self) -> None:
        """Fit the rows to the width."""
        self._show_rows()

    def _show_rows(self) -> None:
        rows, available = self.query_one(OptionList), max(30, self.size.width - 8)
        at = rows.highlighted or 0
        width = min(available * 2 // 3, max((cell_len(_path(row)) for row in self._rows), default=0))
        rows.clear_options()
        rows.add_options(Option(_line(row, width, available - width)) for row in self._rows)
        rows.highlighted = min(at, len(self._rows) - 1) if self._rows else None

    def _show(self, text: str) -> None:
        self.query_one("#trusted-note", Static).update(Content(visible(text)))

    @on(OptionList.OptionHighlighted)
    def on_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show what the directory contains and who agreed; cancel a pending revocation of another one."""
        self.confirmation.forget()
        if event.option_index < len(self._rows):
            row = self._rows[event.option_index]
            self._show(f"{_path(row)}\n{row.about}")

    def on_key(self, event: events.Key) -> None:
        """Stop a key that was pressed before the question was visible, so that it revokes nothing."""
        if not self.confirmation.hears(event.key, time.monotonic() - event.time):
            event.stop()

    async def action_revoke(self) -> None:
        """Revoke the trust in the directory under the cursor on the second press; the first one asks."""
        at = self.query_one(OptionList).highlighted
        if at is None or at >= len(self._rows):
            return
        row = self._rows[at]
        if row.standing == "revoked":
            self._show(f"{_path(row)}\nis revoked already; remove it from `trusted` in your settings too")
        elif not self.confirmation.is_answered(row.path):
            self.confirmation.ask(row.path)
            key = key_of(self.app, "trusted.revoke", "d")
            self._show(f"{_path(row)}\nPress {key} again: its tools, rules and servers are no longer used")
        else:
            await self._revoke(row)

    async def _revoke(self, row: TrustRow) -> None:
        self.confirmation.forget()
        try:
            await in_daemon(partial(revoke, self._locations, [row.path], self._named))
        except WorkbenchError as error:
            self._show(str(error))
            return
        await self._load(_REVOKED)


def _path(row: TrustRow) -> str:
    return visible(from_home(Path(row.path)), lines=False)


def _line(row: TrustRow, width: int, rest: int) -> Content:
    mark = ("● ", "$success") if row.is_used else ("○ ", "$dim")
    return Content.assemble(
        mark, pad(_path(row), width), (f"  {clip(row.status, rest)}", "" if row.is_used else "$dim")
    )
