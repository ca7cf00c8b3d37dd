"""Copies the demo project, a small Python program with a failing test, to a directory.

`ohw demo` uses it; the model is the packaged script `scripted/demo`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from workbench.errors import UsageError
from workbench.files.git import run_git

DEMO_MODEL = "scripted/demo"
DEMO_RULES = ("allow $ python3 -m unittest", "allow $ python3 -m ledger book.txt")
"""Rules that allow the commands with which the scripted model checks the project, so that the demo does not ask about
them.
"""
DEMO_PROMPT = "The balance of book.txt is wrong and a test fails. Find out why and fix it."
DEMO_PREFIX = "ohw-demo-"
"""How the names of the temporary directories of demos start."""
DEMO_DIRECTORY = "ledger"
"""The name of the project in such a directory."""
_PROJECT = Path(__file__).parent / "project"


def copy_demo(target: Path | None = None) -> Path:
    """Copy the project to `target`, an empty or new directory (default: a private temporary one), and return its path.

    If git is installed, the copy is a repository with one commit. Raises UsageError if the copy fails.
    """
    directory = _new_directory(target)
    try:
        _copy(directory)
    except OSError as error:
        raise UsageError(f"cannot copy the demo to {directory}: {error.strerror or error}") from error
    _commit(directory)
    return directory


def _new_directory(target: Path | None) -> Path:
    if target is None:
        return Path(tempfile.mkdtemp(prefix=DEMO_PREFIX)).resolve() / DEMO_DIRECTORY
    try:
        target.mkdir(parents=True, exist_ok=True, mode=0o700)
        if any(target.iterdir()):
            raise UsageError(f"{target} is not empty; name a new directory for the demo")
    except OSError as error:
        raise UsageError(f"cannot use the directory {target}: {error.strerror or error}") from error
    return target.resolve()


def demo_files() -> Iterator[tuple[str, bytes]]:
    """Yield the path in the project and the content of each of its files. Raises OSError."""
    for file in sorted(_PROJECT.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            name = ".gitignore" if file.name == "gitignore" else file.name  # packaging would apply a `.gitignore`
            yield file.relative_to(_PROJECT).with_name(name).as_posix(), file.read_bytes()


def _copy(target: Path) -> None:
    """Copy the project into new files that belong to the user and are writable, even if the installed ones are not."""
    for path, content in demo_files():
        (target / path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        (target / path).write_bytes(content)


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
