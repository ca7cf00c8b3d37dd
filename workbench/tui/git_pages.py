"""What the commands of git show: `/commit` and `/pr` propose a command, `/worktree` opens another directory."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

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
    from workbench.view.worktrees import Worktree, Worktrees


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
    from workbench.view.git_proposals import GitProposal
    from workbench.view.workspace_requests import ProposeCommand, ask

    state, machine = app.state, visible(app.session.machine, lines=False)
    app.notify(f"Asking git on {machine}", timeout=2, markup=False)
    try:
        request = ProposeCommand(name=name, session=state.session_id)
        proposal = await in_daemon(lambda: ask(url, request, GitProposal))
    except WorkbenchError as error:
        app.notify(visible(str(error)), severity="warning", markup=False)
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

    url = app.session.url

    async def chosen(worktree: Worktree | None) -> None:
        session = worktree.session if worktree is not None else None
        if session is not None and url is None:
            await app.switcher.resume(session.id)
        elif session is not None and url is not None:
            await app.switcher.begin_there(url.at(session.workspace), session.id)
        elif worktree is not None:
            await app.switcher.begin_in(Path(worktree.path))

    if not isinstance(app.screen, WorktreesScreen):
        app.push_screen(WorktreesScreen(_worktrees(app), app.switcher.main.review), chosen)


def _worktrees(app: WorkbenchApp) -> Worktrees:
    """Return the worktrees of the session's repository, on the machine where it is."""
    from workbench.view.workspace_requests import RemoteWorktrees
    from workbench.view.worktrees import LocalWorktrees

    if app.session.url is not None:
        return RemoteWorktrees(app.session.url)
    return LocalWorktrees(Locations.from_environment(), app.session.workspace)


async def _begin_in_worktree(app: WorkbenchApp, name: str) -> None:
    add, machine = partial(_worktrees(app).add, name), app.session.machine
    app.notify("Creating the worktree …", timeout=2)
    try:
        new = await in_daemon(add)
    except WorkbenchError as error:
        app.notify(visible(str(error)), severity="warning", markup=False)
        return
    directory, count = Path(new.path), new.uncommitted
    if (worker := await app.switcher.begin_in(directory)) is not None:
        await worker.wait()  # the screen may take longer than the message would be there
    what = "git cannot say which changes" if count is None else f"{counted(count, 'file')} with uncommitted changes"
    rest = f"; {what} stayed in the other directory" if count != 0 else ""
    where = f"{directory} on {machine}" if machine else directory
    app.notify(visible(f"A new session in {where}, on the branch {name}{rest}", lines=False), markup=False)
