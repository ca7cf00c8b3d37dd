"""Pages of a session on another machine: what `ohw` prints there about its settings and files, in the pager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.content import Content

from workbench.client.ssh import SshFailed, output_there
from workbench.client.threads import in_daemon
from workbench.text import visible
from workbench.tui.git_pages import open_worktrees, propose_there
from workbench.tui.screens.pager import PagerScreen

if TYPE_CHECKING:
    from workbench.client.ssh_url import SshUrl
    from workbench.tui.app import WorkbenchApp

_COMMANDS: Final = {
    "blame": ("Blame", "blame"),
    "hooks": ("Hooks", "hooks"),
    "rules": ("Rules", "rules"),
    "servers": ("MCP servers", "mcp"),
    "tools": ("Tools", "tools"),
    "trust": ("Trusted directories", "trust"),
}
"""The title of each page, and the command of `ohw` that prints it."""
_PROPOSALS: Final = frozenset(("commit", "pr"))
_MARGIN = 4
"""Columns of the pager beside its text."""


def open_remote_page(app: WorkbenchApp, url: SshUrl, name: str, argument: str) -> None:
    """Show the page of that name once the other machine has sent it; notify if it has none, or does not answer."""
    machine = visible(app.session.machine, lines=False)
    if name in _PROPOSALS:
        app.run_worker(propose_there(app, url, name))
        return
    if name == "worktree":
        open_worktrees(app, argument)
        return
    if name not in _COMMANDS:
        app.notify(f"/{name} needs the files of {machine}; use ohw there", severity="warning", markup=False)
        return
    title, command = _COMMANDS[name]
    title = f"{title} of {visible(argument, lines=False)}" if argument else title
    app.notify(f"Reading {title} from {machine}", timeout=2, markup=False)
    words = [command, *(("--", argument) if argument else ())]
    app.run_worker(_show(app, url, words, f"{title} on {machine}"))


async def _show(app: WorkbenchApp, url: SshUrl, words: list[str], title: str) -> None:
    try:
        text = await in_daemon(lambda: output_there(url, words, columns=app.size.width - _MARGIN))
    except SshFailed as error:
        app.notify(visible(str(error)), severity="error", markup=False)
        return
    if not isinstance(app.screen, PagerScreen):
        app.push_screen(PagerScreen(Content(title), text))
