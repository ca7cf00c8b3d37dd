"""The git worktrees of a repository, for `/worktree` and `ohw worktree`: adding, listing, merging back, removing.

All functions block while git runs. Nothing of the repository is run: no hooks, and no filters, so that files with a
filter are checked out as they are stored.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct, structs

from workbench.config.locations import Locations
from workbench.diff.merge import merge
from workbench.errors import WorkbenchError
from workbench.files.git import run_git
from workbench.session.session_names import session_path
from workbench.session.storage.lock import holder
from workbench.session.storage.session_list import SessionSummary, newest_first
from workbench.text import counted, visible, visible_path
from workbench.view.review.apply_text import CannotApply, text_now
from workbench.view.review.review import Scope, files_against_head
from workbench.view.review.staging import repository_top
from workbench.view.state import FileState
from workbench.view.worktree_work import Work, git_problem, work_in

_TIMEOUT: Final = 300.0
"""The most seconds that git may take to write or delete the files of a worktree."""
_MOST_COMMITS: Final = 1_000
_MOST_NAMES: Final = 100
_BRANCH: Final = "refs/heads/"
_NO_SUCH_OPTION: Final = 129
"""The exit code of git for an option that it does not know."""


class Worktree(Struct, frozen=True):
    """One worktree of a repository."""

    path: str
    head: str
    branch: str = ""
    """The checked-out branch; empty if none is."""
    is_main: bool = False
    """Whether it is the main worktree, which contains the repository itself."""
    is_here: bool = False
    """Whether the workspace that asks is in it."""
    is_missing: bool = False
    """Whether its directory is missing."""
    work: Work = Work()
    """What is in its directory and in no commit."""
    ahead: int | None = 0
    """The number of commits that are not in the branch here, at most `_MOST_COMMITS`; None if it is unknown."""
    session: SessionSummary | None = None
    """The session that worked in it last."""

    @property
    def name(self) -> str:
        """The branch, or the digits of the commit, safe to show."""
        return visible(self.branch or f"{self.head[:7]} (no branch)", lines=False)

    @property
    def own_work(self) -> str:
        """What is only in this worktree, safe to show; empty if nothing is."""
        count = "an unknown number of commits" if self.ahead is None else counted(self.ahead, "commit")
        parts = [*self.work.parts, *([f"{count} not merged here"] if self.ahead != 0 else [])]
        return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


class NewWorktree(Struct, frozen=True):
    """A worktree that was created."""

    path: str
    """The workspace in it."""
    uncommitted: int | None
    """The number of files with changes that stayed in the other directory; None if git cannot say."""


class Worktrees(Protocol):
    """The worktrees of the repository around a workspace. All methods block and may raise WorkbenchError."""

    def all(self) -> list[Worktree]:
        """Return the worktrees, the main one first."""

    def add(self, name: str) -> NewWorktree:
        """Create a worktree on a new branch of that name."""

    def merge_scope(self, worktree: Worktree) -> Scope:
        """Return the changes of a worktree that the workspace lacks, to be applied in the diff viewer."""

    def remove(self, worktree: Worktree, *, is_confirmed: bool) -> str:
        """Delete a worktree's directory, and return what was done; `is_confirmed` agrees to lose what is only in it."""


class LocalWorktrees(Struct, frozen=True):
    """The worktrees of a repository on this machine; `locations` has the sessions that work in them."""

    locations: Locations
    workspace: Path

    def all(self) -> list[Worktree]:
        """Return the worktrees, the main one first."""
        return list_worktrees(self.locations, self.workspace)

    def add(self, name: str) -> NewWorktree:
        """Create a worktree on a new branch of that name."""
        return NewWorktree(str(add_worktree(self.workspace, name)), uncommitted_count(self.workspace))

    def merge_scope(self, worktree: Worktree) -> Scope:
        """Return the changes of a worktree that the workspace lacks, to be applied in the diff viewer."""
        return merge_scope(self.workspace, worktree)

    def remove(self, worktree: Worktree, *, is_confirmed: bool) -> str:
        """Delete a worktree's directory, and return what was done; `is_confirmed` agrees to lose what is only in it."""
        return remove_worktree(self.locations, self.workspace, worktree, is_confirmed=is_confirmed)


def add_worktree(workspace: Path, name: str) -> Path:
    """Create a worktree beside the repository, on a new branch that starts at HEAD, and return the workspace in it.

    The directory is `REPOSITORY-NAME`. Raises WorkbenchError.
    """
    top = repository_top(workspace)
    commit = _commit(top, "HEAD")
    if not commit:
        raise WorkbenchError("a worktree starts at a commit, and this repository has none yet; /commit makes one")
    quoted = visible(name, lines=False)
    if name.startswith("-") or not run_git(["check-ref-format", f"{_BRANCH}{name}"], cwd=top).ok:
        raise WorkbenchError(f"{quoted} cannot be the name of a branch; use letters, digits, - and /")
    if _commit(top, f"{_BRANCH}{name}"):
        raise WorkbenchError(f"the branch {quoted} exists already; /worktree lists the worktrees")
    if _commit(top, name):
        raise WorkbenchError(f"{quoted} is the name of a tag or a commit already; choose another one")
    directory = _new_directory(Path(_records(top)[0]["worktree"]), name)
    if problem := _check_out(top, directory, name, commit):
        raise WorkbenchError(f"no worktree was created: {problem}")
    inside = directory / workspace.resolve().relative_to(top.resolve())
    return (inside if inside.is_dir() else directory).resolve()


