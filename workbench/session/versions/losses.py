"""What a command would take away that no version holds, and the copy that is kept before it runs; used by `files`."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.security.assessment import Assessment, Part
from workbench.session.versions.copies import Copies, Copy
from workbench.session.versions.repository import Repository, VersionsFail
from workbench.text import visible

MOST_FILES, MOST_BYTES = 20_000, 100_000_000
"""The largest copy that is kept."""
_DELETES = "delete"
_CHANGES = ("changes", "writes", "moves", "empties")
_LOOK_LIMIT = 2.0
_KEPT = "not in git; a copy is kept"
_LOST = "not in git; can NOT be brought back: too much to keep a copy of"


@dataclass(frozen=True)
class Loss:
    """Files below `place` that one part of a command takes away, those no version holds apart."""

    part: Part
    place: str
    count: int
    files: tuple[str, ...]
    size: int
    is_whole: bool
    """Whether all were counted."""

    @property
    def can_be_kept(self) -> bool:
        """Whether a copy of them is small enough."""
        return self.is_whole and self.size <= MOST_BYTES


class Losses:
    """What commands take away in one workspace."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._copies = Copies(repository)

    def explained(self, found: Assessment) -> Assessment:
        """The same rating, with what is deleted in its reasons."""
        said = {loss.part: _told(loss) for loss in self._found(found) if loss.count and _is_told(loss)}
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
        return self._copies.keep(list(files), command, session_id, size)

    def _found(self, found: Assessment) -> list[Loss]:
        try:
            return [loss for part in found.parts for loss in self._losses(part)]
        except VersionsFail:
            return []

    def _losses(self, part: Part) -> Iterator[Loss]:
        deletes = _DELETES in part.reason
        if part.risk == "LOW" or not (deletes or part.reason.startswith(_CHANGES)):
            return
        for place in self._places(part):
            files, is_whole = _files(place, deep=deletes)
            if not files:
                continue
            names = [os.path.relpath(path, self._repository.workspace) for path in files]
            held = self._repository.held(os.path.relpath(place, self._repository.workspace), timeout=_LOOK_LIMIT)
            lost = tuple(name for name in names if name not in held)
            size = sum(files[self._repository.workspace / name] for name in lost)
            yield Loss(part, place, len(files), lost, size, is_whole)

    def _places(self, part: Part) -> list[str]:
        """The paths it names that are in the workspace, and not all of it."""
        root = str(self._repository.workspace)
        named: Iterable[str] = part.paths
        if part.words[:2] == ("git", "clean"):
            return [root]
        matching = (path for one in named for path in (glob.glob(one) if glob.has_magic(one) else [one]))  # noqa: PTH207
        places = dict.fromkeys(os.path.normpath(path) for path in matching if os.path.lexists(path))
        return [path for path in places if _is_inside(path, root)][:100]


def _is_inside(path: str, root: str) -> bool:
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))  # noqa: PTH118, PTH119, PTH120
    return real == path and (path == root or path.startswith(f"{root}/"))


def _files(place: str, *, deep: bool) -> tuple[dict[Path, int], bool]:
    """The files at or below a path with their sizes, and whether these are all."""
    found: dict[Path, int] = {}
    if not Path(place).is_symlink() and Path(place).is_dir():
        if not deep:
            return {}, True
        for folder, folders, names in os.walk(place):
            if ".git" in folders:
                folders.remove(".git")
            for name in names:
                _count(found, Path(folder, name))
            if len(found) > MOST_FILES:
                return found, False
    else:
        _count(found, Path(place))
    return found, True


def _count(found: dict[Path, int], path: Path) -> None:
    try:
        status = path.lstat()
    except OSError:
        return
    if stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK)):
        found[path] = status.st_size


def _is_told(loss: Loss) -> bool:
    """A file that is only changed is told of where it could not be had again."""
    return _DELETES in loss.part.reason or (bool(loss.files) and not loss.can_be_kept)


def _told(loss: Loss) -> str:
    what = f"{loss.count:,} files" if loss.count > 1 else "1 file"
    what = what if loss.is_whole else f"more than {MOST_FILES:,} files"
    place = Path(loss.place)
    where = f"in {place.name}/" if place.is_dir() and not place.is_symlink() else f"({place.name})"
    verb = "deletes" if _DELETES in loss.part.reason else "changes"
    said = f"{verb} {what} {visible(where, lines=False)}"
    if not loss.files:
        return said
    return f"{said} ({_KEPT if loss.can_be_kept else _LOST})"
