"""Snapshots ("versions") of a workspace in our own git repository.

Nothing that a repository configures is ever executed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from workbench.config.locations import Locations, private_directory
from workbench.errors import WorkbenchError
from workbench.files.git import GitAnswer, OwnRepository, run_git
from workbench.files.root_directory import Root, real_path
from workbench.files.state_files import discard_file
from workbench.lazy_pattern import lazy_pattern
from workbench.session.workspace.file_signatures import FileSignatures, signature_of
from workbench.session.workspace.first_snapshot import IN_ONE_PACK, Git, fill_index
from workbench.session.workspace.ignore_patterns import patterns_above
from workbench.session.workspace.metadata import METADATA, Metadata, MetadataTracker
from workbench.session.workspace.retention import SHARED_INDEXES, prune
from workbench.text import visible_path

LARGEST = 5_000_000
"""The size in bytes of the largest file that a version can contain."""
_ARGUMENTS = 1_000
"""The most paths in one git call: a longer command line may exceed the system's limit."""
_ATTRIBUTES = "* -text -filter -ident -diff -merge -crlf -eol !working-tree-encoding\n"
_CONFIG = (
    "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfilemode = true\n\tlooseCompression = 1\n\tfsync = none\n"
    # no file is ever checked out, so names that are dangerous on other systems (`git~1`, `.git `) are stored as well
    "\tprotectHFS = false\n\tprotectNTFS = false\n"
)
_MANY = 100
_LARGE_INDEX = 100_000
"""The size in bytes from which the index is split: git then writes only what has changed, instead of every entry."""
"""The fewest new files that are stored together in one pack; fewer are stored one by one."""
_PACKED = 5_000
"""The most files in one pack; git compares each file that it adds with all others in the pack."""
_SETTINGS = {"config": _CONFIG.encode(), "info/attributes": _ATTRIBUTES.encode()}
GENERATED = frozenset({"node_modules", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
"""Names of directories that no version contains, because they are large and generated from other files."""
_NEVER = (".ohw-*.tmp", METADATA, *(f"{name}/" for name in sorted(GENERATED)))
_REPOSITORY, _SUBMODULES = ".git", ".gitmodules"
_NO_BLOB = "0" * 40
_NAME = lazy_pattern(r"[0-9a-f]{6,64}")
LINK = "120000"
"""The mode of a symbolic link."""


class SnapshotError(WorkbenchError):
    """A version could not be taken or read; the message says why."""


class ContentGone(SnapshotError):
    """The repository no longer has the content of a file."""


class GitRefused(SnapshotError):
    """Git ran and exited with an error."""


class Change(msgspec.Struct, frozen=True):
    """One path that differs between two versions, with its mode and its blob in each; the blob is "" if there is no
    file.
    """

    path: str
    mode_before: str
    mode_after: str
    before: str
    after: str

    @property
    def has_link(self) -> bool:
        """Whether the path is, or was, a symbolic link."""
        return LINK in (self.mode_before, self.mode_after)


class SnapshotRepository:
    """The versions of one workspace; paths are relative to it. Every method may raise SnapshotError."""

    def __init__(self, locations: Locations, workspace: Path, session_id: str) -> None:
        name = hashlib.blake2b(os.fsencode(workspace), digest_size=12).hexdigest()
        self.directory = locations.data / "versions" / name
        self.root = Root.at(workspace)
        """The workspace directory, which no write leaves."""
        self.workspace = Path(os.path.realpath(workspace))
        self.listing_seconds = 0.0
        """How many seconds it took the last time to list the changes of the whole workspace."""
        self.skipped: set[str] = set()
        """Paths that no version contains: too large, unreadable, or repositories of their own."""
        self._preparing, self._is_prepared = threading.Lock(), False
        self._tree = ""
        self._signatures = FileSignatures(self.workspace)
        self._index = self.directory / f"index-{session_id}"
        self.marks = Path(os.path.realpath(self.directory / "marks"))
        """The directory in which `Watcher.catch_up` creates its marks."""
        self._own = OwnRepository(self.directory, workspace, self._index)
        self._metadata = MetadataTracker(self.workspace, self._is_excluded)
        own = (locations.data, locations.state)
        self._hidden = [directory for directory in own if directory.is_relative_to(workspace)]

    def prepare(self) -> None:
        """Create the missing parts of the repository, once; concurrent calls wait until that is done."""
        with self._preparing:
            if not self._is_prepared:
                self._prepare()
                self._is_prepared = True

    def _prepare(self) -> None:
        try:
            private_directory(self.directory)
            for part in ("objects", "refs", "info", "marks"):
                (self.directory / part).mkdir(exist_ok=True)
            put_file(self.directory / "HEAD", b"ref: refs/heads/none\n")
            _put_back_settings(self.directory)
            put_file(self.directory / "info/exclude", b"\n".join(self._excluded()))
            put_file(self.directory / "workspace", os.fsencode(self.workspace) + b"\n")
        except OSError as error:
            raise SnapshotError(f"the directory of the file versions cannot be written: {error.strerror}") from error

    def _excluded(self) -> Iterator[bytes]:
        yield from (pattern.encode() for pattern in _NEVER)
        yield from (b"/" + os.fsencode(directory.relative_to(self.workspace)) + b"/" for directory in self._hidden)
        yield from (os.fsencode(pattern) for pattern in patterns_above(self.workspace))

    def _is_excluded(self, path: str) -> bool:
        """Return whether versions omit everything below the directory."""
        return Path(path).name in GENERATED or any((self.workspace / path) == hidden for hidden in self._hidden)

    def snapshot(self, paths: Sequence[str] | None = None, *, timeout: float = 30.0) -> str:
        """Record the current files and return the id of their version; with `paths`, only these are scanned."""
        try:
            return self._taken(paths, timeout)
        except GitRefused:
            if self._tree or not self._index.exists():
                raise
        self._signatures.clear()
        discard_file(self._index)  # an old index, damaged or with files that were pruned: record all files again
        return self._taken(None, timeout)

    def _taken(self, paths: Sequence[str] | None, timeout: float) -> str:
        if not self.root.is_there:
            raise SnapshotError(f"the directory {visible_path(str(self.workspace))} was moved, deleted or replaced")
        changed = self._changed_of_recorded(paths) if self._tree and paths is not None else None
        if changed is None:
            changed = self.changed(paths, timeout=timeout)
            if paths is None:
                changed = sorted({*changed, *self._signatures.with_other_mode()})
        before = self._metadata_before(timeout)
        if changed:
            self._record(changed, timeout)
        self._metadata.note_directories([*paths, *changed] if paths is not None and self._tree else None)
        is_other = self._metadata.now != before
        if is_other:
            self.store_metadata(timeout=timeout)
        if not self._tree:
            _split_if_large(self._index, self.git, timeout)
        if changed or is_other or not self._tree:
            self._tree = self.git(["write-tree"], timeout=timeout).decode().strip()
        return self._tree

    def _metadata_before(self, timeout: float) -> Metadata:
        """Return the metadata of the last version, which for the first snapshot may be from an earlier process."""
        if not self._tree and self._index.exists():
            stored = self.git(["ls-files", "-s", "--", METADATA], timeout=timeout).split()
            if len(stored) > 1:
                self._metadata.load(_metadata_in(self, stored[1].decode()))
        return self._metadata.now

    def store_metadata(
        self, *, timeout: float = 30.0, own: OwnRepository | None = None, now: Metadata | None = None
    ) -> None:
        """Add the metadata to the index, or remove it if git's own modes are enough."""
        raw = (now or self._metadata.now).to_bytes()
        if not raw:
            self.git(["update-index", "--force-remove", METADATA], timeout=timeout, own=own)
            return
        blob = self.git(["hash-object", "-w", "--stdin"], raw, timeout=timeout, own=own).decode().strip()
        self.git(["update-index", "--add", "--cacheinfo", f"100644,{blob},{METADATA}"], timeout=timeout, own=own)

    @property
    def metadata(self) -> Metadata:
        """The permissions and empty directories of the last version."""
        return self._metadata.now

    def version_named(self, name: str) -> str:
        """Return the full id of the version whose id begins with `name`. Raises SnapshotError if there is none."""
        _object(name)
        if not (self.directory / "HEAD").exists():
            raise SnapshotError(f"there is no version {name}: this directory has none")
        answer = run_git(["rev-parse", "--verify", "-q", f"{name}^{{tree}}"], cwd=self.workspace, own=self._own)
        if not answer.ok:
            raise SnapshotError(answer.error or f"there is no version {name} any more")
        return answer.output.decode().strip()

    def metadata_of(self, version: str) -> Metadata:
        """Return the permissions and empty directories of a version."""
        entry = self.git(["ls-tree", "-z", "--full-tree", _object(version), METADATA]).split(b"\t")[0].split()
        return _metadata_in(self, entry[2].decode()) if entry else Metadata()

    def _changed_of_recorded(self, paths: Sequence[str]) -> list[str] | None:
        """Return the paths that have changed since they were recorded, or None if only git can tell."""
        if any(path not in self._signatures or _state(self.workspace, path, _is_real)[0] != "fits" for path in paths):
            return None
        return [path for path in paths if not self.is_as_recorded(path)]

    def is_as_recorded(self, path: str) -> bool:
        """Return whether the times, size and mode of a file are as in the last version, without reading it."""
        return self._signatures.is_unchanged(path)

    def changed(self, paths: Sequence[str] | None = None, *, timeout: float = 30.0) -> list[str]:
        """Return the paths that differ from the last version; with `paths`, only those at or below them."""
        began = time.monotonic()
        if paths is None:
            output = self.git(["ls-files", "-z", "--others", "--modified", "--exclude-standard"], timeout=timeout)
            self.listing_seconds = time.monotonic() - began
        else:  # `ls-files --modified` would look at every file of the directories that hold the paths
            output = self.git(["ls-files", "-z", "--others", "--exclude-standard", "--", *paths], timeout=timeout)
            output += self.git(["diff-files", "-z", "--name-only", "--", *paths], timeout=timeout)
        return sorted({os.fsdecode(name) for name in output.split(b"\0") if name} - {METADATA})

    def _record(self, changed: Sequence[str], timeout: float) -> None:
        is_real, now = cache(_is_real), time.time_ns()
        states = {path: _state(self.workspace, path, is_real) for path in changed}
        fit = {path: status for path, (kind, status) in states.items() if kind == "fits" and status is not None}
        gone = [path for path, (kind, _) in states.items() if kind != "fits" and not path.endswith("/")]
        self.skipped.difference_update(fit, gone)
        self.skipped.update(path for path, (kind, _) in states.items() if kind == "unfit")
        self._signatures.forget(changed)
        modes = {path: status.st_mode for path, status in fit.items()}
        if not self._tree and not self._metadata.now.modes:
            self._metadata.begin(modes)
        self._metadata.note_files(modes, gone)
        if len(fit) >= _MANY and not self._index.exists():
            _begin_index(self._own, self.git, fit, now, timeout)
        else:
            _update_index(self.git, list(fit), gone, timeout)
        signatures = {path: signature_of(status) for path, status in fit.items()}
        self._signatures.remember(signatures, now, is_first=not self._tree)

    def difference(self, before: str, after: str) -> list[Change]:
        """Return the changes from one version to the other."""
        if before == after:
            return []
        output = self.git(["diff-tree", "-r", "-z", "--no-renames", _object(before), _object(after)])
        parts = output.split(b"\0")
        changes = [_change(head, path) for head, path in zip(parts[:-1:2], parts[1::2], strict=True)]
        return [change for change in changes if change.path != METADATA]

    def files_of(self, version: str) -> list[Change]:
        """Return every file of a version, as a change that adds the file."""
        listed = self.git(["ls-tree", "-r", "-z", "--full-tree", _object(version)])
        return [change for change in _listed_files(listed) if change.path != METADATA]

    @contextmanager
    def other_index(self) -> Iterator[OwnRepository]:
        """Yield our repository with a separate, empty index, to build a tree of other files in it."""
        index = self._index.with_name(f"{self._index.name}-kept-{secrets.token_hex(4)}")
        try:
            yield OwnRepository(self.directory, self.workspace, index)
        finally:
            discard_file(index)

    def held(self, paths: Sequence[str], *, timeout: float = 30.0) -> set[str]:
        """Return the files whose current state is in the last version; files with changed times may be missing."""
        recorded = {path for path in paths if self.is_as_recorded(path)}
        paths = [path for path in paths if path not in recorded and not self._signatures.is_changed(path)]
        listed = ["ls-files", "-z", "-t", "--cached", "--modified", "--"]
        output = b"".join(self.git([*listed, *batch], timeout=timeout) for batch in _batches(paths, _ARGUMENTS))
        entries = [entry.split(b" ", 1) for entry in output.split(b"\0") if entry]
        changed = {name for tag, name in entries if tag == b"C"}
        return recorded | {os.fsdecode(name) for tag, name in entries if name not in changed} - {METADATA}

    def loose(self, path: str, *, timeout: float = 30.0) -> list[str]:
        """Return the files at or below this path that are not in the last version with their current content.

        Nested repositories are not included.
        """
        excluded = (f"--exclude={name}/" for name in sorted(GENERATED))
        output = self.git(["ls-files", "-z", "--others", "--modified", *excluded, "--", path], timeout=timeout)
        names = (os.fsdecode(name) for name in output.split(b"\0") if name and not name.endswith(b"/"))
        return [name for name in names if not any((self.workspace / name).is_relative_to(one) for one in self._hidden)]

    def sizes(self, blobs: Sequence[str]) -> dict[str, int]:
        """Return the sizes of these blobs, in bytes."""
        output = self.git(["cat-file", "--batch-check=%(objectname) %(objectsize)"], _lines(blobs))
        rows = (line.split() for line in output.decode().splitlines())
        return {blob: int(size) for blob, size in rows if size.isdigit()}

    def contents(self, blobs: Sequence[str]) -> dict[str, bytes]:
        """Return the bytes of each of these blobs."""
        if not blobs:
            return {}
        output, at, blobs_by_name = self.git(["cat-file", "--batch"], _lines(blobs)), 0, {}
        while at < len(output):
            end = output.index(b"\n", at)
            name, kind, *size = output[at:end].split()
            if not size:
                raise _unreadable(self.directory, name.decode(), kind.decode())
            at = end + 1 + int(size[0])
            blobs_by_name[name.decode()] = output[end + 1 : at]
            at += 1
        return blobs_by_name

    def git(
        self,
        arguments: Sequence[str],
        data: bytes = b"",
        *,
        timeout: float = 30.0,
        own: OwnRepository | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> bytes:
        """Run git on the versions and return its output. Raises GitRefused, or SnapshotError if git does not answer."""
        _put_back_settings(self.directory)
        answer = run_git(
            arguments, cwd=self.workspace, own=own or self._own, data=data, timeout=timeout, settings=settings
        )
        if not answer.ok:
            discard_file(self._index.with_name(f"{self._index.name}.lock"))
            kind = SnapshotError if answer.code is None else GitRefused
            raise kind(_why(arguments[0], answer))
        return answer.output

    def prune(self) -> None:
        """Delete versions that are too old, at most once a day."""
        prune(self._own)


def _unreadable(directory: Path, blob: str, kind: str) -> SnapshotError:
    """Return the error for a blob that git cannot read: damaged or gone; git calls a damaged one missing, too."""
    if any(directory.glob(f"objects/{blob[:2]}/{blob[2:]}*")):
        return SnapshotError(f"a file of this version is damaged: {blob}")
    return ContentGone(f"a file of this version is gone: {blob} is {kind}")


def directories_in(repository: SnapshotRepository, version: str, paths: Collection[str] | None = None) -> list[str]:
    """Return the directories with files in a version; with `paths`, only those among them. Raises SnapshotError."""
    command = ["ls-tree", "-z", "-d", "--name-only", "--full-tree"]
    if paths is None:
        output = repository.git([*command, "-r", _object(version)])
    else:
        command += [_object(version), "--"]
        output = b"".join(repository.git([*command, *batch]) for batch in _batches(sorted(paths), _ARGUMENTS))
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def _put_back_settings(directory: Path) -> None:
    """Restore the settings that decide which programs git runs, if another process has changed them.

    Raises SnapshotError.
    """
    discard_file(directory / "commondir")
    try:
        for name, content in _SETTINGS.items():
            path = directory / name
            if path.is_symlink():
                path.unlink()
            if not path.is_file() or path.read_bytes() != content:
                put_file(path, content)
    except OSError as error:
        raise SnapshotError(f"the directory of the file versions cannot be written: {error.strerror}") from error


def _batches(paths: Sequence[str], length: int) -> Iterator[Sequence[str]]:
    return (paths[at : at + length] for at in range(0, len(paths), length))


def _is_real(directory: str) -> bool:
    return real_path(directory) == directory


def _object(name: str) -> str:
    """Return `name` if it is an id or the start of one. Raises SnapshotError otherwise: a log might contain git
    options.
    """
    if not _NAME.fullmatch(name):
        raise SnapshotError(f"{name!r} is not a version")
    return name


def put_file(path: Path, raw: bytes) -> None:
    """Write the file unless it already contains these bytes, because git in another session may be reading it."""
    if not path.is_file() or path.read_bytes() != raw:
        path.write_bytes(raw)


def _metadata_in(repository: SnapshotRepository, blob: str) -> Metadata:
    try:
        return Metadata.from_bytes(repository.contents([blob])[blob])
    except (ValueError, TypeError) as error:
        raise SnapshotError(f"the metadata of a version cannot be read: {error}") from error


def is_refused(path: str, mode: int) -> bool:
    """Return whether no version can contain a file, whatever its content, because of its path and its kind (`st_mode`).

    Git rejects files that are named like a repository, in upper or lower case, and links named like the list of
    submodules.
    """
    names = path.lower().split("/")
    is_named_like_git = _REPOSITORY in names or (names[-1] == _SUBMODULES and stat.S_ISLNK(mode))
    return is_named_like_git or path == METADATA


def _state(
    workspace: Path, path: str, is_real: Callable[[str], bool]
) -> tuple[Literal["fits", "unfit", "gone"], os.stat_result | None]:
    """Return whether a version can contain the file ("fits" or "unfit"), or that it is "gone"; and the file's status.

    `is_real` returns whether there is no link in the path of a directory.
    """
    whole = f"{workspace}/{path}"
    try:
        status = os.lstat(whole)
    except OSError:
        return "gone", None
    if path.endswith("/"):
        return "unfit", status  # a repository of its own
    if stat.S_ISDIR(status.st_mode) or not is_real(whole.rpartition("/")[0]):
        return "gone", status  # the recorded file is gone; a directory is recorded only by its files
    if is_refused(path, status.st_mode):
        return "unfit", status
    is_file = stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST and os.access(whole, os.R_OK)
    return "fits" if is_file or stat.S_ISLNK(status.st_mode) else "unfit", status


def _begin_index(
    own: OwnRepository, git: Git, statuses: Mapping[str, os.stat_result], began: int, timeout: float
) -> None:
    try:
        fill_index(own, git, statuses, began, timeout)
    except (OSError, ValueError) as error:
        raise SnapshotError(f"the directory of the file versions cannot be written: {error}") from error


def _update_index(git: Git, fit: Sequence[str], gone: Sequence[str], timeout: float) -> None:
    for how, paths in (("--force-remove", gone), *(("--replace", paths) for paths in _batches(fit, _PACKED))):
        if paths:
            command = ["update-index", "--add", "--remove", how, "-z", "--stdin"]
            git(command, listed(paths), timeout=timeout, settings=IN_ONE_PACK if len(paths) >= _MANY else {})


def _split_if_large(index: Path, git: Git, timeout: float) -> None:
    if index.exists() and index.stat().st_size > _LARGE_INDEX:
        git(["update-index", "--split-index"], timeout=timeout)


def join_index(repository: SnapshotRepository) -> None:
    """Store a split index in one file again, where a later session reads which files are unchanged.

    A failure is ignored: that session then stores the files again.
    """
    if any(repository.directory.glob(SHARED_INDEXES)):
        with suppress(SnapshotError):
            repository.git(["update-index", "--no-split-index"])


def _change(head: bytes, path: bytes) -> Change:
    mode_before, mode_after, before, after, _ = head.decode().removeprefix(":").split(" ")
    blobs = ("" if blob == _NO_BLOB else blob for blob in (before, after))
    return Change(os.fsdecode(path), mode_before, mode_after, *blobs)


def _listed_files(listed: bytes) -> Iterator[Change]:
    for entry in listed.split(b"\0")[:-1]:
        head, path = entry.split(b"\t", 1)
        mode, _, blob = head.decode().split(" ")
        yield Change(os.fsdecode(path), "000000", mode, "", blob)


def listed(paths: Iterable[str]) -> bytes:
    """Return the paths in the form that git reads from standard input with `-z`."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _lines(blobs: Iterable[str]) -> bytes:
    return "".join(f"{blob}\n" for blob in blobs).encode()


def _why(command: str, answer: GitAnswer) -> str:
    if answer.code is None:
        return answer.error
    return f"git {command} failed: {(answer.error.splitlines() or [f'exit code {answer.code}'])[-1]}"
