"""Finds the files that one part of a command deletes or overwrites, and describes them; used by `deletions`."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from workbench.files.git import run_git
from workbench.files.root_directory import real_path
from workbench.lazy_pattern import lazy_pattern
from workbench.risk import Part
from workbench.risk.assessment import ANY, Spares, mentioned
from workbench.session.workspace.repository import GENERATED
from workbench.text import visible, visible_path

MOST_FILES, MOST_BYTES = 20_000, 100_000_000
"""The most files, and the most bytes, that one copy holds."""
NO_COPY: Final = "no copy could be made"
_MOST_PATHS = 4
"""The most places named in one line."""
_REFUSED = "git refuses such names"
_LOST = "not in git; can NOT be restored: too large to copy"
_HISTORY = "with git history, which can NOT be restored"
_OUTSIDE = "outside the workspace: no copy is saved"

_GIT_LIMIT = 2.0
"""Seconds after which one git call is stopped."""
_UNSPARED: Mapping[Spares, tuple[str, ...]] = {
    "-": ("--others", "--exclude-standard"),
    "x": ("--others",),
    "X": ("--others", "--ignored", "--exclude-standard"),
    "m": ("--modified", "--others", "--exclude-standard"),
}
"""Options of `git ls-files` that list the files that a command does not spare."""
_MOST_TREES = 3
_FROM: Mapping[str, str] = {"pull": "@{upstream}", "merge": "@{upstream}", "stash": "stash@{0}", "am": "HEAD"}
"""The state from which each git subcommand takes its files if the command names none."""


@dataclass(frozen=True)
class Deletion:
    """Files at or below `path` that one part of a command deletes or overwrites.

    With `is_any`, the part touches some of the files, and which ones is unknown until it runs.
    """

    part: Part
    deletes: bool
    path: str
    count: int
    files: tuple[str, ...]
    """The files that no version holds; they are copied if `can_be_copied`."""
    size: int
    is_whole: bool
    """Whether all files were counted."""
    has_history: bool = False
    """Whether a git repository is among them, whose history git cannot add to another repository."""
    is_any: bool = False
    too_large: tuple[str, ...] = ()
    """With `is_any`: the files that are not copied, because a copy would become too large."""
    refused: tuple[str, ...] = ()
    """The files that no copy can hold, because git refuses their names."""
    why_not: str = ""
    """Why no copy could be made; empty if that did not fail."""
    is_maybe: bool = False
    """Whether the command only names the place; the program may leave it unchanged."""
    held: tuple[str, ...] = ()
    """The files that the last version holds."""
    is_outside: bool = False
    """Whether the place is outside the workspace, where no copies are kept."""

    @property
    def can_be_copied(self) -> bool:
        """Whether a copy is small enough and did not fail."""
        return self.is_whole and self.size <= MOST_BYTES and not self.why_not

    @property
    def is_reported(self) -> bool:
        """Whether the user is told: always about deletions and files outside the workspace, otherwise only if content
        is lost.
        """
        return self.deletes or self.is_outside or not self.can_be_brought_back

    @property
    def can_be_brought_back(self) -> bool:
        """Whether nothing would be lost permanently."""
        is_lost = self.why_not or (self.files and not self.can_be_copied) or self.too_large or self.refused
        return not (is_lost or self.has_history)

    @property
    def is_final(self) -> bool:
        """Whether files in the workspace are lost permanently, other than generated ones, which programs recreate."""
        is_generated = PurePath(self.path).name in GENERATED and not self.has_history
        return self.deletes and not (self.can_be_brought_back or is_generated or self.is_outside)


def describe(deletions: Sequence[Deletion], root: Path) -> str:
    """Describe in one line what a part of a command touches: how much, where, and whether it can be restored."""
    any_of = [loss for loss in deletions if loss.is_any]
    touching = [loss for loss in deletions if not (loss.is_any or loss.is_maybe or loss.is_outside)]
    groups = (touching, [loss for loss in deletions if loss.is_outside], [loss for loss in deletions if loss.is_maybe])
    return "; ".join([*(_of_certain(one, root) for one in groups if one), *(_of_any(loss, root) for loss in any_of)])


def _of_certain(deletions: Sequence[Deletion], root: Path) -> str:
    count = sum(loss.count for loss in deletions)
    what = f"{count:,} files" if count > 1 else "1 file" if count else "what is"
    what = what if all(loss.is_whole for loss in deletions) else f"more than {count - 1:,} files"
    names = [_name(Path(loss.path), root) for loss in deletions]
    more = f" and {len(names) - _MOST_PATHS} more places" if len(names) > _MOST_PATHS else ""
    line = f"{_verb(deletions)} {what} in {', '.join(names[:_MOST_PATHS])}{more}"
    if len(names) == 1 and not names[0].endswith("/"):
        line = f"{_verb(deletions)} {what} ({names[0]})"
    return _with(line, [_fate(deletions), _HISTORY if any(loss.has_history for loss in deletions) else ""])


def _fate(deletions: Sequence[Deletion]) -> str:
    """Say whether the files can be restored; empty if there are none."""
    failed = next((loss.why_not for loss in deletions if loss.why_not), "")
    if failed:
        return _failed(failed)
    if deletions[0].is_outside:
        return _OUTSIDE
    count, lost = sum(loss.count for loss in deletions), sum(len(loss.files) for loss in deletions)
    if not count:
        return ""
    if not lost or all(loss.can_be_copied for loss in deletions):
        refused = [name for loss in deletions for name in loss.refused]
        copied = f"backup of {_files_of_part(count - len(refused))}" if count > len(refused) else ""
        return "; ".join(filter(None, (copied, _not_of(refused, _REFUSED)))) if refused else f"can be undone: {copied}"
    return _LOST if lost == count else f"{lost:,} of them {_LOST}"


def _of_any(loss: Deletion, root: Path) -> str:
    line = f"{_verb([loss])} files in {_name(Path(loss.path), root)} only known at run time"
    if loss.why_not:
        return _with(line, [_failed(loss.why_not)])
    undone = "can be undone: " if loss.can_be_brought_back else ""
    files = _files_of_part(len(loss.files))
    copied = f"{undone}backup of the {files} that git does not contain" if loss.files else ""
    lost = [_not_of(loss.too_large, "too large"), _not_of(loss.refused, _REFUSED)]
    return _with(line, [copied, *lost, _HISTORY if loss.has_history else ""])


def _failed(why: str) -> str:
    return f"{NO_COPY}: {visible(why, lines=False)}"


def _files_of_part(count: int) -> str:
    return f"{count:,} files" if count > 1 else "1 file"


def _not_of(paths: Sequence[str], why: str) -> str:
    return f"NOT of {_named_in_part(paths)}: {why}" if paths else ""


def _named_in_part(paths: Sequence[str]) -> str:
    names = ", ".join(visible_path(path) for path in paths[:2])
    return f"{names} and {len(paths) - 2:,} more" if len(paths) > 2 else names


def _verb(deletions: Sequence[Deletion]) -> str:
    if any(loss.deletes for loss in deletions):
        return "deletes"
    return "may change" if deletions[0].is_maybe else "changes"


def _with(line: str, notes: Sequence[str]) -> str:
    nonempty = [note for note in notes if note]
    return f"{line} ({'; '.join(nonempty)})" if nonempty else line


def _name(location: Path, root: Path) -> str:
    is_directory = location.is_dir() and not location.is_symlink()
    line = os.path.relpath(location, root) if location.is_relative_to(root) else str(location)
    return visible_path(line + ("/" if is_directory else ""))


MOST_OUTSIDE = 1_000
"""The most files outside the workspace that are counted; they are never copied anyway."""
_MOST_DIRECTORIES, _MOST_LOOKED = 8, 40
_OF_FILES = (("rm",), ("unlink",))
_RECURSIVE: Final = frozenset({"rm", "srm", "trash", "rimraf", "find", "gfind", "fd", "fdfind", "rsync"})
"""Programs that delete whole directories, as far as their flags say so."""
_TREES: Final = lazy_pattern(r"rmtree|rm_rf|rm_r\b|rmSync|remove_tree|remove_dir_all|RemoveAll|recursive|removedirs")
"""Matches calls in code that delete whole directories."""
_EXCLUDES_GIT: Final = lazy_pattern(
    r"(?:-not|!) -(?:i?path|wholename|name) (?:\./|\*/)?\.git(?:/\*)?(?= |\Z)|"
    r"-(?:i?path|wholename|name) (?:\./|\*/)?\.git -prune|-empty(?= |\Z)|--exclude[= ]/?\.git/?(?= |\Z)"
)
"""Options of `find` and `rsync` that exclude the repository, or leave all of its content."""
_OF_GIT: Final = lazy_pattern(r"git\Z")
"""Its own verbs never delete the repository."""
_MOST_SEARCHED: Final = 2_000
"""How many directories are searched for repositories."""
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp")


@dataclass
class FileCount:
    """The files at or below a path, with their sizes; `is_whole` says whether these are all, except git's own."""

    sizes: dict[Path, int] = field(default_factory=dict)
    is_whole: bool = True
    has_history: bool = False

    def count(self, path: Path) -> None:
        """Count the file at the path if it is a link, or a regular file that can be read."""
        try:
            status = path.lstat()
        except OSError:
            return
        if stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK)):
            self.sizes[path] = status.st_size


