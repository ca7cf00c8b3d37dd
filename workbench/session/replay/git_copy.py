"""Creates a git repository in the copy of a workspace, like that of the workspace when the session began.

Objects are read from the user's repository; everything that git writes goes to the copy.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple

from workbench.files.git import run_git
from workbench.lazy_pattern import lazy_pattern

_COPIED: Final = ("HEAD", "config", "packed-refs", "shallow", "description", "index", "info", "refs", "logs", "hooks")
_ENTRY: Final = lazy_pattern(r"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*> (\d+) [+-]\d{4}(?:\t(.*))?")
_CHECKOUT: Final = lazy_pattern(r"checkout: moving from (\S+) to ")
_WORKTREE: Final = lazy_pattern(rb"(?i)\s*worktree\s*=")
_ID: Final = lazy_pattern(r"[0-9a-f]{40,64}")


def copy_repository(workspace: Path, target: Path, at: datetime) -> None:
    """Copy the repository of `workspace`, if it has one, to `target`, in its state at a time. Raises OSError.

    Branches are where their reflogs say that they were. The index is copied if it has not changed since, and otherwise
    read from the commit.
    """
    directories = _directories(workspace / ".git")
    if not directories or _is_younger(directories[0], at):
        return
    git = target / ".git"
    git.mkdir()
    for directory in directories:
        for name in _COPIED:
            _copy(directory / name, git / name)
    objects = directories[0] / "objects"
    (git / "objects/info").mkdir(parents=True)
    more = objects / "info/alternates"
    lines = [os.fsencode(objects), *(more.read_bytes().splitlines() if more.is_file() else ())]
    (git / "objects/info/alternates").write_bytes(b"\n".join(lines) + b"\n")
    (git / "refs").mkdir(exist_ok=True)
    config = git / "config"
    if config.is_file():  # the copy works on its own files
        lines_of_config = config.read_bytes().splitlines(keepends=True)
        config.write_bytes(b"".join(line for line in lines_of_config if not _WORKTREE.match(line)))
    _go_back(git, at)
    index = directories[-1] / "index"
    if not index.is_file() or index.stat().st_mtime > at.timestamp():
        run_git(["read-tree", "HEAD"], cwd=target)


def _is_younger(git: Path, at: datetime) -> bool:
    """Return whether a repository was created after a time; git writes its `description` only at creation."""
    description = git / "description"
    return description.is_file() and description.stat().st_mtime > at.timestamp()


def _directories(git: Path) -> list[Path]:
    """Return the directories of a repository: the shared one and, for a worktree, also its own. Empty if there is
    none.
    """
    if git.is_dir():
        return [git.resolve()]
    with suppress(OSError, UnicodeDecodeError):
        own = (git.parent / git.read_text().removeprefix("gitdir:").strip()).resolve()
        common = own / "commondir"
        shared = (own / common.read_text().strip()).resolve() if common.is_file() else own
        return [shared, own] if shared.is_dir() and own.is_dir() else []
    return []


def _copy(path: Path, target: Path) -> None:
    if path.is_dir():
        shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True)
    elif path.is_file():
        shutil.copy2(path, target)


class _Move(NamedTuple):
    """One line of a reflog."""

    before: str
    after: str
    seconds: int
    message: str


def _go_back(git: Path, at: datetime) -> None:
    """Move HEAD and the branches to where they were at a time, and remove later lines from their reflogs."""
    logs = git / "logs"
    head, later = _until(logs / "HEAD", at)
    branch = next((match[1] for move in later if (match := _CHECKOUT.match(move.message))), "")
    if branch:
        (git / "HEAD").write_text(f"{branch}\n" if _ID.fullmatch(branch) else f"ref: refs/heads/{branch}\n")
    for log in sorted((logs / "refs/heads").rglob("*")) if logs.is_dir() else ():
        if log.is_file():
            _move_branch(git, log, at)
    if head and later and _ID.fullmatch((git / "HEAD").read_text().strip()):
        (git / "HEAD").write_text(f"{head[-1].after}\n")


def _move_branch(git: Path, log: Path, at: datetime) -> None:
    earlier, later = _until(log, at)
    branch = git / log.relative_to(git / "logs")
    where = earlier[-1].after if earlier else later[0].before if later else ""
    if not later or not where:
        return
    if where.strip("0"):
        branch.parent.mkdir(parents=True, exist_ok=True)
        branch.write_text(f"{where}\n")
    else:
        branch.unlink(missing_ok=True)


def _until(log: Path, at: datetime) -> tuple[list[_Move], list[_Move]]:
    """Return the lines of a reflog from before a time, and the later ones, which are removed from the file."""
    if not log.is_file():
        return [], []
    lines = log.read_text(errors="surrogateescape").splitlines()
    moves = list(_moves(lines))
    earlier = list(takewhile(lambda move: move.seconds < int(at.timestamp()), moves))
    if len(earlier) < len(moves):
        log.write_text("".join(f"{line}\n" for line in lines[: len(earlier)]), errors="surrogateescape")
    return earlier, moves[len(earlier) :]


def _moves(lines: list[str]) -> Iterator[_Move]:
    for line in lines:
        match = _ENTRY.match(line)
        if match:
            yield _Move(match[1], match[2], int(match[3]), match[4] or "")
