"""What a command would take away that no version holds, and the copy that is kept before it runs; used by `net`."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePath
from typing import NamedTuple

from workbench.safe_git import run_git
from workbench.security.assessment import ANY, Assessment, Part
from workbench.session.versions.copies import Copies, Copy
from workbench.session.versions.loss import MOST_BYTES, MOST_FILES, Loss, told
from workbench.session.versions.repository import GENERATED, Repository, VersionsFail

FOR_GOOD = "what it deletes could not be brought back"
"""Why it is asked about, whatever mode and rules say."""
_LOOK_LIMIT = 2.0
_OTHERS = {"-": ("--exclude-standard",), "x": (), "X": ("--ignored", "--exclude-standard")}
"""How `git ls-files` names what `git clean` deletes."""


class Explained(NamedTuple):
    """A rating with what is deleted in its reasons; `doubt`: why it is asked about whatever the mode is."""

    found: Assessment
    doubt: str = ""


class Losses:
    """What commands take away in one workspace."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.copies = Copies(repository)

    def explained(self, found: Assessment) -> Explained:
        """The same rating, with what is deleted in its reasons."""
        losses = self._found(found)
        lost: dict[Part, list[Loss]] = {}
        for loss in losses:
            if loss.is_told:
                lost.setdefault(loss.part, []).append(loss)
        said = {part: told(of_part, self._repository.workspace) for part, of_part in lost.items()}
        parts = tuple(part._replace(reason=said.get(part, part.reason)) for part in found.parts)
        new = {old.reason: reason for old, reason in said.items()}
        reasons = tuple(new.get(reason, reason) for reason in found.reasons)
        doubt = FOR_GOOD if any(loss.is_final for loss in losses) else ""
        return Explained(found._replace(parts=parts, reasons=reasons), doubt)

    def keep(self, found: Assessment, command: str, session_id: str) -> Copy | None:
        """Keep a copy of what the command takes away; None where there is nothing. Raises VersionsFail."""
        losses = self._found(found)
        failed = next((loss.why_not for loss in losses if loss.why_not), "")
        if failed:
            raise VersionsFail(failed)
        losses = [loss for loss in losses if loss.files and loss.can_be_kept]
        files = dict.fromkeys(path for loss in losses for path in loss.files)
        if not files:
            return None
        size = sum(loss.size for loss in losses)
        return self.copies.keep(list(files), command, session_id, size)

    def _found(self, found: Assessment) -> list[Loss]:
        """What each part takes away; where that cannot be looked up, each says why."""
        touched = [one for part in found.parts for one in (*self._touched(part), *self._any_of(part))]
        try:
            if touched:
                self._repository.prepare()  # the first version may not have begun
            places = [self._relative(one.place) for one in touched if not one.is_any]
            held = self._repository.held(places, timeout=_LOOK_LIMIT) if places else set()
            return [self._loose(one) if one.is_any else self._loss(one, held) for one in touched]
        except VersionsFail as error:
            return [_not_looked_up(one, str(error)) for one in touched]

    def _relative(self, path: str | Path) -> str:
        return os.path.relpath(path, self._repository.workspace)

    def _touched(self, part: Part) -> Iterator[_Touched]:
        """The places that a part of a command deletes or writes over, with the files there."""
        for paths, deletes in _lost_by(part):
            places = self._places(path for path in paths if not path.endswith(ANY))
            left = self._not_kept(part, places) if deletes and places and part.spares else None
            for place in places[:MOST_FILES]:
                below = _files(place, deep=deletes, only=left)
                below.is_whole &= len(places) <= MOST_FILES
                if below.sizes or below.has_history:
                    yield _Touched(part, deletes, place, below)

    def _any_of(self, part: Part) -> Iterator[_Touched]:
        """The folders of which a part deletes or writes over some files; which ones is not known."""
        root = str(self._repository.workspace)
        for paths, deletes in _lost_by(part):
            folders = (os.path.realpath(path.removesuffix(ANY) or "/") for path in paths if path.endswith(ANY))
            for place in dict.fromkeys(root if _is_below(root, folder) else folder for folder in folders):
                if _is_below(place, root) and Path(place).is_dir():
                    yield _Touched(part, deletes, place, _Below(), is_any=True)

    def _not_kept(self, part: Part, places: Sequence[str]) -> set[Path] | None:
        """What the person's repository does not keep below these places; None when git cannot say."""
        root = self._repository.workspace
        said = run_git(["ls-files", "-z", "--others", *_OTHERS[part.spares], "--", *places], cwd=root)
        return {root / os.fsdecode(name) for name in said.output.split(b"\0") if name} if said.ok else None

    def _loss(self, one: _Touched, held: set[str]) -> Loss:
        root, below = self._repository.workspace, one.below
        lost = tuple(name for name in map(self._relative, below.sizes) if name not in held)
        size = sum(below.sizes[root / name] for name in lost)
        return Loss(one.part, one.deletes, one.place, len(below.sizes), lost, size, below.is_whole, below.has_history)

    def _loose(self, one: _Touched) -> Loss:
        """All that no version holds there, as far as a copy may be: the smallest first; not what is made again."""
        root = self._repository.workspace
        sizes: dict[Path, int] = {}
        for name in self._repository.loose(self._relative(one.place), timeout=_LOOK_LIMIT):
            if GENERATED.isdisjoint(PurePath(name).parts):
                _count(sizes, root / name)
        kept, size = _smallest(sizes)
        files = tuple(self._relative(path) for path in sizes if path in kept)
        lost = tuple(self._relative(path) for path in sizes if path not in kept)
        return Loss(one.part, one.deletes, one.place, len(sizes), files, size, True, is_any=True, too_large=lost)

    def _places(self, named: Iterable[str]) -> list[str]:
        """Those of the paths, and of what fits them as patterns, that are in the workspace."""
        root = str(self._repository.workspace)
        fitting = (path for one in named for path in [one, *_fitting(one)])
        places = dict.fromkeys(os.path.normpath(path) for path in fitting if os.path.lexists(path))
        return [path for path in places if _is_inside(path, root)]


