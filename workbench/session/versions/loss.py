"""What one part of a command takes away that no version holds, and how the person is told of it; used by `losses`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from workbench.security.assessment import Part
from workbench.session.versions.repository import GENERATED
from workbench.text import visible

MOST_FILES, MOST_BYTES = 20_000, 100_000_000
"""The largest copy that is kept."""
NO_COPY: Final = "no copy could be made"
_MOST_PLACES = 4
"""Places that one line names."""
_NOT_HELD = "not in git"
_KEPT = f"{_NOT_HELD}; a copy is kept"
_LOST = f"{_NOT_HELD}; can NOT be brought back: too much to keep a copy of"
_HISTORY = "with git history, which can NOT be brought back"
_HELD = "`ohw restore` brings them back"
_OUTSIDE = "outside the workspace: no copy is kept"


@dataclass(frozen=True)
class Loss:
    """Files at or below `place` that one part of a command deletes or writes over, those no version holds apart.

    With `is_any` some of them, which ones is not known before it runs.
    """

    part: Part
    deletes: bool
    place: str
    count: int
    files: tuple[str, ...]
    """Those that no version holds, and of which a copy is kept where `can_be_kept`."""
    size: int
    is_whole: bool
    """Whether all were counted."""
    has_history: bool = False
    """Whether a repository is among them: git takes no files of one into another."""
    is_any: bool = False
    too_large: tuple[str, ...] = ()
    """Those of any that no copy is kept of."""
    why_not: str = ""
    """Why no copy could be made, where it failed."""
    is_maybe: bool = False
    """Whether it is only named, and the program may leave it as it is."""
    held: tuple[str, ...] = ()
    """Those that the last version holds."""
    is_outside: bool = False
    """Whether it lies outside the workspace, of which no copy is kept."""

    @property
    def can_be_kept(self) -> bool:
        """Whether a copy of them is small enough, and could be made."""
        return self.is_whole and self.size <= MOST_BYTES and not self.why_not

    @property
    def is_told(self) -> bool:
        """A file that is only changed is told of where it could not be had again."""
        return self.deletes or self.is_outside or not self.can_be_brought_back

    @property
    def can_be_brought_back(self) -> bool:
        """Whether nothing of it would be lost for good."""
        is_lost = bool(self.why_not or (self.files and not self.can_be_kept) or self.too_large or self.has_history)
        return not is_lost

    @property
    def is_final(self) -> bool:
        """Whether something is deleted for good that no program makes again by itself."""
        is_made_again = PurePath(self.place).name in GENERATED and not self.has_history
        return self.deletes and not (self.can_be_brought_back or is_made_again or self.is_outside)


def told(losses: Sequence[Loss], root: Path) -> str:
    """One line on all that a part of a command takes away: how much, where, and whether it can be had again."""
    any_of = [loss for loss in losses if loss.is_any]
    known = [loss for loss in losses if not (loss.is_any or loss.is_maybe or loss.is_outside)]
    groups = (known, [loss for loss in losses if loss.is_outside], [loss for loss in losses if loss.is_maybe])
    return "; ".join([*(_of_known(one, root) for one in groups if one), *(_of_any(loss, root) for loss in any_of)])


def _of_known(losses: Sequence[Loss], root: Path) -> str:
    count = sum(loss.count for loss in losses)
    what = f"{count:,} files" if count > 1 else "1 file" if count else "what is"
    what = what if all(loss.is_whole for loss in losses) else f"more than {count - 1:,} files"
    places = [_name(Path(loss.place), root) for loss in losses]
    more = f" and {len(places) - _MOST_PLACES} more places" if len(places) > _MOST_PLACES else ""
    said = f"{_verb(losses)} {what} in {', '.join(places[:_MOST_PLACES])}{more}"
    if len(places) == 1 and not places[0].endswith("/"):
        said = f"{_verb(losses)} {what} ({places[0]})"
    return _with(said, [_fate(losses), _HISTORY if any(loss.has_history for loss in losses) else ""])


def _fate(losses: Sequence[Loss]) -> str:
    """Whether the files can be had again; empty where there are none."""
    failed = next((loss.why_not for loss in losses if loss.why_not), "")
    if failed:
        return _failed(failed)
    if losses[0].is_outside:
        return _OUTSIDE
    count, lost = sum(loss.count for loss in losses), sum(len(loss.files) for loss in losses)
    if not lost:
        return "" if not count else _HELD if count > 1 else _HELD.replace("them", "it")
    fate = _KEPT if all(loss.can_be_kept for loss in losses) else _LOST
    return fate if lost == count else f"{lost:,} of them {fate}"


def _of_any(loss: Loss, root: Path) -> str:
    said = f"{_verb([loss])} files in {_name(Path(loss.place), root)} that are not known before it runs"
    if loss.why_not:
        return _with(said, [_failed(loss.why_not)])
    kept = f"a copy is kept of the {_files(len(loss.files))} that git does not hold" if loss.files else ""
    lost = f"NOT of {_named(loss.too_large)}: too large" if loss.too_large else ""
    return _with(said, [kept, lost, _HISTORY if loss.has_history else ""])


def _failed(why: str) -> str:
    return f"{NO_COPY}: {visible(why, lines=False)}"


def _files(count: int) -> str:
    return f"{count:,} files" if count > 1 else "1 file"


def _named(paths: Sequence[str]) -> str:
    names = ", ".join(visible(path, lines=False) for path in paths[:2])
    return f"{names} and {len(paths) - 2:,} more" if len(paths) > 2 else names


def _verb(losses: Sequence[Loss]) -> str:
    if any(loss.deletes for loss in losses):
        return "deletes"
    return "may change" if losses[0].is_maybe else "changes"


def _with(said: str, notes: Sequence[str]) -> str:
    given = [note for note in notes if note]
    return f"{said} ({'; '.join(given)})" if given else said


def _name(place: Path, root: Path) -> str:
    is_folder = place.is_dir() and not place.is_symlink()
    said = os.path.relpath(place, root) if place.is_relative_to(root) else str(place)
    return visible(said + ("/" if is_folder else ""), lines=False)