class Touched(NamedTuple):
    """A place that one part of a command deletes or overwrites, and the files there."""

    part: Part
    deletes: bool
    path: str
    counted: FileCount
    is_any: bool = False
    """Whether only some of the files are touched, and which ones is unknown."""
    is_maybe: bool = False
    """Whether the command only names the place; the program may leave it unchanged."""
    is_outside: bool = False
    only: frozenset[Path] | None = None
    """With `is_any`: the only files that may be touched; None if all may be."""


def touched(parts: Sequence[Part], root: Path) -> list[Touched]:
    """Return all places that the parts touch; a place that one part deletes and another only names counts once."""
    touching = [
        one for part in parts for one in (*_named(part, root), *_any_of(part, root), *_moved(part, parts, root))
    ]
    taken = {one.path for one in touching}
    for part in parts:
        touching += [one for one in _mentioned(part, root) if one.path not in taken]
        taken |= {one.path for one in touching}
    return touching


def _named(part: Part, root: Path) -> Iterator[Touched]:
    """Yield the places that a part deletes or overwrites, with the files there."""
    for paths, deletes in _lost_by(part):
        deep = deletes and not _leaves_directories(part)
        inside, outside = _existing(_named_paths(part, paths, deletes), root, follows=not deletes)
        unkept = _unspared_files(part, inside, root) if deletes and inside and part.spares else None
        for location in inside[:MOST_FILES]:
            files = _files(location, deep=deep, only=unkept)
            files.is_whole &= len(inside) <= MOST_FILES
            if files.sizes or files.has_history:
                yield Touched(part, deletes, location, files)
        for location in outside[:MOST_OUTSIDE]:
            files = _files(location, deep=deep, most=MOST_OUTSIDE)
            if files.sizes and (deletes or not any(is_within(location, directory) for directory in _TEMPORARY)):
                yield Touched(part, deletes, location, files, is_outside=True)


