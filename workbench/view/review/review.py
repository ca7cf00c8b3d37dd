"""The model of the diff viewer: scopes of changes, their files, and comments, which outlive the screen."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import asdict, replace

from workbench.client.client import Client
from workbench.config.locations import Locations
from workbench.diff.hunks import FileDiff
from workbench.errors import WorkbenchError
from workbench.protocol.commands import ApplyChanges, RevertFiles
from workbench.protocol.placeholders import READABLE, blob_in_placeholder
from workbench.protocol.risk import Risk
from workbench.view.diff.rows import Side
from workbench.view.review.json_file import keep_json, read_json
from workbench.view.review.reviewed import ReviewedFiles
from workbench.view.state import Changed, FileState, SessionState

if TYPE_CHECKING:
    from workbench.client.ssh_url import SshUrl
    from workbench.protocol.events import FileDelta
    from workbench.view.app_session import AppSession
    from workbench.view.review.revert_text import FileRevert
    from workbench.view.review.staging import IndexSide

MOST_FILES = 2_000
LARGEST = 5_000_000
"""The size in bytes of the largest file that is compared."""


def is_repository(directory: Path) -> bool:
    """Return whether the directory is inside a git repository, without starting a program."""
    return any((parent / ".git").exists() for parent in (directory, *directory.parents))


def files_against_head(directory: Path, commit: str = "HEAD") -> list[FileState]:
    """Return the files in the directory that differ from a commit, untracked ones included, at most MOST_FILES.

    Raises WorkbenchError if git fails.
    """
    from workbench.files.git import run_git
    from workbench.view.review.staging import repository_top

    top = repository_top(directory)
    inside = Path(os.path.realpath(directory)).relative_to(os.path.realpath(top))
    only = [str(inside)] if inside.parts else []
    has_head = run_git(["rev-parse", "--verify", "-q", commit], cwd=directory).ok
    tracked = ["diff-index", "--name-only", "-z", commit] if has_head else ["ls-files", "-z"]
    listed = _git([*tracked, "--", *only], top)
    listed += _git(["ls-files", "-z", "--others", "--exclude-standard", "--", *only], top)
    names = sorted({name for name in listed.split(b"\0") if name})[:MOST_FILES]
    blobs = _blobs(names, top, commit) if has_head and names else {}
    files = [_file(top / os.fsdecode(name), blobs.get(name)) for name in names]
    return [file for file in files if file.before != file.after or file.note]


def _blobs(names: Iterable[bytes], top: Path, commit: str) -> dict[bytes, bytes]:
    """Return the content of each of these files in a commit, by name."""
    ids: dict[bytes, bytes] = {}
    requested = set(names)
    for entry in _git(["ls-tree", "-r", "-z", "--full-tree", commit], top).split(b"\0"):
        about, _, name = entry.partition(b"\t")
        if name in requested and b" blob " in about:
            ids[name] = about.split()[2]
    output = _git(["cat-file", "--batch"], top, b"".join(blob + b"\n" for blob in ids.values()))
    contents: dict[bytes, bytes] = {}
    at = 0
    for name in ids:
        end = output.index(b"\n", at)
        size = int(output[at:end].split()[2])
        contents[name] = output[end + 1 : end + 1 + size]
        at = end + size + 2
    return contents


def _file(path: Path, before: bytes | None) -> FileState:
    after, why = _on_disk(path)
    sizes = f"{_size(before)} → {_size(after)}"
    if why:
        return FileState(str(path), None, None, note=why, content_id=_last_write(path))
    if max(len(before or b""), len(after or b"")) > LARGEST:
        note = f"too large to be compared here, {sizes}"
        return FileState(str(path), None, None, note=note, content_id=_content_id(before, after))
    from workbench.files.text_file import EditorError, decoded_versions

    try:
        return FileState(str(path), *decoded_versions(path, before, after))
    except EditorError:
        note = "" if before == after else f"not text, {sizes}"
        return FileState(str(path), None, None, note=note, content_id=_content_id(before, after))


def _content_id(before: bytes | None, after: bytes | None) -> str:
    return " ".join(
        "-" if content is None else blake2b(content, digest_size=16).hexdigest() for content in (before, after)
    )


def _last_write(path: Path) -> str:
    """Return a value that identifies the content of a file that was not read."""
    with suppress(OSError):
        status = path.lstat()
        return f"{status.st_mtime_ns} {status.st_size}"
    return ""


def _on_disk(path: Path) -> tuple[bytes | None, str]:
    """Return the content of the file (None if it does not exist), and the reason if it was not read."""
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(path.readlink()), ""
        if not stat.S_ISREG(status.st_mode):
            return None, "not a plain file"
        if status.st_size > LARGEST:
            return None, f"too large to be compared here, {status.st_size:,} bytes"
        return path.read_bytes(), ""
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"


def _size(content: bytes | None) -> str:
    return "nothing" if content is None else f"{len(content):,} bytes"


def _git(arguments: list[str], directory: Path, data: bytes = b"") -> bytes:
    from workbench.files.git import run_git

    answer = run_git(arguments, cwd=directory, data=data)
    if not answer.ok:
        raise WorkbenchError(f"git cannot show what differs from HEAD: {answer.error or 'it failed'}")
    return answer.output


LineId = tuple[Side, int]
"""A line of a file, counted from 0, before or after the change."""
_LONGEST_QUOTE = 200


class Comment(Struct):
    """A comment of the user's on one line; `quoted` is that line as it was when the comment was written."""

    path: str
    side: Side
    line: int
    quoted: str
    text: str


