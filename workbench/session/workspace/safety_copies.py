"""Copies of files that commands delete or overwrite, and the list of these copies; used by `ohw restore`."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import BinaryIO

import msgspec

from workbench.errors import WorkbenchError
from workbench.files.git import OwnRepository
from workbench.lazy_pattern import lazy_pattern
from workbench.secrets.masker import MASKER
from workbench.session.workspace.metadata import Metadata
from workbench.session.workspace.repository import Change, SnapshotError, SnapshotRepository, listed, put_file
from workbench.session.workspace.restore import RestoredCount, restore_paths, set_permissions

_OBJECT = lazy_pattern("[0-9a-f]{40}|[0-9a-f]{64}")
_ID = 8
"""How many characters of a version's id are the id of its copy."""


class CopyDetails(msgspec.Struct, frozen=True):
    """Details of a copy: the command that touches the files, the session, the files' size in bytes, and metadata."""

    command: str
    session: str
    size: int
    metadata: Metadata | None = None


@dataclass(frozen=True)
class SafetyCopy:
    """One copy: `version` contains exactly its files; `id` is the name by which the user refers to it."""

    id: str
    at: str
    session: str
    command: str
    version: str
    count: int
    size: int
    modes: Mapping[str, int] = field(default_factory=dict)
    """Permissions that differ from the defaults; only in copies made before 0.1. Newer versions have them in their
    metadata.
    """
    copied: int = 0
    """How many of the files were in no version before."""


class SafetyCopies:
    """The safety copies of one workspace."""

    def __init__(self, repository: SnapshotRepository) -> None:
        self._repository = repository
        self._file = repository.directory / "copies.jsonl"

    def keep(self, paths: Sequence[str], held: Sequence[str], what: CopyDetails) -> SafetyCopy:
        """Copy `paths`, and add the files `held` from the last version. Raises SnapshotError."""
        version = tree_of_files(self._repository, paths, held, what.metadata)
        return self._note(version, len(paths) + len(held), what, copied=len(paths))

    def keep_deleted(self, deleted: Sequence[Change], version: str, what: CopyDetails) -> SafetyCopy:
        """Record a copy of files that `version` contains and that have since been deleted. Raises SnapshotError."""
        return self._note(tree_of_deleted(self._repository, deleted, version), len(deleted), what)

    def _note(self, version: str, count: int, what: CopyDetails, copied: int = 0) -> SafetyCopy:
        self._hold(version)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        command = MASKER.masked(what.command)[:500]
        copy = SafetyCopy(version[:_ID], at, what.session, command, version, count, what.size, copied=copied)
        try:
            with self._opened(os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file:
                file.write(json.dumps(asdict(copy)).encode() + b"\n")
        except OSError as error:
            raise SnapshotError(f"the copy cannot be written down: {error.strerror}") from error
        return copy

    def all(self) -> list[SafetyCopy]:
        """Return all copies, newest first; unreadable lines of the list are skipped."""
        try:
            with self._opened(os.O_RDONLY) as file:
                lines = file.read().splitlines()
        except OSError:
            return []
        by_id = {copy.id: copy for copy in map(_read, lines) if copy is not None}
        return sorted(by_id.values(), key=lambda copy: copy.at, reverse=True)

    def _opened(self, flags: int) -> BinaryIO:
        """Open the list. Raises OSError if it is not a regular file, since reading anything else may block."""
        descriptor = os.open(self._file, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is not a regular file")
        return os.fdopen(descriptor, "ab" if flags & os.O_APPEND else "rb")

    def restore(self, name: str, paths: Collection[str] = (), *, force: bool = False) -> RestoredCount:
        """Write the files of a copy (only those at or below `paths`, if given) that differ from it.

        Raises WorkbenchError and writes nothing if there is no such copy, if it was pruned, or if a file has other
        content now and `force` is not given.
        """
        copy = self.named(name)
        if copy is None:
            raise WorkbenchError(f"no copy {name}; `ohw restore` lists them")
        done = restore_paths(self._repository, copy.version, paths, force=force)
        for path, mode in copy.modes.items():
            set_permissions(self._repository, path, mode)
        return done

    def _hold(self, version: str) -> None:
        """Protect the files of a copy from being pruned for as long as copies are kept."""
        path = self._repository.directory / "refs" / "held" / version[:_ID]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            put_file(path, f"{version}\n".encode())
        except OSError as error:
            raise SnapshotError(f"the copy cannot be saved: {error.strerror}") from error

    def paths_of(self, copy: SafetyCopy) -> frozenset[str]:
        """Return the paths of the files in a copy. Raises SnapshotError."""
        return frozenset(change.path for change in self._repository.files_of(copy.version))

    def named(self, name: str) -> SafetyCopy | None:
        """Return the copy whose id begins with `name`, or None. Raises WorkbenchError if there is more than one."""
        matching = [copy for copy in self.all() if copy.id.startswith(name)]
        if len(matching) > 1:
            raise WorkbenchError(f"more than one copy {name}; `ohw restore` lists them")
        return matching[0] if matching else None


def _read(line: bytes) -> SafetyCopy | None:
    """Return the copy in a line of the list; None if the line is not valid, as any program can write there."""
    try:
        copy = msgspec.json.decode(line, type=SafetyCopy)
    except (ValueError, RecursionError):
        return None
    return copy if _OBJECT.fullmatch(copy.version) and copy.version.startswith(copy.id) and copy.id else None


def tree_of_files(
    repository: SnapshotRepository, paths: Iterable[str], held: Iterable[str] = (), metadata: Metadata | None = None
) -> str:
    """Return a version with just these files, even ignored ones; `held` files are taken from the last version."""
    with repository.other_index() as own:
        # with --remove, a file that has just been deleted is skipped
        repository.git(["update-index", "--add", "--remove", "-z", "--stdin"], listed(paths), own=own)
        return _written(repository, own, _entries(repository, held), metadata or Metadata())


def tree_of_deleted(repository: SnapshotRepository, deleted: Iterable[Change], version: str) -> str:
    """Return a version with just these files, and with the empty directories that are gone, as they were in
    `version`.
    """
    metadata = repository.metadata_of(version)
    entries = {change.path: f"{change.mode_before} {change.before}\t".encode() for change in deleted}
    lines = [head + os.fsencode(path) + b"\0" for path, head in entries.items()]
    with repository.other_index() as own:
        gone = metadata.directories_missing(repository.workspace)
        return _written(repository, own, lines, metadata.only(entries, gone))


def _entries(repository: SnapshotRepository, paths: Iterable[str]) -> list[bytes]:
    """Return the last version's entries for these files, each terminated by a NUL."""
    names = {os.fsencode(path) for path in paths}
    if not names:
        return []
    entries = repository.git(["ls-files", "-s", "-z"]).split(b"\0")
    return [entry + b"\0" for entry in entries if entry.partition(b"\t")[2] in names]


def _written(repository: SnapshotRepository, own: OwnRepository, entries: Sequence[bytes], metadata: Metadata) -> str:
    if entries:
        repository.git(["update-index", "-z", "--index-info"], b"".join(entries), own=own)
    if metadata.to_bytes():
        repository.store_metadata(own=own, now=metadata)
    return repository.git(["write-tree"], own=own).decode().strip()
