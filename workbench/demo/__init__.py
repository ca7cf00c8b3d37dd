"""Copies the demo project, a small Python program with a failing test, to a directory.

`ohw demo` uses it; the model is the packaged script `scripted/demo`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from workbench.errors import UsageError
from workbench.files.git import run_git

DEMO_MODEL = "scripted/demo"
DEMO_RULES = ("allow $ python3 -m unittest", "allow $ python3 -m ledger book.txt")
"""Rules that allow the commands with which the scripted model checks the project, so that the demo does not ask about
them.
"""
DEMO_PROMPT = "The balance of book.txt is wrong and a test fails. Find out why and fix it."
_PROJECT = Path(__file__).parent / "project"


def copy_demo(target: Path | None = None) -> Path:
    """Copy the project to `target`, an empty or new directory (default: a private temporary one), and return its path.

    If git is installed, the copy is a repository with one commit. Raises UsageError if the copy fails.
    """
    directory = _new_directory(target)
    try:
        _copy(_PROJECT, directory)
    except OSError as error:
        raise UsageError(f"cannot copy the demo to {directory}: {error.strerror or error}") from error
    _commit(directory)
    return directory


def _new_directory(target: Path | None) -> Path:
    if target is None:
        return Path(tempfile.mkdtemp(prefix="ohw-demo-")).resolve() / "ledger"
    try:
        target.mkdir(parents=True, exist_ok=True, mode=0o700)
        if any(target.iterdir()):
            raise UsageError(f"{target} is not empty; name a new directory for the demo")
    except OSError as error:
        raise UsageError(f"cannot use the directory {target}: {error.strerror or error}") from error
    return target.resolve()


def _copy(source: Path, target: Path) -> None:
    """Copy a directory into new files that belong to the user and are writable, even if the installed ones are not."""
    target.mkdir(exist_ok=True, mode=0o700)
    for entry in source.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            _copy(entry, target / entry.name)
        elif entry.is_file():
            name = ".gitignore" if entry.name == "gitignore" else entry.name  # packaging would apply a `.gitignore`
            (target / name).write_bytes(entry.read_bytes())


def _commit(directory: Path) -> None:
    """Create a first commit by the demo's own author; if git is missing or fails, the demo works without it."""
    who = {"user.name": "ohw demo", "user.email": "demo@example.invalid"}
    ready = run_git(["init", "--quiet", "--initial-branch=main"], cwd=directory).ok
    tree = run_git(["write-tree"], cwd=directory) if ready and run_git(["add", "--all"], cwd=directory).ok else None
    if tree is not None and tree.ok:
        words = ["commit-tree", "-m", "A ledger that drops the sign", tree.output.decode().strip()]
        commit = run_git(words, cwd=directory, settings=who)
        if commit.ok:
            run_git(["update-ref", "HEAD", commit.output.decode().strip()], cwd=directory)