def _named_paths(part: Part, paths: Sequence[str], deletes: bool) -> list[str]:
    return [path for path in (*paths, *_patterns(part, paths if deletes else ())) if not path.endswith(ANY)]


def deleted_directories(parts: Sequence[Part], root: Path) -> list[str]:
    """Return the directories in the workspace that parts name and delete, also those that contain no file."""
    deleting = [part for part in parts if part.risk != "LOW" and not (_leaves_directories(part) or part.spares)]
    named = [path for part in deleting for path in _named_paths(part, part.deletes, True)]
    inside = _existing(named, root, follows=False)[0][:MOST_FILES]
    return [path for path in inside if Path(path).is_dir() and not Path(path).is_symlink()]


def _any_of(part: Part, root: Path) -> Iterator[Touched]:
    """Yield the directories in which a part deletes or overwrites files that are unknown before it runs."""
    top = str(root)
    for paths, deletes in _lost_by(part):
        directories = (real_path(path.removesuffix(ANY) or "/") for path in paths if path.endswith(ANY))
        for location in dict.fromkeys(top if is_within(top, directory) else directory for directory in directories):
            if is_within(location, top) and Path(location).is_dir():
                unkept = _unspared_files(part, [location], root) if part.spares else None
                only = None if unkept is None else frozenset(unkept)
                counted = FileCount(has_history=deletes and _may_delete_history(part, location))
                yield Touched(part, deletes, location, counted, is_any=True, only=only)


