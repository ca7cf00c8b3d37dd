"""`ohw worktree` lists the git worktrees of the repository; `ohw worktree remove` deletes one."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from workbench.cli.common import print_line, settings_of, workspace_of
from workbench.errors import UsageError
from workbench.text import visible_path
from workbench.view.formatting.worktrees import worktree_note
from workbench.view.worktrees import Worktree, list_worktrees, remove_worktree


def worktree(arguments: Namespace) -> int:
    """List the worktrees, or remove one.

    Raises UsageError if none matches or it contains unsaved work, WorkbenchError if it cannot be removed.
    """
    where, _ = settings_of(arguments, lenient=True)
    workspace = workspace_of(arguments)
    if arguments.action != "remove":
        for each in list_worktrees(where, workspace):
            print_line(f"{'●' if each.is_here else '○'} {each.name}  {worktree_note(each)}")
        return 0
    if not arguments.name:
        raise UsageError("which one? `ohw worktree remove NAME`; `ohw worktree` lists them")
    chosen = _named(arguments.name, list_worktrees(where, workspace))
    if chosen.own_work and not (arguments.force or chosen.is_main or chosen.is_here):
        raise UsageError(f"{chosen.name} has {chosen.own_work}; --force removes it anyway")
    print_line(remove_worktree(where, workspace, chosen, is_confirmed=arguments.force))
    return 0


def _named(name: str, worktrees: list[Worktree]) -> Worktree:
    """Return the worktree with this branch, or in this directory. Raises UsageError if there is none."""
    path = os.path.realpath(Path(name).expanduser())
    for each in worktrees:
        if each.branch == name or os.path.realpath(each.path) == path:
            return each
    raise UsageError(f"there is no worktree {visible_path(name)}; `ohw worktree` lists them")
