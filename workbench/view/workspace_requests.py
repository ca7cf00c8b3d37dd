"""What a screen asks about a workspace on another machine: its worktrees, its files, and what its git proposes.

`ohw workspace` there answers one request; it is started over the user's own ssh. All functions block.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from workbench.client.ssh import SshFailed, answer_there
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.protocol.codec import TaggedData, decode, decoder_of, encode
from workbench.session.session_names import session_path
from workbench.session.storage.cleanup import has_no_event
from workbench.view.git_proposals import GitProposal, proposal_of, state_of
from workbench.view.review.apply_text import FileNow, files_now
from workbench.view.review.review import Scope
from workbench.view.state import FileState, SessionState
from workbench.view.worktrees import LocalWorktrees, NewWorktree, Worktree, changes_to_merge, scope_of

if TYPE_CHECKING:
    from workbench.client.ssh_url import SshUrl

T = TypeVar("T")
COMMAND = "workspace"
"""The command of `ohw` that answers a request."""


class AnsweringMachine(msgspec.Struct, frozen=True):
    """What a request is answered from."""

    locations: Locations
    workspace: Path
    has_trailers: bool
    """Whether proposed commits have trailers, as the settings there say."""

    @property
    def worktrees(self) -> LocalWorktrees:
        """The worktrees around the workspace."""
        return LocalWorktrees(self.locations, self.workspace)


class ProposeCommand(TaggedData):
    """Propose a command for a session, as `git_proposals` does; the answer is a `GitProposal`."""

    name: str
    session: str

    def answer(self, machine: AnsweringMachine) -> GitProposal:
        """Return the proposal."""
        # The file of a session without a message may have no event yet.
        state = SessionState(session_id=self.session, workspace=str(machine.workspace))
        file = session_path(machine.locations, self.session)
        if file.exists() and not has_no_event(file):
            state = state_of(file)
        return proposal_of(state, self.name, machine.workspace, os.environ, has_trailers=machine.has_trailers)


class ListWorktrees(TaggedData):
    """List the worktrees."""

    def answer(self, machine: AnsweringMachine) -> list[Worktree]:
        """Return the worktrees, the main one first."""
        return machine.worktrees.all()


class AddWorktree(TaggedData):
    """Create a worktree on a new branch of that name."""

    name: str

    def answer(self, machine: AnsweringMachine) -> NewWorktree:
        """Create it."""
        return machine.worktrees.add(self.name)


class ListWorktreeChanges(TaggedData):
    """List the changes of a worktree that the workspace lacks."""

    worktree: Worktree

    def answer(self, machine: AnsweringMachine) -> list[FileState]:
        """Return the files to write in the workspace."""
        return list(changes_to_merge(machine.workspace, self.worktree))


class RemoveWorktree(TaggedData):
    """Delete a worktree's directory if it is still as listed."""

    worktree: Worktree
    is_confirmed: bool

    def answer(self, machine: AnsweringMachine) -> str:
        """Delete it, and return what was done."""
        return machine.worktrees.remove(self.worktree, is_confirmed=self.is_confirmed)


class ReadFiles(TaggedData):
    """Read files of the workspace, as `apply_text.WorkspaceReader` describes."""

    paths: tuple[str, ...]
    removed: tuple[str, ...] | None

    def answer(self, machine: AnsweringMachine) -> list[FileNow]:
        """Return the text of each."""
        return files_now(self.paths, self.removed)


Request = ProposeCommand | ListWorktrees | AddWorktree | ListWorktreeChanges | RemoveWorktree | ReadFiles
"""A request; its `answer` returns types that JSON can represent or structs of them, and raises WorkbenchError."""


def answered(line: bytes, machine: AnsweringMachine) -> str:
    """Return the answer to a request, which is one line of JSON, as one line of JSON. Raises WorkbenchError."""
    try:
        request: Request = decode(decoder_of(Request), line)
    except ValueError as error:
        raise WorkbenchError("this request is not one of this version of ohw") from error
    # `json` escapes the lone surrogates that stand for bytes of names that are not UTF-8; msgspec rejects them.
    return json.dumps(msgspec.to_builtins(request.answer(machine)))


def ask(url: SshUrl, request: Request, kind: type[T]) -> T:
    """Return the answer of the other machine, which is of that type.

    Raises WorkbenchError with the reason given there, or if there is no valid answer.
    """
    try:
        output = answer_there(url, COMMAND, encode(request))
    except SshFailed as error:
        raise WorkbenchError(str(error).removeprefix("ohw: ")) from error
    try:
        # A login may print something before.
        return msgspec.convert(json.loads(output.strip().rpartition(b"\n")[2]), kind)
    except (ValueError, RecursionError) as error:
        raise WorkbenchError(f"{url.host} answers something else than ohw; use the same version on both") from error


def read_files_there(url: SshUrl, paths: Sequence[str], removed: Collection[str] | None) -> list[FileNow]:
    """Return the texts of files on another machine, as `files_now` does there."""
    request = ReadFiles(paths=tuple(paths), removed=None if removed is None else tuple(removed))
    return ask(url, request, list[FileNow])


class RemoteWorktrees(msgspec.Struct, frozen=True):
    """The worktrees of a repository on another machine, around the workspace at a URL."""

    url: SshUrl

    def all(self) -> list[Worktree]:
        """Return the worktrees, the main one first."""
        return ask(self.url, ListWorktrees(), list[Worktree])

    def add(self, name: str) -> NewWorktree:
        """Create a worktree on a new branch of that name."""
        return ask(self.url, AddWorktree(name=name), NewWorktree)

    def merge_scope(self, worktree: Worktree) -> Scope:
        """Return the changes of a worktree that the workspace lacks, to be applied in the diff viewer."""
        return scope_of(worktree, lambda: ask(self.url, ListWorktreeChanges(worktree=worktree), list[FileState]))

    def remove(self, worktree: Worktree, *, is_confirmed: bool) -> str:
        """Delete a worktree's directory, and return what was done; `is_confirmed` agrees to lose what is only in it."""
        return ask(self.url, RemoveWorktree(worktree=worktree, is_confirmed=is_confirmed), str)
