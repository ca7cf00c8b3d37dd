"""The first snapshot of a directory: its index and objects, made from what is already stored wherever possible.

A file is not read if an index, of an earlier session or of the user's own repository, shows that it is unchanged and
that its exact bytes are stored as a blob. All other files are stored by several git processes at a time.

The blobs of the user's repository are copied into ours at once. A snapshot that only borrowed them would lose them when
the user cleans up, rewrites or deletes that repository. Each copy is compared with its hash; if a blob is damaged or
forged, the files are read after all.
"""

from __future__ import annotations

import os
from binascii import hexlify
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import msgspec

from workbench.files.git import OwnRepository, run_git
from workbench.session.workspace.file_signatures import TICK
from workbench.session.workspace.index_file import (
    MODIFIED,
    Entry,
    blob_of,
    is_unchanged,
    read_index,
    size_of,
    stat_of,
    write_index,
)
from workbench.session.workspace.retention import BUILDING
from workbench.session.workspace.trees import packed_trees

_BATCH = 2_000
"""The most files that one process stores; git compares each file with all others of its pack."""
_MOST_PROCESSES = 4
IN_ONE_PACK = {"core.bigFileThreshold": "1", "pack.compression": "1"}
"""Git settings that store files in one pack: git streams files above the threshold, in bytes, into a pack."""
_CONVERTED = ("filter", "working-tree-encoding")
"""The attributes with which the blob of a file may differ from the file's bytes in spite of the same size.

Conversions of line ends and of `$Id$` change the size if they change anything.
"""
_NO_VALUE = frozenset({b"unspecified", b"unset"})