class Comments:
    """All comments that were not sent yet; they outlive the viewer and, if kept in a file, the screen."""

    def __init__(self, changed: Callable[[Sequence[Comment]], None] = lambda comments: None) -> None:
        """`changed` is called with all comments after each change."""
        self._all: list[Comment] = []
        self._changed = changed

    def __len__(self) -> int:
        return len(self._all)

    def placed(self, path: str, diff: FileDiff) -> dict[LineId, Comment]:
        """Return the comments of a file by their current lines; a comment whose line is gone keeps its old position."""
        by_line: dict[LineId, Comment] = {}
        for comment in self._all:
            lines = diff.old if comment.side == "old" else diff.new
            if comment.path == path and lines:
                by_line[comment.side, _line_now(comment, lines)] = comment
        return by_line

    def add(self, comments: Iterable[Comment]) -> None:
        """Add comments from an earlier screen, without reporting a change."""
        self._all += comments

    def write(self, comment: Comment, text: str) -> None:
        """Replace the text of a comment; an empty text removes the comment."""
        comment.text = text.strip()
        self._all = [other for other in self._all if other is not comment]
        if comment.text:
            self._all.append(comment)
        self._changed(self._all)

    def drop(self, comment: Comment) -> None:
        """Remove a comment."""
        self._all = [other for other in self._all if other is not comment]
        self._changed(self._all)

    def clear(self) -> None:
        """Remove all comments, because they have been sent."""
        self._all.clear()
        self._changed(self._all)

    def message(self) -> str:
        """Return one message with path, quoted line and text of each comment, ordered by path and line."""
        comments = sorted(self._all, key=lambda comment: (comment.path, comment.line))
        return "\n\n".join(["Comments on the changes:", *map(_paragraph, comments)])


def _line_now(comment: Comment, lines: Sequence[str]) -> int:
    """Return the nearest line that has the commented text, or the comment's own line if none has."""
    line = min(comment.line, len(lines) - 1)
    if lines[line].removesuffix("\n") == comment.quoted:
        return line
    alike = [at for at, text in enumerate(lines) if text.removesuffix("\n") == comment.quoted]
    return min(alike, key=lambda at: abs(at - line), default=line)


def _paragraph(comment: Comment) -> str:
    where = f"{comment.path}:{comment.line + 1}" + (" (before the change)" if comment.side == "old" else "")
    quote = comment.quoted.rstrip("\r")
    if len(quote) > _LONGEST_QUOTE:
        quote = quote[:_LONGEST_QUOTE] + "…"
    return f"{where}\n> {quote}\n{comment.text}"


FILE = "comments.json"