def uncommitted_count(workspace: Path) -> int | None:
    """Return the number of files with changes that are not committed; None if git fails."""
    answer = run_git(["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"], cwd=workspace)
    return answer.output.count(b"\0") if answer.ok else None


def list_worktrees(locations: Locations, workspace: Path) -> list[Worktree]:
    """Return the worktrees of the repository around a workspace, the main one first. Raises WorkbenchError."""
    top = repository_top(workspace)
    records = _records(top)
    sessions = _sessions(locations, [each["worktree"] for each in records])
    return [
        _worktree(record, top, is_main=number == 0, session=sessions.get(record["worktree"]))
        for number, record in enumerate(records)
        if "bare" not in record
    ]


def merge_scope(workspace: Path, worktree: Worktree) -> Scope:
    """Return the changes of a worktree that the workspace lacks, to be applied in the diff viewer."""
    return scope_of(worktree, lambda: list(changes_to_merge(workspace, worktree)))


def scope_of(worktree: Worktree, changes: Callable[[], list[FileState]]) -> Scope:
    """Return the scope of a worktree's changes, which are computed by a function that takes time."""
    name = f"{worktree.name} into this workspace"
    return Scope(name, changes, is_slow=True, session=f"worktree {worktree.name}")


def remove_worktree(locations: Locations, workspace: Path, worktree: Worktree, *, is_confirmed: bool = False) -> str:
    """Delete a worktree's directory if it is still as listed, and return what was done, safe to show.

    Its branch stays. `is_confirmed` means that the user agreed to lose what is only in it. Raises WorkbenchError if it
    is in use, has changed, cannot be deleted, or contains work that exists nowhere else and `is_confirmed` is false.
    """
    top = repository_top(workspace)
    now = next((each for each in list_worktrees(locations, workspace) if each.path == worktree.path), None)
    if problem := _reason_to_keep(locations, worktree, now, is_confirmed=is_confirmed):
        raise WorkbenchError(problem)
    # Without --force, git checks the files once more. A missing directory does not need it: only its entry is removed.
    force = ["--force"] if is_confirmed and worktree.work.needs_force else []
    also = None if worktree.is_missing else Path(worktree.path)
    answer = run_git(["worktree", "remove", *force, worktree.path], cwd=top, timeout=_TIMEOUT, also=also)
    if not answer.ok:
        raise WorkbenchError(f"the worktree {worktree.name} was not removed: {git_problem(answer.error)}")
    branch = f"; its branch stays, git branch -d {worktree.name} deletes it" if worktree.branch else ""
    return f"Removed {visible_path(worktree.path)}{branch}"


def _reason_to_keep(locations: Locations, worktree: Worktree, now: Worktree | None, *, is_confirmed: bool) -> str:
    if now is None:
        return f"there is no worktree {worktree.name} any more"
    if now.is_main:
        return f"{visible_path(now.path)} is the directory of the repository, no worktree"
    if now.is_here:
        return "this session works in that worktree; open a session in another directory first"
    if session := _open_session(locations, now):
        return f"the session {session} works in {now.name}; stop it first"
    if structs.replace(now, session=None) != structs.replace(worktree, session=None):
        return f"the worktree {now.name} has changed meanwhile; look again"
    return f"{now.name} has {now.own_work}" if now.own_work and not is_confirmed else ""


def _open_session(locations: Locations, worktree: Worktree) -> str:
    """Return the id of a session that a process holds and whose workspace is in a worktree; empty if there is none."""
    root = os.path.realpath(worktree.path)
    inside = (
        entry.id
        for entry in newest_first(locations)
        if entry.workspace and not entry.origin and Path(entry.workspace).is_relative_to(root)
    )
    return next((name for name in inside if holder(session_path(locations, name)) is not None), "")


def _new_directory(root: Path, name: str) -> Path:
    """Create an empty directory beside the repository, never using an existing one. Raises WorkbenchError."""
    base = f"{root.name.removesuffix('.git') or root.name}-{name.replace('/', '-')}"
    for number in range(1, _MOST_NAMES):
        directory = root.with_name(base if number == 1 else f"{base}-{number}")
        try:
            directory.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise WorkbenchError(f"cannot create {visible_path(str(directory))}: {error.strerror or error}") from error
        return directory
    raise WorkbenchError(f"{visible_path(str(root.with_name(base)))} exists already; choose another name")


