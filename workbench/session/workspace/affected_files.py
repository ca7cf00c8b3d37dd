"""Finds the files that one part of a command deletes or overwrites; used by `deletions`."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from workbench.files.git import run_git
from workbench.files.root_directory import real_path
from workbench.lazy_pattern import lazy_pattern
from workbench.risk import Part
from workbench.risk.assessment import ANY, Spares, mentioned

MOST_FILES, MOST_BYTES = 20_000, 100_000_000
"""The most files, and the most bytes, in one copy."""
_GIT_LIMIT = 2.0
"""Seconds after which a git call is stopped."""
_UNSPARED: Mapping[Spares, tuple[str, ...]] = {
    "-": ("--others", "--exclude-standard"),
    "x": ("--others",),
    "X": ("--others", "--ignored", "--exclude-standard"),
    "m": ("--modified", "--others", "--exclude-standard"),
}
"""By what a command spares: options of `git ls-files` that list the files that it does not spare."""
_MOST_TREES = 3
_FROM: Mapping[str, str] = {"pull": "@{upstream}", "merge": "@{upstream}", "stash": "stash@{0}", "am": "HEAD"}
"""The state from which each git subcommand takes its files if the command names none."""
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
"""Matches options of `find` and `rsync` that exclude the repository or keep all of its content."""
_OF_GIT: Final = lazy_pattern(r"git\Z")
"""Matches git, whose own verbs never delete the repository."""
_MOST_SEARCHED: Final = 2_000
"""The most directories that are searched for repositories."""
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp")


class FileCount(msgspec.Struct):
    """The files at or below a path, with their sizes in bytes.

    `is_whole` says whether all files are included, except git's own; `has_history`, whether there is a git repository.
    """

    sizes: dict[Path, int] = msgspec.field(default_factory=dict)
    is_whole: bool = True
    has_history: bool = False

    def count(self, path: Path) -> None:
        """Add the file at the path if it is a link, or a regular file that can be read."""
        try:
            status = path.lstat()
        except OSError:
            return
        if stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK)):
            self.sizes[path] = status.st_size


class Touched(NamedTuple):
    """A path that one part of a command deletes or overwrites, and the files at or below it."""

    part: Part
    deletes: bool
    path: str
    counted: FileCount
    is_any: bool = False
    """Whether only some files below the path are touched, and which ones is unknown."""
    is_maybe: bool = False
    """Whether the command only names the path; the program may leave it unchanged."""
    is_outside: bool = False
    only: frozenset[Path] | None = None
    """With `is_any`: the only files that may be touched; None if all may be."""


def touched(parts: Sequence[Part], root: Path) -> list[Touched]:
    """Return all paths that the parts touch; a path that one part deletes and another only names is returned once."""
    touching = [
        one for part in parts for one in (*_named(part, root), *_any_of(part, root), *_moved(part, parts, root))
    ]
    taken = {one.path for one in touching}
    for part in parts:
        touching += [one for one in _mentioned(part, root) if one.path not in taken]
        taken |= {one.path for one in touching}
    return touching


def _named(part: Part, root: Path) -> Iterator[Touched]:
    """Yield the paths that a part deletes or overwrites, with the files there."""
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
    """Return the directories in the workspace that parts delete by name, including those without files."""
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
    """Yield the directories that an `mv` moves to a path that another part deletes: the files are still in their old
    place.
    """
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
    """Return whether the part may delete a git repository at or below the location, whose history we cannot restore."""
    name = part.words[0].rpartition("/")[2] if part.words else ""
    if _OF_GIT.match(name) or _leaves_directories(part) or _EXCLUDES_GIT.search(" ".join(part.words)):
        return False
    if name not in _RECURSIVE and not _TREES.search(part.text):  # code that deletes single files
        return False
    directories = islice(os.walk(location), _MOST_SEARCHED)
    return any(".git" in names or ".git" in subdirectories for _, subdirectories, names in directories)


def _mentioned(part: Part, root: Path) -> Iterator[Touched]:
    """Yield files that the words of a part mention, also by their bare name inside a mentioned directory."""
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

    In place of a pattern, `deletes` may have the most important file that it matches, such as `.env` for `.*`.
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
    """Return the existing paths that are named or match a named pattern: those in the workspace, and those outside.

    With `follows`, the target of a link is included, since writing through a link changes the target.
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
    """Return the paths that match a pattern, at most MOST_FILES + 1; hidden files are included only with `**`."""
    if not any(sign in pattern for sign in "*?["):
        return []
    is_deep = "**" in pattern
    files = glob.iglob(pattern, recursive=is_deep, include_hidden=is_deep)  # noqa: PTH207
    return sorted(islice(files, MOST_FILES + 1))


def is_within(path: str, directory: str) -> bool:
    """Return whether a path is the directory or is below it."""
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def _files(location: str, *, deep: bool, only: set[Path] | None = None, most: int = MOST_FILES) -> FileCount:
    """Return the files at a path, and with `deep` those below it; with `only`, just those of these files."""
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
    """Return the untracked paths, mostly of ignored files, that the command's checkout would write to."""
    names = set().union(*(_git_list(["ls-tree", "-r", "-z", "--name-only", tree], root) or () for tree in _trees(part)))
    return names - (_git_list(["ls-files", "-z"], root) or set()) if names else set()


def _trees(part: Part) -> Iterator[str]:
    """Yield the words of the command that may name the commit to check out, or else the default of its subcommand."""
    named = [word for word in part.words[2:] if word and not word.startswith("-") and "\0" not in word]
    yield from named[:_MOST_TREES]
    if not named and len(part.words) > 1 and part.words[1] in _FROM:
        yield _FROM[part.words[1]]


def _git_list(arguments: Sequence[str], root: Path) -> set[str] | None:
    answer = run_git(arguments, cwd=root, timeout=_GIT_LIMIT)
    return {os.fsdecode(name) for name in answer.output.split(b"\0") if name} if answer.ok else None
