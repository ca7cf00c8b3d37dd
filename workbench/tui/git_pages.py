"""What the commands of git show: `/commit` and `/pr` propose a command, `/worktree` opens another directory."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from workbench.client.threads import in_daemon
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.text import counted, visible
from workbench.view.notices import READ_ONLY
from workbench.view.state import SessionState

if TYPE_CHECKING:
    from workbench.client.ssh_url import SshUrl
    from workbench.tui.app import WorkbenchApp
    from workbench.view.git_proposals import GitProposal
    from workbench.view.worktrees import Worktree

_COLUMNS = 80


async def propose_commit(app: WorkbenchApp) -> None:
    """Put the command that commits what is staged, or else the session's changes, into the prompt, where the user can
    edit and send it.
    """
    from workbench.view.git_proposals import commit_proposal, committable

    state, workspace = app.state, app.session.workspace
    try:
        what = await in_daemon(lambda: committable(workspace, list(state.changes)))
    except WorkbenchError as error:
        app.notify(visible(str(error)), severity="warning", markup=False)
        return
    _propose(app, state, commit_proposal(state, what, has_trailers=app.settings.commit_trailers))


async def propose_pull_request(app: WorkbenchApp) -> None:
    """Put the command that opens a pull request into the prompt, where the user can edit and send it."""
    from workbench.view.git_proposals import pull_request_proposal
    from workbench.view.pull_request import checked_out

    state, workspace = app.state, app.session.workspace
    try:
        branch = await in_daemon(lambda: checked_out(workspace))
    except WorkbenchError as error:
        app.notify(visible(str(error)), severity="warning", markup=False)
        return
    _propose(app, state, pull_request_proposal(state, branch, os.environ, has_trailers=app.settings.commit_trailers))


async def propose_there(app: WorkbenchApp, url: SshUrl, name: str) -> None:
    """Put the command that `ohw` on another machine proposes for the session into the prompt; its git is asked."""
    from workbench.client.ssh import output_there
    from workbench.view.git_proposals import GitProposal

    state, machine = app.state, visible(app.session.machine, lines=False)
    app.notify(f"Asking git on {machine}", timeout=2, markup=False)
    try:
        output = await in_daemon(lambda: output_there(url, ("proposal", name, state.session_id), columns=_COLUMNS))
        proposal = msgspec.json.decode(output, type=GitProposal)
    except WorkbenchError as error:
        app.notify(visible(str(error)).removeprefix("ohw: "), severity="warning", markup=False)
    except ValueError:
        app.notify(f"{machine} answers something else than a command", severity="warning", markup=False)
    else:
        _propose(app, state, proposal)


def _propose(app: WorkbenchApp, state: SessionState, proposal: GitProposal) -> None:
    """Put a line into the prompt, unless the prompt has text or another session is shown by now."""
    from workbench.tui.widgets.prompt import Prompt

    if app.state is not state:
        return  # another session is shown by now
    prompt = app.switcher.main.query_one(Prompt)
    if prompt.text.strip():
        app.notify("The prompt has text; send or clear it first", severity="warning", markup=False)
        return
    prompt.restore_text(proposal.line)
    if proposal.notice:
        app.notify(proposal.notice, markup=False)


def open_worktrees(app: WorkbenchApp, name: str) -> None:
    """Start a session in a new worktree on a branch of that name; without a name, show the worktrees."""
    if not name:
        show_worktrees(app)
    elif not app.state.has_control:
        app.notify(READ_ONLY, severity="warning", markup=False)
    else:
        app.run_worker(_begin_in_worktree(app, name), group="worktree", exclusive=True)


def show_worktrees(app: WorkbenchApp) -> None:
    """Show the worktrees of the repository, unless they are shown already."""
    from workbench.tui.screens.worktrees import WorktreesScreen

    async def chosen(worktree: Worktree | None) -> None:
        if worktree is not None and worktree.session is not None:
            await app.switcher.resume(worktree.session.id)
        elif worktree is not None:
            await app.switcher.begin_in(Path(worktree.path))

    if not isinstance(app.screen, WorktreesScreen):
        review = app.switcher.main.review
        app.push_screen(WorktreesScreen(Locations.from_environment(), app.session.workspace, review), chosen)


async def _begin_in_worktree(app: WorkbenchApp, name: str) -> None:
    from workbench.view.worktrees import add_worktree, uncommitted_count

    workspace = app.session.workspace
    app.notify("Creating the worktree …", timeout=2)
    try:
        directory = await in_daemon(partial(add_worktree, workspace, name))
        count = await in_daemon(partial(uncommitted_count, workspace))
    except WorkbenchError as error:
        app.notify(visible(str(error)), severity="warning", markup=False)
        return
    if (worker := await app.switcher.begin_in(directory)) is not None:
        await worker.wait()  # the screen may take longer than the message would be there
    what = "git cannot say which changes" if count is None else f"{counted(count, 'file')} with uncommitted changes"
    rest = f"; {what} stayed in the other directory" if count != 0 else ""
    app.notify(visible(f"A new session in {directory}, on the branch {name}{rest}", lines=False), markup=False)
