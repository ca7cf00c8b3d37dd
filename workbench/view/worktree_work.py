"""What would be lost with the directory of a worktree: uncommitted changes, ignored files and submodules.

Blocks while git runs. What git cannot read is reported as unknown, never as clean.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from workbench.files.git import GitAnswer, run_git
from workbench.text import counted, first_line

_STATUS = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
_SUBMODULE = b"160000 "


class Work(Struct, frozen=True):
    """What is in a directory and in no commit."""

    changed: int = 0
    """The number of files with changes that are not committed, in submodules as well."""
    ignored: int = 0
    """The number of ignored files; a directory that is ignored as a whole counts as one."""
    submodules: int = 0
    """The number of submodules; the repositories of those that are checked out are deleted with the worktree."""
    problem: str = ""
    """Git's reason why nothing is known about the directory; empty if it is known."""
    digest: str = ""
    """A value that changes with any of these, with the commit, and when a changed file is written again."""

    @property
    def needs_force(self) -> bool:
        """Whether git refuses to delete the directory unless forced."""
        return bool(self.problem or self.changed or self.submodules)

    @property
    def parts(self) -> Sequence[str]:
        """What there is, in words that are safe to show."""
        if self.problem:
            return (f"an unknown state ({self.problem})",)
        changed = f"{counted(self.changed, 'file')} with uncommitted changes" if self.changed else ""
        submodules = counted(self.submodules, "submodule") if self.submodules else ""
        ignored = f"{counted(self.ignored, 'ignored file')}" if self.ignored else ""
        return tuple(filter(None, (changed, submodules, ignored)))


def work_in(directory: Path) -> Work:
    """Return what is in the directory of a worktree and in no commit."""
    status = run_git(_STATUS, cwd=directory)
    index = run_git(["ls-files", "--stage", "-z"], cwd=directory)
    if not (status.ok and index.ok):
        return _unknown(status if not status.ok else index)
    submodules = list(_submodules(index.output, directory))
    answers = {directory: status} | {
        each: run_git(_STATUS, cwd=each) for each in submodules if os.path.lexists(each / ".git")
    }
    digest, changed, ignored = blake2b(digest_size=16), 0, 0
    for root, answer in answers.items():
        if not answer.ok:
            return _unknown(answer)
        head = run_git(["rev-parse", "HEAD"], cwd=root)
        digest.update(b"\0".join((os.fsencode(root), head.output, answer.output)))
        for entry in filter(None, answer.output.split(b"\0")):
            is_ignored = entry.startswith(b"!! ")
            ignored += is_ignored
            changed += not is_ignored
            digest.update(b"" if is_ignored else _stamp(root / os.fsdecode(entry[3:])))
    return Work(changed, ignored, len(submodules), digest=digest.hexdigest())


def git_problem(error: str) -> str:
    """Return the last line of what git said, which has the cause, safe to show."""
    lines = [line for line in error.splitlines() if line.strip()]
    return first_line(lines[-1] if lines else "git gave no reason", 200).removeprefix("fatal: ")


def _unknown(answer: GitAnswer) -> Work:
    return Work(problem=git_problem(answer.error))


def _submodules(index: bytes, directory: Path) -> Iterator[Path]:
    """Yield the directories of the submodules among the entries of an index."""
    for entry in index.split(b"\0"):
        if entry.startswith(_SUBMODULE):
            yield directory / os.fsdecode(entry.partition(b"\t")[2])


def _stamp(path: Path) -> bytes:
    """Return a value that changes whenever the file is written."""
    try:
        info = path.lstat()
    except OSError:
        return b"-"
    return f"{info.st_mtime_ns} {info.st_size}".encode()
