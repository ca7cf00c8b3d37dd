"""Puts the files of a version into a new directory: a worktree of the user's repository, or else a plain copy."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.config.locations import Locations
from workbench.errors import UsageError, WorkbenchError
from workbench.files.git import run_git
from workbench.session.workspace.repository import GENERATED, LARGEST, SnapshotError, SnapshotRepository, put_file
from workbench.session.workspace.restore import restore_paths
from workbench.text import visible_path

_TIMEOUT = 120.0
"""The most seconds that git may take to check out the files of a worktree."""


def free_directory(directory: Path, workspace: Path) -> Path:
    """Return the absolute path of a directory to be created. Raises UsageError if it cannot be created there."""
    path = directory.expanduser().absolute()
    path = path.parent.resolve() / path.name
    name = visible_path(str(path))
    if os.path.lexists(path):
        raise UsageError(f"{name} exists already; give another directory")
    if not path.parent.is_dir():
        raise UsageError(f"there is no directory {visible_path(str(path.parent))}; create it first")
    if path.is_relative_to(workspace):
        raise UsageError(f"{name} is inside the directory of the session; give one beside it")
    return path


def default_directory(workspace: Path, name: str) -> Path:
    """Return the path of a directory beside the workspace, or beside the repository around it, named after a
    session.
    """
    root = repository_around(workspace) or workspace
    return root.with_name(f"{root.name}-{name.rpartition('-')[2]}")


@contextmanager
def new_directory(
    locations: Locations, versions: SnapshotRepository, version: str, directory: Path, session: str
) -> Iterator[Path]:
    """Create the directory with the files of a version and yield the workspace in it; it is removed on any error.

    If the original workspace is in a git repository with a commit, the directory is a worktree on a new branch
    `ohw/SESSION`, and the new workspace has the same path in it. Raises WorkbenchError.
    """
    workspace = versions.workspace
    root = repository_around(workspace)
    branch = f"ohw/{session}"
    try:
        if root is None:
            directory.mkdir()
            inside = directory
        else:
            _git(root, "worktree", "add", "-q", "--no-checkout", "-b", branch, str(directory), "HEAD")
            _git(directory, "read-tree", "--reset", "-u", "HEAD")
            inside = directory / workspace.relative_to(root)
            inside.mkdir(parents=True, exist_ok=True)
        _write(locations, versions, version, inside, session)
        yield inside.resolve()
    except BaseException as error:
        shutil.rmtree(directory, ignore_errors=True)
        if root is not None:
            run_git(["worktree", "prune"], cwd=root)
            run_git(["update-ref", "-d", f"refs/heads/{branch}"], cwd=root)
        if isinstance(error, OSError):
            name = visible_path(str(directory))
            raise WorkbenchError(f"the directory {name} could not be written: {error.strerror}") from error
        raise


def repository_around(workspace: Path) -> Path | None:
    """Return the root of the git repository around a directory; None if there is none, or none with a commit."""
    if not workspace.is_dir():
        return None
    root = run_git(["rev-parse", "--show-toplevel"], cwd=workspace)
    if not root.ok or not run_git(["rev-parse", "--verify", "-q", "HEAD"], cwd=workspace).ok:
        return None
    path = Path(os.fsdecode(root.output.removesuffix(b"\n")))
    return path if workspace.is_relative_to(path) else None


def _git(directory: Path, *arguments: str) -> bytes:
    answer = run_git(arguments, cwd=directory, timeout=_TIMEOUT)
    if not answer.ok:
        reason = (answer.error.splitlines() or ["no reason given"])[-1]
        raise WorkbenchError(f"git {arguments[0]} failed: {reason}")
    return answer.output


def _write(locations: Locations, versions: SnapshotRepository, version: str, inside: Path, session: str) -> None:
    """Make a directory match a version, but keep files that no version can contain."""
    own = SnapshotRepository(locations, inside, session)
    own.prepare()
    share_versions(own, versions)
    contained = {change.path for change in own.files_of(version)}
    for path in _checked_out(inside):
        if path not in contained:
            (inside / path).unlink()
    restore_paths(own, version, force=True)


def _checked_out(inside: Path) -> list[str]:
    """Return the files of a worktree that a version can contain, which are neither ignored nor too large."""
    ignored = {*_listed(inside, "--ignored", "--cached", "--exclude-standard")}
    paths = (path for path in _listed(inside) if path not in ignored and GENERATED.isdisjoint(path.split("/")))
    return [path for path in paths if _is_small(inside / path)]


def _listed(inside: Path, *options: str) -> list[str]:
    answer = run_git(["ls-files", "-z", *options], cwd=inside)
    return [os.fsdecode(name) for name in answer.output.split(b"\0") if name] if answer.ok else []


def _is_small(path: Path) -> bool:
    return os.path.lexists(path) and not path.is_dir() and path.lstat().st_size <= LARGEST


def share_versions(own: SnapshotRepository, *others: SnapshotRepository) -> None:
    """Let one repository read the versions of others, and the versions that those can read. Raises SnapshotError."""
    try:
        lines = [line for other in others for line in _object_directories(other)]
        (own.directory / "objects/info").mkdir(exist_ok=True)
        put_file(own.directory / "objects/info/alternates", b"\n".join(lines) + b"\n")
    except OSError as error:
        raise SnapshotError(f"the directory of the file versions cannot be written: {error.strerror}") from error


def _object_directories(repository: SnapshotRepository) -> list[bytes]:
    more = repository.directory / "objects/info/alternates"
    inherited = more.read_bytes().splitlines() if more.exists() else ()
    return [os.fsencode(repository.directory / "objects"), *inherited]
