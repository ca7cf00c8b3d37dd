"""The branch of a folder, read from `.git` without starting a process; used by the status line."""

from __future__ import annotations

from pathlib import Path

from workbench.text import visible


def current_branch(folder: Path) -> str:
    """The branch's name, seven digits of a detached commit, or nothing outside of git."""
    git = next((place / ".git" for place in (folder, *folder.parents) if (place / ".git").exists()), None)
    if git is None:
        return ""
    try:
        if git.is_file():  # a worktree or submodule says where its folder is
            git = (git.parent / git.read_text()[:4096].removeprefix("gitdir:").strip()).resolve()
        head = (git / "HEAD").read_text()[:4096].strip()
    except (OSError, UnicodeDecodeError, ValueError):
        return ""
    name = head.removeprefix("ref: refs/heads/")
    return visible(name if name != head else head[:7], lines=False)
