"""Git's index for the diff viewer: what is staged, what is not, and staging or unstaging a hunk or a file.

Both sides of a file are read from git's own patch, which has all of its lines, so that a hunk is staged with the exact
bytes (line ends, encodings, no newline at the end), and only while the index has what was shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

from msgspec import Struct

from workbench.diff.git_patch import lines_in, name_in, sections
from workbench.diff.hunks import FileDiff
from workbench.errors import WorkbenchError
from workbench.files.git import run_git
from workbench.files.text_file import EditorError, decoded_versions
from workbench.text import first_line, visible_path
from workbench.view.state import FileState

_MOST_FILES: Final = 2_000
_MOST_BYTES: Final = 20_000_000
"""The most bytes of all files together whose lines are shown."""
_TOO_MUCH: Final = "too many changes for all lines to be shown; only the whole file can be staged"
_LARGEST: Final = 5_000_000
"""The size in bytes of the largest file whose lines are shown; git treats larger ones as binary."""
_DIFF: Final = (
    *("diff", "--no-color", "--no-renames", "--no-relative", "--full-index", "--unified=10000000"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
_SETTINGS: Final = {"diff.suppressBlankEmpty": "false", "core.bigFileThreshold": str(_LARGEST)}
_SUBMODULE: Final = b"160000"
_NO_NEWLINE: Final = b"\n\\ No newline at end of file\n"


class CannotStage(WorkbenchError):
    """Nothing was staged or unstaged; the message says why and what to do."""


class _Change(Struct, frozen=True):
    """One file that differs between the two sides."""

    name: bytes
    patch: bytes
    """Git's patch, all lines included; empty for a file that git does not track, or that has conflicts."""
    old: Sequence[bytes] = ()
    new: Sequence[bytes] = ()
    note: str = ""
    """Why it can only be staged as a whole; empty if the patch has all of the change."""
    content: str = ""
    """A digest of the content, where there is no patch."""

    @property
    def header(self) -> Sequence[bytes]:
        """The lines of the patch before the content."""
        return self.patch.partition(b"\n@@ ")[0].split(b"\n")

    @property
    def is_new(self) -> bool:
        """Whether the old side has no such file."""
        return not self.patch or any(line.startswith(b"new file mode ") for line in self.header)

    @property
    def is_deleted(self) -> bool:
        """Whether the new side has no such file."""
        return any(line.startswith(b"deleted file mode ") for line in self.header)

    @property
    def has_hunks(self) -> bool:
        """Whether a part of it can be staged, without the change of its mode."""
        return b"\n@@ " in self.patch and not (self.note or self.is_new or self.is_deleted)


