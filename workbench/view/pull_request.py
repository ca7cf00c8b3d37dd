"""The pull request that `/pr` proposes: a command that pushes the branch and opens it, with a title and a text.

Title and text are made from the log, without a model. The command goes into the prompt, where the user edits it; it
runs outside the sandbox, because it needs the user's keys.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from workbench.errors import WorkbenchError
from workbench.files.git import run_git
from workbench.processes.spawn import find_program
from workbench.text import first_line
from workbench.view.commit_message import message_parts
from workbench.view.state import SessionState

_REMOTE = "origin"
_DEFAULT = frozenset({"main", "master", "trunk"})


class CheckedOutBranch(Struct, frozen=True):
    """The checked-out branch, and the default one of the remote, which is empty if that is not known."""

    name: str
    base: str

    @property
    def is_default(self) -> bool:
        """Whether the branch is the one that a pull request would change."""
        return self.name == self.base or (not self.base and self.name in _DEFAULT)


def checked_out(workspace: Path) -> CheckedOutBranch:
    """Return the branch of a workspace. Raises WorkbenchError if a pull request of it is not possible."""
    name = _rev_parse(workspace, "--abbrev-ref", "HEAD")
    if not name:
        raise WorkbenchError("/pr needs a git repository with a commit")
    if name == "HEAD":
        raise WorkbenchError("/pr needs a branch, and none is checked out: git switch -c NAME")
    base = _rev_parse(workspace, "--abbrev-ref", f"{_REMOTE}/HEAD").removeprefix(f"{_REMOTE}/")
    if base:
        ahead = run_git(["log", "--max-count=1", "--format=%H", f"{_REMOTE}/{base}..HEAD", "--"], cwd=workspace)
        if ahead.ok and not ahead.output.strip():
            raise WorkbenchError(f"there is no commit that {_REMOTE}/{base} lacks; /commit makes one")
    return CheckedOutBranch(name, base)


def _rev_parse(workspace: Path, *words: str) -> str:
    answer = run_git(["rev-parse", *words], cwd=workspace)
    return first_line(os.fsdecode(answer.output)).strip() if answer.ok else ""


def opener(env: Mapping[str, str]) -> str:
    """Return the program that opens pull requests here, `gh` or `glab`; empty if neither is installed."""
    return next((name for name in ("gh", "glab") if find_program(name, env)), "")


def pull_request_command(state: SessionState, branch: CheckedOutBranch, program: str, *, has_trailers: bool) -> str:
    """Return the line for the prompt that pushes the branch, and opens a pull request with `program` if there is one.

    From the default branch it first creates another, named after the session.
    """
    name = f"ohw/{state.session_id}" if branch.is_default else branch.name
    steps = [f"cd {shlex.quote(state.workspace)}"]
    steps += [f"git switch -c {shlex.quote(name)}"] if branch.is_default else []
    steps.append(f"git push -u {_REMOTE} {shlex.quote(name)}")
    if program:
        files = [os.path.relpath(path, state.workspace) for path in state.changes]
        title, *rest = message_parts(state, files, {}, has_trailers=has_trailers)
        steps.append(_opening(program, name, branch.base, title, "\n\n".join(rest)))
    return f"!!{' && '.join(steps)}"


def _opening(program: str, name: str, base: str, title: str, text: str) -> str:
    if program == "gh":
        words = ["gh", "pr", "create", "--head", name, "--title", title, "--body", text]
        return shlex.join([*words, *(("--base", base) if base else ())])
    words = ["glab", "mr", "create", "--yes", "--source-branch", name, "--title", title, "--description", text]
    return shlex.join([*words, *(("--target-branch", base) if base else ())])