def _check_out(top: Path, directory: Path, name: str, commit: str) -> str:
    """Check out a new branch in an empty directory; return why that failed, or an empty string.

    After a failure the directory is deleted, and the branch too unless another process created it.
    """
    reference = f"{_BRANCH}{name}"
    created = run_git(["update-ref", reference, commit, "0" * len(commit)], cwd=top)
    if not created.ok:
        shutil.rmtree(directory, ignore_errors=True)
        return git_problem(created.error)
    answer = run_git(["worktree", "add", "--quiet", str(directory), name], cwd=top, timeout=_TIMEOUT)
    if answer.ok:
        return ""
    shutil.rmtree(directory, ignore_errors=True)
    run_git(["worktree", "remove", "-f", "-f", str(directory)], cwd=top)  # its entry, which is locked at first
    run_git(["update-ref", "-d", reference, commit], cwd=top)
    return git_problem(answer.error)


def _commit(directory: Path, revision: str) -> str:
    """Return the id of a commit; empty if there is none."""
    answer = run_git(["rev-parse", "--verify", "-q", f"{revision}^{{commit}}"], cwd=directory)
    return answer.output.decode().strip() if answer.ok else ""


def _records(top: Path) -> list[dict[str, str]]:
    """Return the fields that git lists for each worktree; the first one is the main one. Raises WorkbenchError."""
    command, end = ["worktree", "list", "--porcelain"], "\0"
    answer = run_git([*command, "-z"], cwd=top)
    if answer.code == _NO_SUCH_OPTION:  # git before 2.36
        answer, end = run_git(command, cwd=top), "\n"
    if not answer.ok:
        raise WorkbenchError(f"git cannot list the worktrees: {git_problem(answer.error)}")
    blocks = os.fsdecode(answer.output).split(2 * end)
    records = [dict(_pair(line) for line in block.split(end)) for block in blocks if block]
    return [record for record in records if "worktree" in record]


def _pair(line: str) -> tuple[str, str]:
    key, _, value = line.partition(" ")
    return key, value


def _worktree(record: Mapping[str, str], top: Path, *, is_main: bool, session: SessionSummary | None) -> Worktree:
    path, head = record["worktree"], record.get("HEAD", "")
    is_missing = not (Path(path) / ".git").exists()
    return Worktree(
        path,
        head,
        record.get("branch", "").removeprefix(_BRANCH),
        is_main,
        os.path.realpath(path) == os.path.realpath(top),
        is_missing,
        Work() if is_missing else work_in(Path(path)),
        _count_ahead(top, head),
        session,
    )


def _count_ahead(top: Path, head: str) -> int | None:
    if not head.strip("0"):
        return 0  # its branch has no commits yet
    answer = run_git(["log", f"--max-count={_MOST_COMMITS}", "--format=%H", f"HEAD..{head}", "--"], cwd=top)
    return answer.output.count(b"\n") if answer.ok else None


def _sessions(locations: Locations, paths: list[str]) -> dict[str, SessionSummary]:
    """Return the session that worked last in each of these directories, or below it."""
    by_path: dict[str, SessionSummary] = {}
    real = sorted(((os.path.realpath(path), path) for path in paths), reverse=True)  # a nested one first
    for entry in newest_first(locations):
        if entry.workspace and not (entry.parent or entry.origin or entry.damaged):
            inside = (path for root, path in real if Path(entry.workspace).is_relative_to(root))
            if path := next(inside, ""):
                by_path.setdefault(path, entry)
    return by_path


def changes_to_merge(workspace: Path, worktree: Worktree) -> Iterator[FileState]:
    """Yield the files to write here, each with its text here and the one with the worktree's changes.

    Raises WorkbenchError.
    """
    if worktree.is_missing:
        raise WorkbenchError(f"the directory {visible_path(worktree.path)} is missing; d removes the entry")
    top = repository_top(workspace)
    base = run_git(["merge-base", "HEAD", _commit(Path(worktree.path), "HEAD")], cwd=top)
    if not base.ok:
        raise WorkbenchError(f"{worktree.name} has no commit in common with the branch here")
    inside = workspace.resolve().relative_to(top.resolve())
    directory = Path(worktree.path).resolve() / inside
    if not directory.is_dir():
        raise WorkbenchError(f"{worktree.name} has no directory {visible_path(str(inside))}")
    for file in files_against_head(directory, base.output.decode().strip()):
        target = str(workspace / os.path.relpath(file.path, directory))
        if (change := _change_here(file, target)) is not None:
            yield change


def _change_here(file: FileState, target: str) -> FileState | None:
    """Return the change of a file that leads from its text here to the merged one; None if it has that already.

    Where both sides changed the same lines, it is the change of the worktree, of which hunks can be applied.
    """
    if file.note:
        is_same = _bytes_of(file.path) == _bytes_of(target)
        note = f"{file.note}; git merge brings it, once it is committed there"
        return None if is_same else FileState(target, None, None, note=note, content_id=file.content_id)
    try:
        now = text_now(target)
    except CannotApply as error:
        return FileState(target, None, None, note=str(error))
    if now == file.after:
        return None
    before = file.before
    if now is not None and before is not None and file.after is not None:
        merged = merge(before, now, file.after)
        if merged.conflicts == 0:
            return FileState(target, now, merged.text) if merged.text != now else None
    return FileState(target, before, file.after)


def _bytes_of(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None