class IndexSide:
    """The changes on one side of git's index: between HEAD and the index, or between the index and the working tree.

    The methods block while git runs, and raise WorkbenchError if it fails.
    """

    def __init__(self, directory: Path, *, is_staged: bool) -> None:
        self._directory = directory
        self.is_staged = is_staged
        """Whether this is what the next commit will contain."""
        self._changes: dict[str, tuple[FileState, _Change]] = {}
        """What `files` returned last, by path, each with the change that it shows."""
        self.more = 0
        """The number of changed files that `files` left out, because there are too many."""

    def files(self) -> list[FileState]:
        """Return the changed files of the whole repository, which has one index."""
        top = repository_top(self._directory)
        changes = self._read(top)
        by_path = {str(top / os.fsdecode(change.name)): change for change in changes}
        self._changes = {path: (_file(path, change), change) for path, change in by_path.items()}
        return [file for file, _ in self._changes.values()]

    def move(self, file: FileState, diff: FileDiff | None = None, hunk: int = -1) -> None:
        """Stage, or unstage, one hunk (from 0) of a file as it was shown, or all of the file. Raises CannotStage."""
        now, change = self._changes.get(file.path, (None, None))
        if change is None or now != file:
            raise self._stale()
        top = repository_top(self._directory)
        if not self.is_staged:
            _refuse_filtered(change.name, top)
        if diff is not None and hunk >= 0 and change.has_hunks:
            self._apply(self._hunk_patch(change, diff, hunk), top)
        elif change.note or not change.patch:
            self._move_as_a_whole(change, top)
        else:
            self._apply(change.patch, top, *(("--reverse",) if self.is_staged else ()))

    def _read(self, top: Path) -> list[_Change]:
        words = (*_DIFF, *(("--cached",) if self.is_staged else ()))
        patches: dict[bytes, bytes] = {}
        for section in sections(_git(words, top)):
            name = name_in(section)
            patches[name] = patches.get(name, b"") + section  # two, if a file became a link
        changes = [_tracked(name, patch) for name, patch in patches.items()]
        if not self.is_staged:
            conflicts = _conflicts(top)
            changes = [change for change in changes if change.name not in {each.name for each in conflicts}]
            changes += [*conflicts, *_untracked(top)]
        self.more = max(0, len(changes) - _MOST_FILES)
        return list(_within_limit(sorted(changes, key=lambda change: change.name)[:_MOST_FILES]))

    def _hunk_patch(self, change: _Change, diff: FileDiff, number: int) -> bytes:
        """Return the patch of one hunk against the index, whose other lines are its context."""
        if (len(diff.old), len(diff.new)) != (len(change.old), len(change.new)):
            raise self._stale()
        hunk = diff.hunks[number]
        if self.is_staged:
            base, start, end, lines = change.new, hunk.new, hunk.new_end, change.old[hunk.old : hunk.old_end]
        else:
            base, start, end, lines = change.old, hunk.old, hunk.old_end, change.new[hunk.new : hunk.new_end]
        after = len(base) - (end - start) + len(lines)
        counts = f"@@ -{min(1, len(base))},{len(base)} +{min(1, after)},{after} @@".encode()
        header = b"\n".join((change.header[0], *change.header[-2:], counts, b""))  # the names, without the mode
        body = (*_marked(b" ", base[:start]), *_marked(b"-", base[start:end]), *_marked(b"+", lines))
        return b"".join((header, *body, *_marked(b" ", base[end:])))

    def _apply(self, patch: bytes, top: Path, *options: str) -> None:
        answer = run_git(["apply", *options, "-"], cwd=top, data=patch)
        if not answer.ok:
            raise self._stale() if answer.code == 1 else self._failed(answer.error)

    def _move_as_a_whole(self, change: _Change, top: Path) -> None:
        """Stage a file as it is on disk, or reset its entry in the index to HEAD.

        Raises CannotStage if the change is no longer the one that was shown.
        """
        if change not in self._read(top):
            raise self._stale()
        if not self.is_staged:
            self._run(["add", "--all", "--", os.fsdecode(change.name)], top)
            return
        entry = run_git(["ls-tree", "-z", "--full-tree", "HEAD", "--", os.fsdecode(change.name)], cwd=top).output
        if entry:
            self._run(["update-index", "-z", "--index-info"], top, entry)
        else:
            self._run(["update-index", "-z", "--force-remove", "--stdin"], top, change.name + b"\0")

    def _run(self, words: Sequence[str], top: Path, data: bytes = b"") -> None:
        answer = run_git(words, cwd=top, data=data)
        if not answer.ok:
            raise self._failed(answer.error)

    def _failed(self, error: str) -> CannotStage:
        if "index.lock" in error:
            return CannotStage(
                f"Not {self.verb}: another git is changing the index. Press the key again when it has ended; "
                "if none runs, delete .git/index.lock"
            )
        return CannotStage(f"Not {self.verb}: {first_line(error or 'git failed', 200)}")

    def _stale(self) -> CannotStage:
        return CannotStage(f"Not {self.verb}: it has changed since it was shown; this is how it is now")

    @property
    def verb(self) -> str:
        """What a move does, in the past tense."""
        return "unstaged" if self.is_staged else "staged"


def repository_top(directory: Path) -> Path:
    """Return the root of the repository around a directory. Raises WorkbenchError."""
    answer = run_git(["rev-parse", "--show-toplevel"], cwd=directory)
    if not answer.ok:
        raise WorkbenchError(f"git cannot show a repository here: {first_line(answer.error or 'it failed', 200)}")
    top = Path(os.fsdecode(answer.output.removesuffix(b"\n")))
    if not Path(os.path.realpath(directory)).is_relative_to(os.path.realpath(top)):
        raise WorkbenchError("the repository's settings say that its files are in another directory (core.worktree)")
    return top


def staged_names(workspace: Path) -> tuple[list[str], list[str]]:
    """Return the staged files and the staged submodules, relative to the workspace.

    Raises WorkbenchError if git fails or a file has conflicts.
    """
    top = repository_top(workspace)
    if conflicts := _conflicts(top):
        name = visible_path(os.fsdecode(conflicts[0].name))
        raise WorkbenchError(f"{name} has conflicts: resolve them and stage it first (F5, then a)")
    # This compares the index with a tree: no submodule is looked into.
    words = ["diff", "--cached", "--raw", "--ignore-submodules=none", "--no-renames", "--no-relative", "-z"]
    entries = _git(words, top).split(b"\0")
    names: tuple[list[str], list[str]] = ([], [])
    for modes, entry in zip(entries[:-1:2], entries[1::2], strict=True):
        path = os.path.realpath(top) / Path(os.fsdecode(entry))
        names[_SUBMODULE in modes].append(os.path.relpath(path, os.path.realpath(workspace)))
    return names


