"""The MCP servers screen: the state, tools and log of each server, and the changes waiting for approval."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.mcp.config import ServerConfig, ServerConfigs, mask_secrets
from workbench.mcp.packages import unpinned_notice
from workbench.mcp.pins import PinnedServer, PinStore, changed_lines
from workbench.secrets.masker import MASKER
from workbench.text import counted, first_line, visible
from workbench.tui.key_names import hint_content
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.strips import css_beside
from workbench.view.approval.quiet_time import Confirmation

_SECONDS: Final = 1.0
"""Seconds between two readings of the pin files."""
_LOG_BYTES: Final = 64_000
_NONE: Final = "There are no MCP servers. `ohw mcp add NAME COMMAND` adds one."


class ServersScreen(ModalScreen[None]):
    """Shows the servers in `configs`; approving pins the changed tools, which the model gets from its next call on.

    A key approves only changes that the user has scrolled through and that were visible for the quiet time of a
    question.
    """

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", id="servers.close"),
        Binding("a", "approve", "Approve the changes", id="servers.approve"),
        Binding("l", "log", "Its log", id="servers.log"),
    ]

    def __init__(self, configs: ServerConfigs, pins: PinStore) -> None:
        super().__init__(id="servers")
        self._configs = configs
        self._pins = pins
        self._entries: dict[str, PinnedServer] = {}
        self._entry: PinnedServer | None = None
        """The entry as it was shown; an approval covers nothing else."""
        self._is_fresh = False
        """Whether the changes to approve have just changed, so the user may not have read them."""
        self._is_laid_out = self._end_reached = False
        """Whether the changes to approve are laid out, and whether their end has been visible."""
        self.confirmation = Confirmation(self.call_after_refresh, time.monotonic)

    def compose(self) -> ComposeResult:
        """Yield the list of servers, and below it the details of the one under the cursor."""
        with Vertical(id="servers-box", classes="page-box") as box:
            box.border_title = "MCP servers"
            box.border_subtitle = hint_content(
                self.app, "{servers.approve=a} Approve changes   {servers.log=l} Log   {servers.close=escape} Close"
            )
            yield OptionList(id="servers-list")
            with VerticalScroll(id="servers-about"):
                yield Static(id="servers-waiting")
                yield Static(id="servers-told")

    async def on_mount(self) -> None:
        """Read the files in a thread, at once and then every `_SECONDS`."""
        await self._load()
        if not self.is_attached:
            return
        self.query_one("#servers-list" if self._configs.servers else "#servers-about").focus()
        self.set_interval(_SECONDS, self._load)
        self.watch(self.query_one("#servers-about"), "scroll_y", self._scrolled)

    async def _load(self) -> None:
        entries = await in_daemon(self._read)
        if not self.is_attached or (entries == self._entries and self._entry is not None):
            return
        server = self._server
        before = self._entries.get(server.key) if server is not None else None
        if server is not None and before is not None and _to_approve(before) != _to_approve(entries[server.key]):
            self._is_fresh = True
        self._entries = entries
        rows = self.query_one(OptionList)
        at = rows.highlighted or 0
        rows.clear_options()
        rows.add_options(Option(_row(server, entries[server.key])) for server in self._configs.servers)
        rows.display = bool(self._configs.servers)
        if self._configs.servers:
            rows.highlighted = at
        self._show(at)

    def _read(self) -> dict[str, PinnedServer]:
        return {server.key: self._pins.entry(server) for server in self._configs.servers}

    @property
    def _server(self) -> ServerConfig | None:
        at = self.query_one(OptionList).highlighted
        return self._configs.servers[at] if at is not None and at < len(self._configs.servers) else None

    @on(OptionList.OptionHighlighted)
    def on_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the details of the server under the cursor."""
        self._show(event.option_index)

    def _show(self, at: int) -> None:
        waiting: list[Content] = []
        if at < len(self._configs.servers):
            server = self._configs.servers[at]
            self._entry = self._entries[server.key]
            waiting = [*_head(server, self._entry), *_changes(_to_approve(self._entry)), Content("")]
            lines = list(_tools(self._entry))
        else:
            server, self._entry = None, PinnedServer()
            lines = [Content(_NONE)]
        lines += [Content.styled(visible(line, lines=False), "$warning") for line in self._configs.problems]
        self.query_one("#servers-waiting", Static).update(Content("\n").join(waiting))
        self.query_one("#servers-told", Static).update(Content("\n").join(lines))
        self._ask(server)

    def _ask(self, server: ServerConfig | None) -> None:
        """Begin a question about this server's changes, unless the same question is open already."""
        about = (server.key, *_to_approve(self._entry)) if server is not None and self._entry is not None else ()
        if len(about) < 2:
            self.confirmation.forget()
        elif not self.confirmation.is_asked(about):
            self._is_laid_out = self._end_reached = False
            self.confirmation.ask(about)
            self.query_one("#servers-about").scroll_home(animate=False)
            self.call_after_refresh(self._laid_out)

    def _laid_out(self) -> None:
        self._is_laid_out = True
        self._check_scroll()

    def _scrolled(self) -> None:
        self.call_after_refresh(self._check_scroll)

    def _check_scroll(self) -> None:
        """Set `_end_reached` if the end of the changes to approve is visible."""
        about, waiting = self.query_one("#servers-about"), self.query_one("#servers-waiting")
        height = about.size.height
        if self._is_laid_out and height and about.scroll_offset.y + height >= waiting.size.height:
            self._end_reached = True

    def on_key(self, event: events.Key) -> None:
        """Stop a key that was pressed before the changes were visible, so that it approves nothing."""
        if not self.confirmation.hears(event.key, time.monotonic() - event.time):
            event.stop()

    async def action_approve(self) -> None:
        """Pin the tools of the server under the cursor as shown, or say what the user must read first."""
        server, entry = self._server, self._entry
        if server is None or entry is None or not _to_approve(entry):
            self.notify("This server has no pending approvals.", markup=False)
            return
        self._check_scroll()
        if not self._end_reached:
            self.notify("Scroll to the end of what changed first: tab, then page down.", markup=False)
            return
        if not self.confirmation.is_answered((server.key, *_to_approve(entry))):
            return
        if self._is_fresh:
            self._is_fresh = False
            self.notify("The changes just changed again; review them, then press again to approve.", markup=False)
            return
        try:
            result = await in_daemon(lambda: self._pins.approve(server, entry))
            if result.waits:
                count = len(result.waiting) + len(result.changed_files)
                self.notify(f"{count} changed again meanwhile and are still disabled.", markup=False)
        except WorkbenchError as error:
            self.notify(visible(str(error)), severity="error", markup=False)
        await self._load()

    async def action_log(self) -> None:
        """Show the log of the server under the cursor in the pager."""
        server = self._server
        if server is not None:
            text = await in_daemon(lambda: _tail(self._pins, server))
            self.app.push_screen(PagerScreen(Content(visible(f"Log of {server.name}", lines=False)), text))

    def action_leave(self) -> None:
        """Close the screen."""
        self.dismiss(None)


