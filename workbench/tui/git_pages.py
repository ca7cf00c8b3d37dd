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
    from workbench.tui.app import WorkbenchApp
    from workbench.view.worktrees import Worktree


async def propose_commit(app: WorkbenchApp) -> None:
    """Put the command that commits what is staged, or else the session's changes, into the prompt, where the user can
    edit and send it.
    """
    from workbench.view.commit_message import (
        MOST_FILES,
        commit_command,
        staged_commit_command,
        text_at_head,
        uncommitted,
    )
    from workbench.view.review.staging import staged_names

    state, workspace = app.state, app.session.workspace
    try:
        staged_files, submodules = await in_daemon(lambda: staged_names(workspace))
        staged = [*staged_files, *submodules]
        files = staged or await in_daemon(lambda: uncommitted(workspace, list(state.changes)))
        committed = await in_daemon(lambda: text_at_head(workspace)) if files else {}
    except WorkbenchError as error:
        app.notify(visible(str(error)), severity="warning", markup=False)
        return
    if not files:
        app.notify("This session has no uncommitted changes", severity="warning", markup=False)
        return
    propose = staged_commit_command if staged else commit_command
    chosen = staged or files[:MOST_FILES]
    line = propose(state, chosen, committed, has_trailers=app.settings.commit_trailers)
    if not _propose(app, state, line):
        return
    if staged:
        counts = [counted(len(staged_files), "file")] if staged_files else []
        counts += [counted(len(submodules), "submodule")] if submodules else []
        app.notify(f"This commits exactly what is staged, in {' and '.join(counts)}", markup=False)
    elif len(files) > MOST_FILES:
        app.notify(f"{MOST_FILES} of {len(files)} files; /commit again for the others", markup=False)


async def propose_pull_request(app: WorkbenchApp) -> None:
    """Put the command that opens a pull request into the prompt, where the user can edit and send it."""
    from workbench.view.pull_request import checked_out, opener, pull_request_command

    state, workspace = app.state, app.session.workspace
    try:
        branch = await in_daemon(lambda: checked_out(workspace))
    except WorkbenchError as error:
        app.notify(visible(str(error)), severity="warning", markup=False)
        return
    program = opener(os.environ)
    line = pull_request_command(state, branch, program, has_trailers=app.settings.commit_trailers)
    if _propose(app, state, line) and not program:
        app.notify("Neither gh nor glab is installed: this pushes the branch alone", markup=False)


def _propose(app: WorkbenchApp, state: SessionState, line: str) -> bool:
    """Put a line into the prompt and return True, unless the prompt has text or another session is shown by now."""
    from workbench.tui.widgets.prompt import Prompt

    if app.state is not state:
        return False  # another session is shown by now
    prompt = app.switcher.main.query_one(Prompt)
    if prompt.text.strip():
        app.notify("The prompt has text; send or clear it first", severity="warning", markup=False)
        return False
    prompt.restore_text(line)
    return True


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