def _git(words: Sequence[str], directory: Path) -> bytes:
    answer = run_git(words, cwd=directory, settings=_SETTINGS)
    if not answer.ok:
        raise WorkbenchError(f"git cannot show the index: {first_line(answer.error or 'it failed', 200)}")
    return answer.output


def _refuse_filtered(name: bytes, top: Path) -> None:
    """Raise CannotStage if a filter would convert the file: it is a program, and such programs do not run here."""
    answer = run_git(["check-attr", "-z", "filter", "--", os.fsdecode(name)], cwd=top).output.split(b"\0")
    value = os.fsdecode(answer[2]) if len(answer) > 2 else ""
    if value not in ("", "unspecified", "unset"):
        path = visible_path(os.fsdecode(name))
        raise CannotStage(f"Not staged: the filter {visible_path(value)} converts it, which only `git add {path}` runs")


def _tracked(name: bytes, patch: bytes) -> _Change:
    note = ""
    if b"\ndiff --git " in patch:
        note = "it became another kind of file; only the whole file can be staged"
    elif b"\nBinary files " in patch.partition(b"\n@@ ")[0]:
        note = "not text, or too large; only the whole file can be staged"
    old, new = ([], []) if note else lines_in(patch.partition(b"\n@@ ")[2].partition(b"\n")[2])
    return _Change(name, patch, old, new, note)


def _marked(mark: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + (line if line.endswith(b"\n") else line + _NO_NEWLINE)


def _conflicts(top: Path) -> list[_Change]:
    """Return the files with merge conflicts, each with its entries in the index."""
    entries: dict[bytes, bytes] = {}
    for entry in _git(["ls-files", "--unmerged", "-z"], top).split(b"\0"):
        about, _, name = entry.partition(b"\t")
        if name:
            entries[name] = entries.get(name, b"") + about
    note = "it has conflicts; staging it says that they are resolved"
    return [_Change(name, b"", note=note, content=about.decode()) for name, about in entries.items()]


def _untracked(top: Path) -> Iterator[_Change]:
    """Yield the files that git does not track and does not ignore, except repositories of their own."""
    names = _git(["ls-files", "--others", "--exclude-standard", "-z"], top).split(b"\0")
    size = 0
    for number, name in enumerate(name for name in names if name and not name.endswith(b"/")):
        path = top / os.fsdecode(name)
        is_over = size > _MOST_BYTES or number >= _MOST_FILES
        raw, note = (None, _TOO_MUCH) if is_over else _content(path)
        size += len(raw or b"")
        yield _Change(
            name,
            b"",
            (),
            (raw or b"",),
            note,
            blake2b(_stamp(path) if raw is None else raw, digest_size=16).hexdigest(),
        )


def _within_limit(changes: Sequence[_Change]) -> Iterator[_Change]:
    """Yield the changes; once `_MOST_BYTES` is reached, without their lines."""
    size = 0
    for change in changes:
        size += len(change.patch) + sum(map(len, change.new if not change.patch else ()))
        if size <= _MOST_BYTES or change.note:
            yield change
        else:
            content = change.content or blake2b(change.patch, digest_size=16).hexdigest()
            yield _Change(change.name, b"", note=_TOO_MUCH, content=content)


def _stamp(path: Path) -> bytes:
    """Return the time of the last change and the size of a file whose content is not read; empty without a file."""
    try:
        info = path.lstat()
    except OSError:
        return b""
    return f"{info.st_mtime_ns} {info.st_size}".encode()


def _content(path: Path) -> tuple[bytes | None, str]:
    try:
        if path.is_symlink():
            return os.fsencode(path.readlink()), ""
        if not path.is_file():
            return None, "not a plain file"
        if path.stat().st_size > _LARGEST:
            return None, "too large to be shown"
        return path.read_bytes(), ""
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"


def _file(path: str, change: _Change) -> FileState:
    """Return a change as the viewer shows it: with the lines of both sides, or with a note."""
    note = change.note or _mode_note(change)
    if not note:
        old = None if change.is_new else b"".join(change.old)
        new = None if change.is_deleted else b"".join(change.new)
        try:
            return FileState(path, *decoded_versions(Path(path), old, new))
        except EditorError:
            note = "not text; only the whole file can be staged"
    content = change.content or blake2b(change.patch, digest_size=16).hexdigest()
    return FileState(path, None, None, note=note, content_id=content)


def _mode_note(change: _Change) -> str:
    """Return a note on a change of the file mode alone; empty for any other change."""
    is_mode_alone = b"\nold mode " in change.patch and b"\n@@ " not in change.patch
    modes = [line.rpartition(b" ")[2].decode() for line in change.header[1:3]] if is_mode_alone else []
    return f"its mode changes from {' to '.join(modes)}" if modes else ""