def _to_approve(entry: PinnedServer) -> list[str]:
    """Return the server's changes that can be approved, as lines of text."""
    return list(changed_lines(entry))


def _row(server: ServerConfig, entry: PinnedServer) -> Content:
    state, style = _state(server, entry)
    name = visible(server.name, lines=False)
    return Content.assemble((f"{name:<18}", "bold"), (state, style))


def _state(server: ServerConfig, entry: PinnedServer) -> tuple[str, str]:
    if not server.is_on:
        return "○ disabled", "$dim"
    if entry.files_now:
        return "! not started: its program changed, approve it", "$warning"
    if entry.waiting:
        count = len(entry.waiting)
        return f"! {counted(count, 'tool')} changed, disabled until approved", "$warning"
    if entry.failure:
        return "✗ cannot be used", "$error"
    count = len(entry.usable)
    return (f"● {counted(count, 'tool')}", "$success") if entry.listed else ("○ not started", "$dim")


def _head(server: ServerConfig, entry: PinnedServer) -> Iterator[Content]:
    """Yield lines with a server's command or URL, the file that configures it, and its problems."""
    mask_secrets(server)
    yield Content.styled(visible(MASKER.masked(server.target), lines=False), "$dim")
    yield Content.styled(visible(f"from {server.source}", lines=False), "$dim")
    if notice := unpinned_notice(server):
        yield Content.styled(visible(MASKER.masked(notice), lines=False), "$dim")
    if server.runs_outside:
        yield Content.styled("outside the sandbox, as its configuration says", "$warning")
    if entry.failure:
        yield Content.styled(visible(entry.failure, lines=False), "$error")
    yield from (Content.styled(visible(line, lines=False), "$warning") for line in entry.faults)
    yield Content("")


def _tools(entry: PinnedServer) -> Iterator[Content]:
    """Yield a line for each usable tool, and one each for the prompts and the resources."""
    for name, tool in entry.usable.items():
        hints = tool.get("annotations") or {}
        is_read_only = hints.get("readOnlyHint") and name in entry.approved
        kind = "read-only" if is_read_only else "destructive" if hints.get("destructiveHint") else "asked"
        words = first_line(str(tool.get("description") or ""), 60)
        yield Content.assemble((f"{visible(name, lines=False):<26}", "bold"), (f" {kind:<11}", "$dim"), f" {words}")
    for kind, each in (("prompt", entry.prompts), ("resource", entry.resources)):
        names = ", ".join(visible(str(one.get("name", "")), lines=False) for one in each[:12])
        if names:
            yield Content.assemble((f"{kind}s  ", "$dim"), names)


def _changes(lines: Iterable[str]) -> Iterator[Content]:
    colors = {"  -": "$error", "  +": "$success"}
    for line in lines:
        style = colors.get(line[:3], "" if line.startswith(" ") else "bold $warning")
        yield Content.styled(visible(line, lines=False), style)


def _tail(pins: PinStore, server: ServerConfig) -> str:
    try:
        with pins.log(server).open("rb") as file:
            file.seek(max(0, pins.log(server).stat().st_size - _LOG_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return "Not started yet."