def _moved(part: Part, parts: Sequence[Part], root: Path) -> Iterator[Touched]:
    """Yield the directories that an `mv` moves to a place that some part deletes: what is deleted is there already."""
    if part.words[:1] != ("mv",) and " ".join(part.words[:2]) != "git mv":
        return
    doomed = [os.path.normpath(path.removesuffix(ANY) or "/") for each in parts for path in each.deletes]
    written = [os.path.normpath(path) for path in part.changes]
    if not any(is_within(path, other) or is_within(other, path) for path in doomed for other in written):
        return
    for location in _existing(part.changes, root, follows=False)[0]:
        files = _files(location, deep=True)
        is_counted = location in doomed or not Path(location).is_dir() or Path(location).is_symlink()
        if not is_counted and (files.sizes or files.has_history):
            yield Touched(part, True, location, files)


def _may_delete_history(part: Part, location: str) -> bool:
    """Return whether the part may delete a git repository at or below the place: git restores no other's history."""
    name = part.words[0].rpartition("/")[2] if part.words else ""
    if _OF_GIT.match(name) or _leaves_directories(part) or _EXCLUDES_GIT.search(" ".join(part.words)):
        return False
    if name not in _RECURSIVE and not _TREES.search(part.text):  # code that deletes single files
        return False
    directories = islice(os.walk(location), _MOST_SEARCHED)
    return any(".git" in names or ".git" in subdirectories for _, subdirectories, names in directories)


def _mentioned(part: Part, root: Path) -> Iterator[Touched]:
    """Yield files that the words of a part name, also by a bare name inside a named directory."""
    if part.risk == "LOW" or not part.mentions:
        return
    paths = mentioned(part)
    directories = [*part.directories, *(path for path in paths[:_MOST_LOOKED] if Path(path).is_dir())][
        :_MOST_DIRECTORIES
    ]
    names = dict.fromkeys(os.path.basename(path) for path in paths)  # noqa: PTH119
    inside = (f"{directory}/{name}" for directory in directories for name in names if name)
    for location in _existing([*paths, *inside], root, follows=True)[0][:MOST_FILES]:
        files = FileCount()
        if ".git" not in Path(location).parts:
            files.count(Path(location))
        if files.sizes:
            yield Touched(part, False, location, files, is_maybe=True)


def _lost_by(part: Part) -> Sequence[tuple[tuple[str, ...], bool]]:
    """Return the paths that a part deletes (with True) and overwrites (with False); none if it is rated LOW."""
    return () if part.risk == "LOW" else ((part.deletes, True), (part.changes, False))


def _patterns(part: Part, deletes: Sequence[str]) -> list[str]:
    """Return the patterns among the words of a part that deletes something.

    `deletes` names, in place of a pattern, the most telling file that it may match, such as `.env` for `.*`.
    """
    if not deletes or _OF_GIT.match("".join(part.words[:1])):
        return []
    base = part.directories[0] if part.directories else ""
    return [word if word.startswith("/") else f"{base}/{word}" for word in part.mentions if glob.has_magic(word)]


def _leaves_directories(part: Part) -> bool:
    """Return whether the part is an `rm` or `unlink` that removes only files."""
    flags = [word for word in part.words[1:] if word.startswith("-")]
    is_deep = any(word.startswith("--rec") or (word[1:2] != "-" and not {*"rR"}.isdisjoint(word)) for word in flags)
    return part.words[:1] in _OF_FILES and not is_deep