def _fitting(pattern: str) -> list[str]:
    """What fits a pattern; `**` stands for folders, those that are hidden too."""
    is_deep = "**" in pattern
    found = glob.iglob(pattern, recursive=is_deep, include_hidden=is_deep)  # noqa: PTH207
    return sorted(islice(found, MOST_FILES + 1))


class _Touched(NamedTuple):
    """A place that one part of a command deletes or writes over, and the files there."""

    part: Part
    deletes: bool
    place: str
    below: _Below
    is_any: bool = False
    """Whether it touches only some of them, and which ones is not known."""


def _not_looked_up(one: _Touched, why: str) -> Loss:
    return Loss(one.part, one.deletes, one.place, len(one.below.sizes), (), 0, True, is_any=one.is_any, why_not=why)


def _lost_by(part: Part) -> Sequence[tuple[tuple[str, ...], bool]]:
    """What a part deletes, and what it writes over; one that is LOW does neither."""
    return () if part.risk == "LOW" else ((part.deletes, True), (part.changes, False))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _is_inside(path: str, root: str) -> bool:
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))  # noqa: PTH118, PTH119, PTH120
    return real == path and _is_below(path, root)


def _smallest(sizes: dict[Path, int]) -> tuple[set[Path], int]:
    """As many of the files as one copy may hold, and their size."""
    kept: set[Path] = set()
    total = 0
    for path in sorted(sizes, key=sizes.__getitem__)[:MOST_FILES]:
        if total + sizes[path] > MOST_BYTES:
            break
        kept.add(path)
        total += sizes[path]
    return kept, total


@dataclass
class _Below:
    """The files at or below a path with their sizes; `is_whole`: these are all, but for those of git."""

    sizes: dict[Path, int] = field(default_factory=dict)
    is_whole: bool = True
    has_history: bool = False


def _files(place: str, *, deep: bool, only: set[Path] | None = None) -> _Below:
    """What is there; with `only`, those of it."""
    found = _Below()
    if only is not None:
        for path in only:
            if deep and path.is_relative_to(place):
                _count(found.sizes, path)
        return found
    if ".git" in Path(place).parts:
        found.has_history = True
    elif Path(place).is_symlink() or not Path(place).is_dir():
        _count(found.sizes, Path(place))
    elif deep:
        _walk(found, place)
    return found


def _walk(found: _Below, place: str) -> None:
    for folder, folders, names in os.walk(place):
        if ".git" in folders:
            folders.remove(".git")
            found.has_history = True
        for name in names:
            _count(found.sizes, Path(folder, name))
        if len(found.sizes) > MOST_FILES:
            found.is_whole = False
            return


def _count(found: dict[Path, int], path: Path) -> None:
    try:
        status = path.lstat()
    except OSError:
        return
    if stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK)):
        found[path] = status.st_size
