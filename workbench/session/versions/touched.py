"""What the parts of a command may delete or write over, as it is on disk: places and the files there; for `losses`."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from workbench.security.assessment import ANY, Part
from workbench.security.mentions import mentioned
from workbench.session.versions.loss import MOST_FILES
from workbench.session.versions.own_git import not_kept
from workbench.tools.anchored import real_path

MOST_OUTSIDE = 1_000
"""Files outside the workspace that are counted: of them no copy is kept anyway."""
_MOST_FOLDERS, _MOST_LOOKED = 8, 40
_OF_FILES = (("rm",), ("unlink",))
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp")


@dataclass
class Below:
    """The files at or below a path with their sizes; `is_whole`: these are all, but for those of git."""

    sizes: dict[Path, int] = field(default_factory=dict)
    is_whole: bool = True
    has_history: bool = False

    def count(self, path: Path) -> None:
        """One more file, where it is one that can be read, or a link."""
        try:
            status = path.lstat()
        except OSError:
            return
        if stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK)):
            self.sizes[path] = status.st_size


class Touched(NamedTuple):
    """A place that one part of a command deletes or writes over, and the files there."""

    part: Part
    deletes: bool
    place: str
    below: Below
    is_any: bool = False
    """Whether it touches only some of them, and which ones is not known."""
    is_maybe: bool = False
    """Whether it is only named, and the program may leave it as it is."""
    is_outside: bool = False
    only: frozenset[Path] | None = None
    """Of any, those that it may be at all; None for all."""


def touched(parts: Sequence[Part], root: Path) -> list[Touched]:
    """All that the parts touch of what is there; a place that one names and another takes counts once."""
    known = [one for part in parts for one in (*_named(part, root), *_any_of(part, root))]
    taken = {one.place for one in known}
    for part in parts:
        known += [one for one in _mentioned(part, root) if one.place not in taken]
        taken |= {one.place for one in known}
    return known


def _named(part: Part, root: Path) -> Iterator[Touched]:
    """The places that a part deletes or writes over."""
    for paths, deletes in _lost_by(part):
        deep = deletes and not _leaves_folders(part)
        inside, outside = _places((path for path in paths if not path.endswith(ANY)), root, follows=not deletes)
        left = not_kept(part, inside, root) if deletes and inside and part.spares else None
        for place in inside[:MOST_FILES]:
            below = _files(place, deep=deep, only=left)
            below.is_whole &= len(inside) <= MOST_FILES
            if below.sizes or below.has_history:
                yield Touched(part, deletes, place, below)
        for place in outside[:MOST_OUTSIDE]:
            below = _files(place, deep=deep, most=MOST_OUTSIDE)
            if below.sizes and (deletes or not any(is_below(place, folder) for folder in _TEMPORARY)):
                yield Touched(part, deletes, place, below, is_outside=True)


def _any_of(part: Part, root: Path) -> Iterator[Touched]:
    """The folders of which a part deletes or writes over some files; which ones is not known."""
    top = str(root)
    for paths, deletes in _lost_by(part):
        folders = (real_path(path.removesuffix(ANY) or "/") for path in paths if path.endswith(ANY))
        for place in dict.fromkeys(top if is_below(top, folder) else folder for folder in folders):
            if is_below(place, top) and Path(place).is_dir():
                left = not_kept(part, [place], root) if part.spares else None
                only = None if left is None else frozenset(left)
                yield Touched(part, deletes, place, Below(), is_any=True, only=only)


def _mentioned(part: Part, root: Path) -> Iterator[Touched]:
    """Files that the words of a part name, also by their names alone in a folder that is named."""
    if part.risk == "LOW" or not part.mentions:
        return
    paths = mentioned(part)
    folders = [*part.folders, *(path for path in paths[:_MOST_LOOKED] if Path(path).is_dir())][:_MOST_FOLDERS]
    names = dict.fromkeys(os.path.basename(path) for path in paths)  # noqa: PTH119
    inside = (f"{folder}/{name}" for folder in folders for name in names if name)
    for place in _places([*paths, *inside], root, follows=True)[0][:MOST_FILES]:
        below = Below()
        if ".git" not in Path(place).parts:
            below.count(Path(place))
        if below.sizes:
            yield Touched(part, False, place, below, is_maybe=True)


def _lost_by(part: Part) -> Sequence[tuple[tuple[str, ...], bool]]:
    """What a part deletes, and what it writes over; one that is LOW does neither."""
    return () if part.risk == "LOW" else ((part.deletes, True), (part.changes, False))


def _leaves_folders(part: Part) -> bool:
    """Whether it is an `rm` that takes files only."""
    flags = [word for word in part.words[1:] if word.startswith("-")]
    is_deep = any(word.startswith("--rec") or (word[1:2] != "-" and not {*"rR"}.isdisjoint(word)) for word in flags)
    return part.words[:1] in _OF_FILES and not is_deep


def _places(named: Iterable[str], root: Path, *, follows: bool) -> tuple[list[str], list[str]]:
    """What is there of the paths, and of what fits them as patterns: in the workspace, and outside of it.

    What is written through a link is where the link leads.
    """
    places: dict[str, None] = {}
    for path in (path for one in named for path in [one, *_fitting(one)] if os.path.lexists(path)):
        places[_real(path)] = None
        if follows and Path(path).is_symlink():
            places[real_path(path)] = None
    top = str(root)
    inside = [path for path in places if is_below(path, top)]
    return inside, [path for path in places if not is_below(path, top)]


def _real(path: str) -> str:
    """Where the entry itself lies: links on the way to it are resolved, it is not."""
    folder, name = os.path.split(path.rstrip("/") or "/")
    if name in {"", ".", ".."}:
        return real_path(path)
    return os.path.join(real_path(folder), name)  # noqa: PTH118


def _fitting(pattern: str) -> list[str]:
    """What fits a pattern; `**` stands for folders, those that are hidden too."""
    if not any(sign in pattern for sign in "*?["):
        return []
    is_deep = "**" in pattern
    found = glob.iglob(pattern, recursive=is_deep, include_hidden=is_deep)  # noqa: PTH207
    return sorted(islice(found, MOST_FILES + 1))


def is_below(path: str, folder: str) -> bool:
    """Whether a path is the folder or below it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _files(place: str, *, deep: bool, only: set[Path] | None = None, most: int = MOST_FILES) -> Below:
    """What is there; with `only`, those of it."""
    found = Below()
    if only is not None:
        for path in only:
            if deep and path.is_relative_to(place):
                found.count(path)
        return found
    if ".git" in Path(place).parts:
        found.has_history = True
    elif Path(place).is_symlink() or not Path(place).is_dir():
        found.count(Path(place))
    elif deep:
        _walk(found, place, most)
    return found


def _walk(found: Below, place: str, most: int) -> None:
    for folder, folders, names in os.walk(place):
        if ".git" in folders:
            folders.remove(".git")
            found.has_history = True
        for name in names:
            found.count(Path(folder, name))
        if len(found.sizes) > most:
            found.is_whole = False
            return