class Git(Protocol):
    """Runs git on our repository, as `SnapshotRepository.git` does; raises SnapshotError."""

    def __call__(
        self,
        arguments: Sequence[str],
        data: bytes = b"",
        *,
        timeout: float = ...,
        own: OwnRepository | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> bytes:
        """Return the output of git."""


class _UserRepository(msgspec.Struct, frozen=True):
    """The index and the objects of the user's own repository, and the path of the workspace in it."""

    index: Path
    objects: Path
    prefix: bytes


def fill_index(
    own: OwnRepository, git: Git, statuses: Mapping[str, os.stat_result], began: int, timeout: float
) -> None:
    """Store these files and write an index of them. Raises OSError, ValueError or SnapshotError.

    `began` is a time, in nanoseconds, before the files' statuses were taken.
    """
    if own.index is None:
        raise ValueError("a repository without an index")
    stats = {os.fsencode(path): stat_of(status) for path, status in statuses.items()}
    entries = _of_earlier_session(own, own.index, stats)
    entries |= _of_user(own, _without(stats, entries), timeout)
    entries |= _stored(own, git, sorted(_without(stats, entries)), timeout)
    git(["index-pack", "--stdin"], packed_trees(entries), timeout=timeout)
    # git compares the contents of files that were changed since: they may have changed while they were read
    write_index(own.index, entries, began - TICK)


def _without(stats: Mapping[bytes, bytes], entries: Collection[bytes]) -> Mapping[bytes, bytes]:
    return {path: status for path, status in stats.items() if path not in entries} if entries else stats


def _of_earlier_session(own: OwnRepository, index: Path, stats: Mapping[bytes, bytes]) -> dict[bytes, Entry]:
    """Return the files that are unchanged since the latest index of another session, and whose blobs still exist."""
    with suppress(OSError, ValueError):
        indexes = [path for path in own.git_dir.glob("index-*") if path != index and not path.suffix]
        if indexes:
            return _stored_exactly(own, _unchanged(max(indexes, key=_modified), stats))
    return {}


def _modified(path: Path) -> int:
    return path.stat().st_mtime_ns


def _of_user(own: OwnRepository, stats: Mapping[bytes, bytes], timeout: float) -> dict[bytes, Entry]:
    """Return the files that are unchanged since the user's repository recorded them, and copy their blobs into ours."""
    user = _user_repository(own.work_tree) if stats else None
    if user is None:
        return {}
    with suppress(OSError, ValueError):
        entries = _unchanged(user.index, stats, user.prefix)
        entries = _without_converted(own.work_tree, entries)
        both = msgspec.structs.replace(own, also_read=user.objects)
        entries = _stored_exactly(both, entries)
        if _copied(both, {blob_of(entry) for entry in entries.values()}, timeout):
            return entries
    return {}


def _user_repository(workspace: Path) -> _UserRepository | None:
    """Return the git repository around a workspace; None if there is none or ours cannot use its objects."""
    asked = ("--show-object-format", "--show-prefix", "--git-path", "index", "--git-path", "objects")
    answer = run_git(["rev-parse", *asked], cwd=workspace)
    lines = answer.output.split(b"\n")
    if not answer.ok or len(lines) != len(("format", "prefix", "index", "objects", "")) or lines[0] != b"sha1":
        return None
    index, objects = (Path(os.path.realpath(workspace / os.fsdecode(line))) for line in lines[2:4])
    if {":", '"'}.intersection(str(objects)):
        return None  # git would take the path for several
    return _UserRepository(index, objects, lines[1])


def _unchanged(index: Path, stats: Mapping[bytes, bytes], prefix: bytes = b"") -> dict[bytes, Entry]:
    """Return the files that are unchanged according to an index, except those changed when it was written or later."""
    entries, written = read_index(index)
    pairs = ((path, status, entries.get(prefix + path)) for path, status in stats.items())
    return {
        path: status + blob_of(entry)
        for path, status, entry in pairs
        if entry is not None and is_unchanged(entry, status) and status[MODIFIED] < written
    }


def _without_converted(workspace: Path, entries: Mapping[bytes, Entry]) -> dict[bytes, Entry]:
    """Return the entries without files that git converts, whose blobs may differ from their bytes."""
    answer = run_git(["check-attr", "-z", "--stdin", *_CONVERTED], cwd=workspace, data=b"\0".join(entries) + b"\0")
    if not answer.ok:
        return {}
    words = answer.output.split(b"\0")
    converted = {path for path, value in zip(words[:-1:3], words[2::3], strict=True) if value not in _NO_VALUE}
    return {path: entry for path, entry in entries.items() if path not in converted}


def _stored_exactly(own: OwnRepository, entries: Mapping[bytes, Entry]) -> dict[bytes, Entry]:
    """Return the entries of files whose blobs exist and have the files' sizes."""
    names = {path: hexlify(blob_of(entry)) for path, entry in entries.items()}
    command = ["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", "--buffer"]
    answer = run_git(command, cwd=own.work_tree, own=own, data=_lines(names.values()))
    stored = set(answer.output.split(b"\n"))
    return {path: entry for path, entry in entries.items() if b"%b blob %d" % (names[path], size_of(entry)) in stored}


def _lines(words: Iterable[bytes]) -> bytes:
    return b"".join(word + b"\n" for word in words)


def _copied(own: OwnRepository, blobs: Collection[bytes], timeout: float) -> bool:
    """Copy blobs from the other repository that `own` reads; return whether they are all there and undamaged."""
    if not blobs:
        return False
    with TemporaryDirectory(prefix=BUILDING, dir=own.git_dir) as name:
        pack = Path(name) / "pack"
        pack.mkdir()
        names = _lines(map(hexlify, blobs))
        command = ["pack-objects", "-q", "--window=0", str(pack / "pack")]
        answer = run_git(command, cwd=own.work_tree, own=own, data=names, timeout=timeout, settings=IN_ONE_PACK)
        check = ["verify-pack", *map(str, pack.glob("*.idx"))]
        if not (answer.ok and run_git(check, cwd=own.work_tree, own=own, timeout=timeout).ok):
            return False
        _adopt(Path(name), own)
    return True


def _stored(own: OwnRepository, git: Git, paths: Sequence[bytes], timeout: float) -> dict[bytes, Entry]:
    """Store files, several batches at a time, and return their entries; files that no longer exist have none."""
    entries: dict[bytes, Entry] = {}
    with TemporaryDirectory(prefix=BUILDING, dir=own.git_dir) as name:

        def store(number: int) -> Path:
            """Store one batch in a separate directory, because git becomes slower with the number of packs."""
            part = Path(name) / str(number)
            (part / "objects/pack").mkdir(parents=True)
            batch = paths[number * _BATCH : (number + 1) * _BATCH]
            apart = msgspec.structs.replace(own, index=part / "index", objects=part / "objects")
            command = ["update-index", "--add", "--remove", "-z", "--stdin"]
            git(command, b"\0".join(batch) + b"\0", timeout=timeout, own=apart, settings=IN_ONE_PACK)
            return part

        with ThreadPoolExecutor(min(_MOST_PROCESSES, os.cpu_count() or 1)) as pool:
            for part in pool.map(store, range(-(-len(paths) // _BATCH))):
                with suppress(FileNotFoundError):  # every file of the batch is gone
                    entries |= read_index(part / "index")[0]
                _adopt(part / "objects", own)
    return entries


def _adopt(objects: Path, own: OwnRepository) -> None:
    """Move objects into our repository, each pack before its index, because git finds a pack by its index."""
    for path in sorted(_files_in(objects), reverse=True):
        target = own.git_dir / "objects" / path.relative_to(objects)
        target.parent.mkdir(exist_ok=True)
        path.replace(target)


def _files_in(directory: Path) -> Iterator[Path]:
    return (path for path in directory.rglob("*") if path.is_file())
