"""The branch of a folder, read without a process, and whether its tree was changed; used by the status line."""

from __future__ import annotations

from pathlib import Path

from workbench.secret_names import child_environment
from workbench.text import visible

_PATIENCE = 10.0


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


def is_dirty(folder: Path) -> bool:
    """Whether git sees changes in the tree; blocks. No program that the folder names is run."""
    try:
        filters = _git(folder, "config", "--name-only", "--get-regexp", r"^filter\.")
        off = [part for name in filters.splitlines() for part in ("-c", f"{name}=")]
        status = ("status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all")
        return bool(_git(folder, *off, "-c", "core.fsmonitor=false", *status))
    except (OSError, ValueError, TimeoutError):
        return False


def _git(folder: Path, *words: str) -> str:
    import subprocess  # not needed before the first frame

    environment = {**child_environment(), "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError from error
    return done.stdout