def read_comments(directory: Path) -> list[Comment]:
    """Return the comments saved by an earlier screen, skipping invalid entries."""
    entries = read_json(directory / FILE)
    return [comment for each in entries if (comment := _comment(each))] if isinstance(entries, list) else []


def keep_comments(directory: Path, comments: Sequence[Comment]) -> None:
    """Save the comments for the next screen, replacing the file atomically, or delete it if there are none."""
    keep_json(directory / FILE, [asdict(comment) for comment in comments])


def _comment(data: object) -> Comment | None:
    if not isinstance(data, dict):
        return None
    path, side, line, quoted, text = (data.get(name) for name in ("path", "side", "line", "quoted", "text"))
    if not (isinstance(path, str) and isinstance(quoted, str) and isinstance(text, str) and text.strip()):
        return None
    if side not in ("old", "new") or not isinstance(line, int) or line < 0:
        return None
    return Comment(path, "old" if side == "old" else "new", line, quoted, text)


class Scope(Struct, frozen=True):
    """A named set of changes; if `is_slow`, `files` takes time and is called in a thread."""

    name: str
    files: Callable[[], Sequence[FileState]]
    is_slow: bool = False
    fixed: str = ""
    """Why its changes cannot be reverted; empty if they can."""
    session: str = ""
    """The session whose side of the changes can be applied to the workspace, instead of reverting them."""
    source: str = ""
    """What the question whether to apply them calls the session, if not by its ID."""
    index: IndexSide | None = None
    """The side of git's index whose hunks can be staged, or unstaged."""


def scopes_of(state: SessionState, directory: Path, action_id: str = "") -> list[Scope]:
    """Return the scopes that exist, smallest first; an action's scope exists only if `action_id` names the action."""
    scopes = [
        Scope("this turn", lambda: _copies(state.turn_changes)),
        Scope("whole session", lambda: _copies(state.changes)),
    ]
    item = state.actions.get(action_id)
    if item is not None:
        deltas = item.files or item.preview
        files = [_of_delta(delta, state) for delta in deltas]
        fixed = "" if item.files else "This action has not written anything"
        scopes.insert(0, Scope("this action", lambda: files, fixed=fixed))
    return [*scopes, *_git_scopes(directory)] if is_repository(directory) else scopes


def _git_scopes(directory: Path) -> Iterator[Scope]:
    """Yield the scopes of both sides of git's index, and that of both together."""
    from workbench.view.review.staging import IndexSide

    for name, is_staged, fixed in (("not staged", False, ""), ("staged", True, "Unstage it first (a), then revert it")):
        side = IndexSide(directory, is_staged=is_staged)
        yield Scope(name, side.files, is_slow=True, fixed=fixed, index=side)
    yield Scope("against HEAD", partial(files_against_head, directory), is_slow=True)


def _of_delta(delta: FileDelta, state: SessionState) -> FileState:
    """Return a file of one action, with the snapshot from before if that action was the first to change it."""
    candidates = (changes.get(delta.path) for changes in (state.changes, state.turn_changes))
    version = next((file.version for file in candidates if file is not None and file.before == delta.before), "")
    return FileState(delta.path, delta.before, delta.after, note=delta.cut, version=version)


def _copies(files: dict[str, FileState]) -> list[FileState]:
    """Return copies of the files, because the reducer keeps changing its own."""
    return [copy(file) for file in files.values()]


def is_stored(file: FileState) -> bool:
    """Return whether snapshots may contain texts of the file that the log lacks."""
    return file.note in READABLE and any(map(blob_in_placeholder, (file.before, file.after)))


class Watching(Protocol):
    """An open viewer."""

    def follow(self, changed: Changed, refused: str) -> None:
        """Show a change of the session; `refused` says what the engine refused and why, or is empty."""


