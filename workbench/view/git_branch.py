"""Reads the branch of a directory without a process, and whether its tree has changes; used by the status line."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from workbench.text import visible

_MOST = 4096
"""The most bytes read from `HEAD`, or from a `.git` that is a file."""


def current_branch(directory: Path) -> str:
    """Return the branch's name, seven digits of a detached commit, or "" outside of git."""
    git = next((parent / ".git" for parent in (directory, *directory.parents) if (parent / ".git").exists()), None)
    if git is None:
        return ""
    try:
        if git.is_file():  # a worktree or submodule names its git directory here
            git = (git.parent / _text_of(git).removeprefix("gitdir:").strip()).resolve()
        head = _text_of(git / "HEAD").strip()
    except (OSError, UnicodeDecodeError, ValueError):
        return ""
    name = head.removeprefix("ref: refs/heads/")
    return visible(name if name != head else head[:7], lines=False)


def is_dirty(directory: Path) -> bool:
    """Return whether git sees changes in the tree; blocks. Runs no program that the repository configures."""
    from workbench.files.git import run_git

    return bool(run_git(["status", "--porcelain", "--untracked-files=normal"], cwd=directory).output)


def _text_of(path: Path) -> str:
    """Return the beginning of a regular file, or "" for anything else: reading a pipe may block.

    Raises OSError, or UnicodeDecodeError if it is not UTF-8.
    """
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        is_plain = stat.S_ISREG(os.fstat(number).st_mode)
        return os.read(number, _MOST).decode() if is_plain else ""
    finally:
        os.close(number)
