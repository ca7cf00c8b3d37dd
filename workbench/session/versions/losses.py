"""What a command would take away that no version holds, and the copy that is kept before it runs; used by `net`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import NamedTuple

from workbench.security.assessment import Assessment, Part
from workbench.session.versions.copies import Copies, Copy, Kept
from workbench.session.versions.loss import MOST_BYTES, MOST_FILES, Loss, told
from workbench.session.versions.metadata import metadata_of
from workbench.session.versions.repository import GENERATED, Change, Repository, VersionsFail
from workbench.session.versions.touched import Below, Touched, touched

FOR_GOOD = "what it deletes could not be brought back"
"""Why it is asked about, whatever mode and rules say."""
_LOOK_LIMIT = 2.0


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
        said = {part: _said(part, of_part, self._repository.workspace) for part, of_part in lost.items()}
        parts = tuple(part._replace(reason=said.get(part, part.reason)) for part in found.parts)
        new = {old.reason: reason for old, reason in said.items()}
        reasons = tuple(new.get(reason, reason) for reason in found.reasons)
        doubt = FOR_GOOD if any(loss.is_final for loss in losses) else ""
        return Explained(found._replace(parts=parts, reasons=reasons), doubt)

    def keep(self, found: Assessment, command: str, session_id: str) -> Copy | None:
        """Keep a copy of what the command takes away; None where there is nothing. Raises VersionsFail."""
        losses = self._found(found)
        failed = next((loss.why_not for loss in losses if loss.why_not and not loss.is_maybe), "")
        if failed:
            raise VersionsFail(failed)
        files = dict.fromkeys(path for loss in losses if loss.can_be_kept for path in loss.files)
        deleted = [loss for loss in losses if loss.deletes and not loss.is_outside]
        held = [path for path in dict.fromkeys(path for loss in deleted for path in loss.held) if path not in files]
        root = self._repository.workspace
        folders = [self._relative(loss.place) for loss in deleted if not loss.is_any]
        metadata = metadata_of(root, [*files, *held], folders)
        if not (files or held or metadata.directories):
            return None
        size = sum(_size(root / path) for path in (*files, *held))
        return self.copies.keep(list(files), held, Kept(command, session_id, size, metadata))

    def keep_deleted(self, changes: Sequence[Change], version: str, command: str, session_id: str) -> Copy:
        """Keep files that `version` holds and a command has deleted unforeseen; raises VersionsFail."""
        sizes = self._repository.sizes([change.before for change in changes])
        size = sum(sizes.get(change.before, 0) for change in changes)
        return self.copies.keep_deleted(changes, version, Kept(command, session_id, size))

    def _found(self, found: Assessment) -> list[Loss]:
        """What each part takes away; where that cannot be looked up, each says why."""
        there = touched(found.parts, self._repository.workspace)
        outside = [_outside(one) for one in there if one.is_outside]
        inside = [one for one in there if not (one.is_outside or self._is_held_surely(one))]
        try:
            if inside:
                self._repository.prepare()  # the first version may not have begun
            places = [self._relative(one.place) for one in inside if not one.is_any]
            held = self._repository.held(places, timeout=_LOOK_LIMIT) if places else set()
            return [*outside, *(self._loose(one) if one.is_any else self._loss(one, held) for one in inside)]
        except VersionsFail as error:
            return [*outside, *(_not_looked_up(one, str(error)) for one in inside)]

    def _is_held_surely(self, one: Touched) -> bool:
        """Whether git need not be asked of a file that the command only names: most of them are of the project."""
        return one.is_maybe and all(self._repository.is_as_recorded(self._relative(path)) for path in one.below.sizes)

    def _relative(self, path: str | Path) -> str:
        return os.path.relpath(path, self._repository.workspace)

    def _loss(self, one: Touched, held: set[str]) -> Loss:
        root, below = self._repository.workspace, one.below
        names = tuple(map(self._relative, below.sizes))
        lost = tuple(name for name in names if name not in held)
        kept = tuple(name for name in names if name in held)
        size = sum(below.sizes[root / name] for name in lost)
        loss = Loss(one.part, one.deletes, one.place, len(below.sizes), lost, size, below.is_whole, below.has_history)
        return replace(loss, held=kept, is_maybe=one.is_maybe)

    def _loose(self, one: Touched) -> Loss:
        """All that no version holds there, as far as a copy may be: the smallest first; not what is made again."""
        root = self._repository.workspace
        below = Below()
        for name in self._not_held(one):
            if GENERATED.isdisjoint(PurePath(name).parts):
                below.count(root / name)
        kept, size = _smallest(below.sizes)
        files = tuple(self._relative(path) for path in below.sizes if path in kept)
        lost = tuple(self._relative(path) for path in below.sizes if path not in kept)
        return Loss(one.part, one.deletes, one.place, len(below.sizes), files, size, True, is_any=True, too_large=lost)

    def _not_held(self, one: Touched) -> Sequence[str]:
        if one.only is None:
            return self._repository.loose(self._relative(one.place), timeout=_LOOK_LIMIT)
        names = sorted(map(self._relative, one.only))
        held = self._repository.held(names, timeout=_LOOK_LIMIT) if names else set()
        return [name for name in names if name not in held]


def _said(part: Part, losses: Sequence[Loss], root: Path) -> str:
    """The reason of a part with what it takes away; where it only may, behind the reason that it has."""
    what = told(losses, root)
    return f"{part.reason}; {what}" if part.reason and all(loss.is_maybe for loss in losses) else what


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _outside(one: Touched) -> Loss:
    below = one.below
    said = Loss(one.part, one.deletes, one.place, len(below.sizes), (), 0, below.is_whole, below.has_history)
    return replace(said, is_outside=True)


def _not_looked_up(one: Touched, why: str) -> Loss:
    said = Loss(one.part, one.deletes, one.place, len(one.below.sizes), (), 0, True, is_any=one.is_any, why_not=why)
    return replace(said, is_maybe=one.is_maybe)


def _smallest(sizes: Mapping[Path, int]) -> tuple[set[Path], int]:
    """As many of the files as one copy may hold, and their size."""
    kept: set[Path] = set()
    total = 0
    for path in sorted(sizes, key=sizes.__getitem__)[:MOST_FILES]:
        if total + sizes[path] > MOST_BYTES:
            break
        kept.add(path)
        total += sizes[path]
    return kept, total