class Review:
    """The session as the viewer sees it: scopes of changes, comments, and the requests it may send to the engine."""

    def __init__(
        self,
        client: Client,
        state: SessionState,
        directory: Path,
        send: Callable[[str], None],
        keep: Callable[[str], Path] | None = None,
        *,
        answer: Callable[[str], None] = lambda action_id: None,
        live: SessionState | None = None,
        fixed: str = "",
        locations: Locations | None = None,
        url: SshUrl | None = None,
    ) -> None:
        """`keep` returns the state directory of a session by its id; without it, comments and marks are lost with the
        screen. `answer` opens the question of a waiting action, or for "" the next one. For an earlier state, `live` is
        the session now, and `fixed` says why nothing can be changed. The snapshots are in `locations`, by default the
        user's own. `url` is where the workspace is on another machine.
        """
        self.client = client
        self.state = state
        self._keep = keep
        self._comments: Comments | None = None
        self._recalled = False
        self._reviewed: ReviewedFiles | None = None
        self.answer = answer
        self.live = live or state
        """The session now."""
        self.fixed = fixed
        """Why nothing can be changed, commented on or marked; empty if it can."""
        self.watching: Watching | None = None
        self.locations = locations or Locations.from_environment()
        """Where the session and its snapshots are."""
        self.url = url
        """Where the workspace is on another machine; None if it is on this one."""
        self._directory = directory
        self._send = send

    @classmethod
    def of(
        cls,
        session: AppSession,
        client: Client,
        state: SessionState,
        send: Callable[[str], None],
        answer: Callable[[str], None],
    ) -> Review:
        """Return the review of the session on screen."""
        where, url = session.locations, session.url
        return cls(client, state, session.workspace, send, session.keep, answer=answer, locations=where, url=url)

    @property
    def comments(self) -> Comments:
        """The unsent comments, including those from an earlier screen."""
        if self._comments is None:
            self._comments = Comments(self._keep_comments)
        directory = self._state_directory()
        if directory is not None and not self._recalled:
            self._recalled = True
            self._comments.add(read_comments(directory))
        return self._comments

    @property
    def reviewed(self) -> ReviewedFiles:
        """The files that the user has marked as reviewed, on this screen or on an earlier one."""
        directory = self._state_directory()
        if self._reviewed is None or self._reviewed.directory != directory:
            self._reviewed = ReviewedFiles(directory)
        return self._reviewed

    def _state_directory(self) -> Path | None:
        return self._keep(self.state.session_id) if self._keep is not None and self.state.session_id else None

    def _keep_comments(self, comments: Sequence[Comment]) -> None:
        directory = self._state_directory()
        if directory is not None:
            keep_comments(directory, comments)

    @property
    def directory(self) -> Path:
        """The session's directory."""
        return Path(self.state.workspace) if self.state.workspace else self._directory

    def scopes(self, action_id: str = "") -> list[Scope]:
        """Return the scopes that exist now, smallest first."""
        # The directory of a session on another machine may be here too, with other files.
        directory = self.directory if self._directory.exists() else self._directory
        scopes = scopes_of(self.state, directory, action_id)
        if not self.fixed:
            return scopes
        # The slow scopes are git's, which only knows the current state.
        return [replace(scope, fixed=self.fixed) for scope in scopes if not scope.is_slow]

    def with_content(self, file: FileState) -> FileState:
        """Return the file with the texts from snapshots, or unchanged; blocks while git runs."""
        from workbench.view.review.snapshot_content import with_snapshot_content

        return with_snapshot_content(file, self.directory, self.locations)

    def update(self, changed: Changed | None) -> None:
        """Report a change of the session to an open viewer."""
        if self.watching is not None and changed is not None:
            self.watching.follow(changed, changed.refused)

    def revert(self, changes: Sequence[FileRevert]) -> None:
        """Ask the engine to revert files; the open viewer gets the answer."""
        self.client.send(RevertFiles(files=tuple(change.delta for change in changes)))

    def apply(self, changes: Sequence[FileRevert], session: str, risk: Risk | None = None) -> None:
        """Ask the engine how risky changes from another session are or, with the accepted risk, to apply them."""
        self.client.send(ApplyChanges(files=tuple(each.delta for each in changes), session=session, risk=risk))

    def send_comments(self) -> int:
        """Send all comments as one message and return how many there were."""
        count = len(self.comments)
        if count:
            self._send(self.comments.message())
            self.comments.clear()
        return count
