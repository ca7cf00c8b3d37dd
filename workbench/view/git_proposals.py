"""The commands that `/commit` and `/pr` propose for a session, made from its state and from what git says.

What git says is asked in a thread, and on the machine that has the workspace; the state is that of the screen, or read
from the log of a session there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from workbench.client.log_reader import read_history
from workbench.errors import UsageError, WorkbenchError
from workbench.session.storage.store import Store
from workbench.text import counted
from workbench.view.commit_message import (
    MOST_FILES,
    commit_command,
    staged_commit_command,
    text_at_head,
    uncommitted,
)
from workbench.view.follower import begin_after, settled
from workbench.view.pull_request import CheckedOutBranch, checked_out, opener, pull_request_command
from workbench.view.reducer import apply
from workbench.view.review.staging import staged_names
from workbench.view.state import SessionState

COMMIT, PULL_REQUEST = "commit", "pr"
"""The names of the proposals, which are those of the commands."""


class GitProposal(Struct, frozen=True):
    """A line for the prompt, where the user edits and sends it, with a notice to show; empty for none."""

    line: str
    notice: str = ""


class Committable(Struct, frozen=True):
    """What a commit could have: what is staged, or else the session's files that differ from the last commit."""

    staged: Sequence[str]
    submodules: Sequence[str]
    files: Sequence[str]
    """All of them, relative to the workspace."""
    committed: Mapping[str, str | None]
    """The text in the last commit of each file that differs from it."""


def committable(workspace: Path, changes: Collection[str]) -> Committable:
    """Return what `/commit` could commit, given the paths that the session changed. Raises WorkbenchError."""
    staged, submodules = staged_names(workspace)
    files = [*staged, *submodules] or uncommitted(workspace, changes)
    if not files:
        raise WorkbenchError("This session has no uncommitted changes")
    return Committable(staged, submodules, files, text_at_head(workspace))


def commit_proposal(state: SessionState, what: Committable, *, has_trailers: bool) -> GitProposal:
    """Return the command that commits exactly what is staged, or else the session's changes."""
    if what.staged or what.submodules:
        counts = [counted(len(what.staged), "file")] if what.staged else []
        counts += [counted(len(what.submodules), "submodule")] if what.submodules else []
        line = staged_commit_command(state, what.files, what.committed, has_trailers=has_trailers)
        return GitProposal(line, f"This commits exactly what is staged, in {' and '.join(counts)}")
    line = commit_command(state, what.files[:MOST_FILES], what.committed, has_trailers=has_trailers)
    more = f"{MOST_FILES} of {len(what.files)} files; /commit again for the others"
    return GitProposal(line, more if len(what.files) > MOST_FILES else "")


def pull_request_proposal(
    state: SessionState, branch: CheckedOutBranch, env: Mapping[str, str], *, has_trailers: bool
) -> GitProposal:
    """Return the command that pushes the branch and opens a pull request."""
    program = opener(env)
    line = pull_request_command(state, branch, program, has_trailers=has_trailers)
    return GitProposal(line, "" if program else "Neither gh nor glab is installed: this pushes the branch alone")


def proposal_of(
    state: SessionState, name: str, workspace: Path, env: Mapping[str, str], *, has_trailers: bool
) -> GitProposal:
    """Return the proposal of that name; blocks. Raises WorkbenchError."""
    if name == COMMIT:
        return commit_proposal(state, committable(workspace, list(state.changes)), has_trailers=has_trailers)
    if name == PULL_REQUEST:
        return pull_request_proposal(state, checked_out(workspace), env, has_trailers=has_trailers)
    raise UsageError(f"there is no proposal {name!r}")


def state_of(session_file: Path) -> SessionState:
    """Return the state of the session in a file, as a screen that opens it has it; blocks. Raises StoreError."""
    history, state = read_history(Store.open(session_file, readonly=True)), SessionState()
    if history.digest is not None:
        begin_after(state, settled(history.digest))
    for event in history:
        apply(state, event)
    return state
