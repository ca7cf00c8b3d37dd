"""Each way in which a repository makes an ordinary git run its program; none of our own git calls does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.git_traps import TRAPS, Trap, sang, spring, trapped
from workbench.config.locations import Locations
from workbench.diff.hunks import compare
from workbench.files.git import run_git
from workbench.view.git_branch import current_branch, is_dirty
from workbench.view.review.review import files_against_head
from workbench.view.review.staging import CannotStage, IndexSide
from workbench.view.worktrees import add_worktree, list_worktrees, merge_scope, remove_worktree

CALLS = (
    ["status", "--porcelain"],
    ["diff", "HEAD"],
    ["diff", "--stat", "HEAD"],
    ["diff-index", "-p", "HEAD"],
    ["diff-files", "-p"],
    ["diff-tree", "-p", "HEAD^", "HEAD"],
    ["show", "HEAD"],
    ["log", "-p"],
    ["log", "--alternate-refs"],
    ["log", "--show-signature"],
    ["log", "--format=%G? %GG %GK"],
    ["ls-files", "--others", "--exclude-standard"],
    ["ls-tree", "HEAD"],
    ["rev-parse", "HEAD"],
    ["cat-file", "blob", "HEAD:a.txt"],
    ["cat-file", "--textconv", "HEAD:a.txt"],
    ["cat-file", "--filters", "HEAD:a.txt"],
    ["hash-object", "-w", "a.txt"],
    ["update-index", "--refresh"],
    ["check-ignore", "a.txt"],
    ["add", "-A"],
    ["write-tree"],
    ["update-ref", "refs/heads/new", "HEAD"],
    ["read-tree", "-u", "--reset", "HEAD"],
    ["worktree", "add", "-q", "--no-checkout", "-b", "other", "../other", "HEAD"],
    ["worktree", "prune"],
    ["worktree", "add", "-q", "--no-track", "-b", "out", "../out", "HEAD"],
    ["worktree", "remove", "../out"],
    ["worktree", "remove", "--force", "../other"],
    ["apply", "-"],
    ["check-ref-format", "refs/heads/x"],
    ["merge-base", "HEAD", "HEAD"],
)


@pytest.mark.parametrize("command", ["prune", "repack"])
def test_objects_of_the_users_repository_are_never_deleted(command: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="user's repository"):
        run_git([command], cwd=tmp_path)


def staged_and_unstaged(directory: Path) -> dict[str, bool]:
    """Stage and unstage every change as the diff viewer does; return whether a filter prevented it."""
    problems = []
    for is_staged in (False, True):
        side = IndexSide(directory, is_staged=is_staged)
        for file in side.files():
            try:
                side.move(file, compare("", file.before, file.after), 0)
            except CannotStage as error:
                problems.append(str(error))
    return {"filter": any("the filter" in problem for problem in problems)}


def merged_back(directory: Path) -> list[str]:
    """Create a worktree, list what it changed, and remove it."""
    (add_worktree(directory, "fix") / "a.txt").write_text("changed\n")
    where = Locations.from_environment({"HOME": str(directory.parent)})
    (worktree,) = [each for each in list_worktrees(where, directory) if each.branch == "fix"]
    names = [Path(file.path).name for file in merge_scope(directory, worktree).files()]
    remove_worktree(where, directory, worktree, is_confirmed=True)
    return names


@pytest.mark.parametrize("trap", TRAPS, ids=str)
def test_own_git_calls_trigger_no_canary_that_ordinary_git_triggers(trap: Trap, tmp_path: Path) -> None:
    directory = trapped(trap, tmp_path)
    for arguments in CALLS:
        answer = run_git(arguments, cwd=directory)
        assert answer.code is not None, (arguments, answer.error)
        assert sang(directory) == "", arguments
    (directory / "a.txt").write_text("three\n")
    assert is_dirty(directory)
    assert files_against_head(directory)
    assert current_branch(directory) == "main"
    assert staged_and_unstaged(directory) == {"filter": "filter" in trap.attributes}
    assert merged_back(directory) == ["a.txt"]
    assert sang(directory) == ""
    assert spring(trap, directory), "an ordinary git runs nothing either: the trap proves nothing"
