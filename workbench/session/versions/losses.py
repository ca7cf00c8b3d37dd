"""What a command would take away that no version holds, and the copy that is kept before it runs; used by `files`."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from workbench.security.assessment import Assessment, Part
from workbench.session.versions.copies import Copies, Copy
from workbench.session.versions.repository import Repository, VersionsFail
from workbench.text import visible

MOST_FILES, MOST_BYTES = 20_000, 100_000_000
"""The largest copy that is kept."""
_MOST_PLACES = 4
"""Places that one line names."""
_LOOK_LIMIT = 2.0
_KEPT = "not in git; a copy is kept"
_LOST = "not in git; can NOT be brought back: too much to keep a copy of"
_HISTORY = "with git history, which can NOT be brought back"


@dataclass(frozen=True)
class Loss:
    """Files below `place` that one part of a command deletes or writes over, those no version holds apart."""

    part: Part
    deletes: bool
    place: str
    count: int
    files: tuple[str, ...]
    size: int
    is_whole: bool
    """Whether all were counted."""
    has_history: bool = False
    """Whether a repository is among them: git takes no files of one into another."""

    @property
    def can_be_kept(self) -> bool:
        """Whether a copy of them is small enough."""
        return self.is_whole and self.size <= MOST_BYTES


class Losses:
    """What commands take away in one workspace."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.copies = Copies(repository)

    def explained(self, found: Assessment) -> Assessment:
        """The same rating, with what is deleted in its reasons."""
        lost: dict[Part, list[Loss]] = {}
        for loss in filter(_is_told, self._found(found)):
            lost.setdefault(loss.part, []).append(loss)
        said = {part: _told(losses, self._repository.workspace) for part, losses in lost.items()}
        if not said:
            return found
        parts = tuple(part._replace(reason=said.get(part, part.reason)) for part in found.parts)
        new = {old.reason: reason for old, reason in said.items()}
        return found._replace(parts=parts, reasons=tuple(new.get(reason, reason) for reason in found.reasons))

    def keep(self, found: Assessment, command: str, session_id: str) -> Copy | None:
        """Keep a copy of what the command takes away; None where there is nothing. Raises VersionsFail."""
        losses = [loss for loss in self._found(found) if loss.files and loss.can_be_kept]
        files = dict.fromkeys(path for loss in losses for path in loss.files)
        if not files:
            return None
        size = sum(loss.size for loss in losses)
        return self.copies.keep(list(files), command, session_id, size)

    def _found(self, found: Assessment) -> list[Loss]:
        try:
            touched = [one for part in found.parts for one in self._touched(part)]
            places = [os.path.relpath(one.place, self._repository.workspace) for one in touched]
            held = self._repository.held(places, timeout=_LOOK_LIMIT) if places else set()
        except VersionsFail:
            return []
        return [self._loss(one, held) for one in touched]

    def _touched(self, part: Part) -> Iterator[_Touched]:
        """The places that a part of a command deletes or writes over, with the files there."""
        if part.risk == "LOW":
            return
        for paths, deletes in ((part.deletes, True), (part.changes, False)):
            places = self._places(paths)
            for place in places[:MOST_FILES]:
                below = _files(place, deep=deletes)
                below.is_whole &= len(places) <= MOST_FILES
                if below.sizes or below.has_history:
                    yield _Touched(part, deletes, place, below)

    def _loss(self, one: _Touched, held: set[str]) -> Loss:
        root, below = self._repository.workspace, one.below
        names = (os.path.relpath(path, root) for path in below.sizes)
        lost = tuple(name for name in names if name not in held)
        size = sum(below.sizes[root / name] for name in lost)
        return Loss(one.part, one.deletes, one.place, len(below.sizes), lost, size, below.is_whole, below.has_history)

    def _places(self, named: Iterable[str]) -> list[str]:
        """Those of the paths, and of what fits them as patterns, that are in the workspace."""
        root = str(self._repository.workspace)
        fitting = (path for one in named for path in [one, *glob.glob(one)])  # noqa: PTH207
        places = dict.fromkeys(os.path.normpath(path) for path in fitting if os.path.lexists(path))
        return [path for path in places if _is_inside(path, root)]


class _Touched(NamedTuple):
    """A place that one part of a command deletes or writes over, and the files there."""

    part: Part
    deletes: bool
    place: str
    below: _Below


def _is_inside(path: str, root: str) -> bool:
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))  # noqa: PTH118, PTH119, PTH120
    return real == path and (path == root or path.startswith(f"{root}/"))


@dataclass
class _Below:
    """The files at or below a path with their sizes; `is_whole`: these are all, but for those of git."""

    sizes: dict[Path, int] = field(default_factory=dict)
    is_whole: bool = True
    has_history: bool = False


def _files(place: str, *, deep: bool) -> _Below:
    found = _Below()
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


def _is_told(loss: Loss) -> bool:
    """A file that is only changed is told of where it could not be had again."""
    return loss.deletes or (bool(loss.files) and not loss.can_be_kept)


def _told(losses: list[Loss], root: Path) -> str:
    """One line on all that a part of a command takes away: how much, where, and whether it can be had again."""
    count = sum(loss.count for loss in losses)
    what = f"{count:,} files" if count > 1 else "1 file" if count else "what is"
    what = what if all(loss.is_whole for loss in losses) else f"more than {MOST_FILES:,} files"
    places = [_name(Path(loss.place), root) for loss in losses]
    more = f" and {len(places) - _MOST_PLACES} more places" if len(places) > _MOST_PLACES else ""
    verb = "deletes" if any(loss.deletes for loss in losses) else "changes"
    said = f"{verb} {what} in {', '.join(places[:_MOST_PLACES])}{more}"
    if len(places) == 1 and not places[0].endswith("/"):
        said = f"{verb} {what} ({places[0]})"
    notes = [_KEPT if all(loss.can_be_kept for loss in losses) else _LOST] if any(loss.files for loss in losses) else []
    notes += [_HISTORY] if any(loss.has_history for loss in losses) else []
    return f"{said} ({'; '.join(notes)})" if notes else said


def _name(place: Path, root: Path) -> str:
    is_folder = place.is_dir() and not place.is_symlink()
    return visible(os.path.relpath(place, root) + ("/" if is_folder else ""), lines=False)
