"""Workspaces of the client's machine for workers elsewhere: each becomes one archive, which is stored on the worker.

A worker that sees the same directory copies it itself. Another one asks for the archive, once for all its attempts.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from workbench.batch.attempt import TaskAttempt, WorkspaceOrigin
from workbench.batch.task import TaskSpec
from workbench.batch.task_files import is_url
from workbench.batch.workspaces import NoWorkspace, fill
from workbench.config.locations import private_directory
from workbench.errors import UsageError
from workbench.text import size_of, visible_path

MOST_SENT: Final = 2_000_000_000
"""The size in bytes of the largest archive that is sent to workers."""
_MOST_STORED: Final = 10_000_000_000
"""Bytes of archives in one directory, beyond which those that were not used for longest are deleted."""
_NAME: Final = r"(?:tree|file)-[0-9a-f]{32}"


def origin_of(task: TaskSpec) -> WorkspaceOrigin | None:
    """Return how a worker elsewhere gets the workspace of a task; None if it needs nothing from this machine."""
    if not task.workspace or is_url(task.workspace):
        return None
    kind = "file" if Path(task.workspace).is_file() else "tree"
    digest = hashlib.sha256(f"{task.workspace}\0{task.revision}".encode()).hexdigest()[:32]
    return WorkspaceOrigin(_identity(task.workspace), f"{kind}-{digest}")


def _identity(path: str) -> str:
    """Return what is the same for a path on two machines only if it is the same directory or file."""
    try:
        status = Path(path).stat()
    except OSError:
        return ""
    return f"{status.st_ino}:{status.st_mtime_ns}"


def archive_needed(attempt: TaskAttempt, directories: list[Path]) -> tuple[str, Path | None]:
    """Return the name of the archive that a worker lacks, or empty and the archive, if it needs one.

    `directories` are those in which archives may be.
    """
    origin = attempt.origin
    if origin is None or (origin.identity and origin.identity == _identity(attempt.task.workspace)):
        return "", None
    for directory in directories:
        archive = directory / checked_name(origin.archive)
        try:
            os.utime(archive)  # it is used now, so it is deleted last
        except OSError:
            continue
        return "", archive
    return origin.archive, None


def checked_name(name: str) -> str:
    """Return the name of an archive. Raises ValueError if it is none, such as a path."""
    if re.fullmatch(_NAME, name) is None:
        raise ValueError(f"{name!r} is not the name of an archive")
    return name


def make_archive(task: TaskSpec, directory: Path, run: Path, limit: int | None) -> Path:
    """Return the archive of a task's workspace in a directory, which is made if it is not there yet.

    The directory of the run, `run`, is left out of it. Raises NoWorkspace, also if it would be larger than `limit`
    bytes.
    """
    origin = origin_of(task)
    assert origin is not None
    archive = directory / origin.archive
    if not archive.exists():
        work = private_directory(directory) / f"new-{secrets.token_hex(6)}"
        try:
            _write(task, work, run)
            _check_size(task, work, limit)
            work.replace(archive)
        except (OSError, shutil.Error, tarfile.TarError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise NoWorkspace(f"{visible_path(task.workspace)} cannot be packed for workers: {reason}") from None
        finally:
            work.unlink(missing_ok=True)
        forget_oldest(directory)
    return archive


def _check_size(task: TaskSpec, archive: Path, limit: int | None) -> None:
    size = archive.stat().st_size
    if limit is not None and size > limit:
        raise NoWorkspace(
            f"{visible_path(task.workspace)} is {size_of(size)} as an archive, and at most {size_of(limit)} are sent "
            "to a worker; give a directory that the workers see with --shared, or the URL of a repository"
        )


def _write(task: TaskSpec, archive: Path, run: Path) -> None:
    """Write the archive of a workspace: an archive as it is, or what an attempt would get of a directory."""
    if Path(task.workspace).is_file():
        shutil.copyfile(task.workspace, archive)
        return
    tree = archive.with_name(f"{archive.name}-tree")
    tree.mkdir()
    try:
        fill(task, tree, run)
        with tarfile.open(archive, "w:gz", compresslevel=1) as file:
            file.add(tree, ".", filter=_without_owner)
    finally:
        shutil.rmtree(tree, ignore_errors=True)


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def forget_oldest(directory: Path, most: int = _MOST_STORED) -> None:
    """Delete the archives that were not used for longest, until at most this many bytes remain. Raises OSError."""
    entries = [(each.stat(), each.path) for each in os.scandir(directory) if re.fullmatch(_NAME, each.name)]
    remaining = sum(status.st_size for status, _ in entries)
    for status, path in sorted(entries, key=lambda entry: entry[0].st_mtime)[:-1]:
        if remaining <= most:
            break
        Path(path).unlink(missing_ok=True)
        remaining -= status.st_size


def store_part(directory: str, name: str, upload: str, data: bytes, *, is_last: bool) -> str:
    """Append a part of an archive on this worker, where it appears with its last part.

    `upload` is a name for this upload. Returns the reason if it cannot be stored, else "".
    """
    try:
        work = private_directory(Path(directory)) / f"new-{upload}"
        with work.open("ab") as file:
            file.write(data)
        if is_last:
            work.replace(Path(directory) / checked_name(name))
            forget_oldest(Path(directory))
    except (OSError, UsageError) as error:
        with suppress(OSError):
            Path(directory, f"new-{upload}").unlink(missing_ok=True)
        return getattr(error, "strerror", None) or str(error)
    return ""