def _existing(named: Iterable[str], root: Path, *, follows: bool) -> tuple[list[str], list[str]]:
    """Return the existing paths that are named or match a named pattern: those inside the workspace, then those
    outside.

    With `follows`, the target of a link counts too, since writing through a link changes the target.
    """
    names: dict[str, None] = {}
    for path in (path for one in named for path in [one, *_fitting(one)] if os.path.lexists(path)):
        names[_real(path)] = None
        if follows and Path(path).is_symlink():
            names[real_path(path)] = None
    top = str(root)
    inside = [path for path in names if is_within(path, top)]
    return inside, [path for path in names if not is_within(path, top)]


def _real(path: str) -> str:
    """Return the entry's own real path: links in its directory are resolved, the entry itself is not."""
    directory, name = os.path.split(path.rstrip("/") or "/")
    if name in {"", ".", ".."}:
        return real_path(path)
    return os.path.join(real_path(directory), name)  # noqa: PTH118


def _fitting(pattern: str) -> list[str]:
    """Return the paths that match a pattern, at most MOST_FILES + 1; `**` matches directories, also hidden ones."""
    if not any(sign in pattern for sign in "*?["):
        return []
    is_deep = "**" in pattern
    files = glob.iglob(pattern, recursive=is_deep, include_hidden=is_deep)  # noqa: PTH207
    return sorted(islice(files, MOST_FILES + 1))


def is_within(path: str, directory: str) -> bool:
    """Return whether a path is the directory or is below it."""
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def _files(location: str, *, deep: bool, only: set[Path] | None = None, most: int = MOST_FILES) -> FileCount:
    """Return the files at a place, including those below it if `deep`; with `only`, count only those files."""
    files = FileCount()
    if only is not None:
        for path in only:
            if deep and path.is_relative_to(location):
                files.count(path)
        return files
    if ".git" in Path(location).parts:
        files.has_history = deep or not Path(location).is_dir()
    elif Path(location).is_symlink() or not Path(location).is_dir():
        files.count(Path(location))
    elif deep:
        _walk(files, location, most)
    return files


def _walk(files: FileCount, location: str, most: int) -> None:
    for directory, directories, names in os.walk(location):
        if ".git" in directories:
            directories.remove(".git")
            files.has_history = True
        symlinks = [name for name in directories if Path(directory, name).is_symlink()]
        for name in (*names, *symlinks):
            files.count(Path(directory, name))
        if len(files.sizes) > most:
            files.is_whole = False
            return


def _unspared_files(part: Part, paths: Sequence[str], root: Path) -> set[Path] | None:
    """Return the files at or below `paths` that the git command may delete or overwrite, or None if git cannot tell."""
    names = _git_list(["ls-files", "-z", *_UNSPARED[part.spares], "--", *paths], root)
    if names is None:
        return None
    if part.spares == "m":
        names |= _in_the_way(part, root)
    return {root / name for name in names}


def _in_the_way(part: Part, root: Path) -> set[str]:
    """Return the untracked paths that the command's checkout would write to, most of which are ignored files."""
    names = set().union(*(_git_list(["ls-tree", "-r", "-z", "--name-only", tree], root) or () for tree in _trees(part)))
    return names - (_git_list(["ls-files", "-z"], root) or set()) if names else set()


def _trees(part: Part) -> Iterator[str]:
    """Yield the words of the command that may name the state to check out, or else its default state."""
    named = [word for word in part.words[2:] if word and not word.startswith("-") and "\0" not in word]
    yield from named[:_MOST_TREES]
    if not named and len(part.words) > 1 and part.words[1] in _FROM:
        yield _FROM[part.words[1]]


def _git_list(arguments: Sequence[str], root: Path) -> set[str] | None:
    answer = run_git(arguments, cwd=root, timeout=_GIT_LIMIT)
    return {os.fsdecode(name) for name in answer.output.split(b"\0") if name} if answer.ok else None
