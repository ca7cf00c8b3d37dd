"""Describes what a part of a command deletes, as one sentence, in a few words and as a list; used by `deletions`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from workbench.protocol.deletion_list import DeletedPath, DeletionList
from workbench.risk import Part
from workbench.session.workspace.affected_files import MOST_BYTES
from workbench.session.workspace.repository import GENERATED
from workbench.text import visible, visible_path

NO_COPY: Final = "no copy could be made"
_MOST_PATHS = 4
"""The most paths named in one line."""
_REFUSED = "git refuses such names"
_LOST = "not in git; can NOT be restored: too large to copy"
_HISTORY = "with git history, which can NOT be restored"
_OUTSIDE = "outside the workspace: no copy is saved"


@dataclass(frozen=True)
class Deletion:
    """Files at or below `path` that one part of a command deletes or overwrites.

    With `is_any`, only some of the files are touched, and which ones is unknown until the part runs.
    """

    part: Part
    deletes: bool
    path: str
    count: int
    files: tuple[str, ...]
    """The files that no version contains; they are copied if `can_be_copied`."""
    size: int
    is_whole: bool
    """Whether all files at the path were counted."""
    has_history: bool = False
    """Whether a git repository is among the files; its history cannot be copied."""
    is_any: bool = False
    too_large: tuple[str, ...] = ()
    """With `is_any`: the files that are not copied, because a copy would become too large."""
    refused: tuple[str, ...] = ()
    """The files that no copy can contain, because git refuses their names."""
    why_not: str = ""
    """Why a copy could not be made; empty if that did not fail."""
    is_maybe: bool = False
    """Whether the command only names the path; the program may leave it unchanged."""
    held: tuple[str, ...] = ()
    """The files that the last version contains."""
    is_outside: bool = False
    """Whether the path is outside the workspace, where no copies are kept."""
    total: int = 0
    """The size of all counted files in bytes."""

    @property
    def can_be_copied(self) -> bool:
        """Whether a copy is small enough and did not fail."""
        return self.is_whole and self.size <= MOST_BYTES and not self.why_not

    @property
    def is_reported(self) -> bool:
        """Whether the user is notified: of all deletions and files outside the workspace, else only if content is
        lost.
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

    @property
    def comes_back(self) -> bool:
        """Whether all files at the path can be restored from versions and copies."""
        return self.can_be_brought_back and not self.is_outside


def describe(deletions: Sequence[Deletion], root: Path) -> str:
    """Describe in one line what a part of a command touches: how much, where, and whether it can be restored."""
    any_of = [loss for loss in deletions if loss.is_any]
    touching = [loss for loss in deletions if not (loss.is_any or loss.is_maybe or loss.is_outside)]
    groups = (touching, [loss for loss in deletions if loss.is_outside], [loss for loss in deletions if loss.is_maybe])
    return "; ".join([*(_of_certain(one, root) for one in groups if one), *(_of_any(loss, root) for loss in any_of)])


def summarize(deletions: Sequence[Deletion]) -> str:
    """Describe in a few words what a list of these deletions shows in full."""
    certain = [loss for loss in deletions if not loss.is_any]
    later = "files only known at run time" if len(certain) < len(deletions) else ""
    what = " and ".join(filter(None, (_count_of(certain) if certain else "", later)))
    where = f" in {len(deletions)} places" if len(deletions) > 1 else ""
    fate = "can be undone" if all(loss.comes_back for loss in deletions) else "can NOT be undone completely"
    return f"{_verb(deletions)} {what}{where} ({fate})"


def listed(deletions: Sequence[Deletion], root: Path, reason: str, summary: str, most: int) -> DeletionList:
    """Return a list of at most `most` paths; those that cannot be restored come first."""
    worst_first = sorted(deletions, key=lambda loss: loss.comes_back)
    paths = tuple(_listed_path(loss, root) for loss in worst_first[:most])
    rest = worst_first[most:]
    lost = sum(not loss.comes_back for loss in rest)
    return DeletionList(reason=reason, summary=summary, paths=paths, more=len(rest), more_lost=lost)


def _listed_path(loss: Deletion, root: Path) -> DeletedPath:
    fate = _fate_of_any(loss) if loss.is_any else [_fate([loss]), _HISTORY if loss.has_history else ""]
    return DeletedPath(
        path=_name(Path(loss.path), root),
        verb=_verb([loss]),
        files=None if loss.is_any else loss.count,
        size=0 if loss.is_any else loss.total,
        is_whole=loss.is_whole,
        restorable="; ".join(filter(None, fate)),
        comes_back=loss.comes_back,
    )


def _of_certain(deletions: Sequence[Deletion], root: Path) -> str:
    what = _count_of(deletions)
    names = [_name(Path(loss.path), root) for loss in deletions]
    more = f" and {len(names) - _MOST_PATHS} more places" if len(names) > _MOST_PATHS else ""
    line = f"{_verb(deletions)} {what} in {', '.join(names[:_MOST_PATHS])}{more}"
    if len(names) == 1 and not names[0].endswith("/"):
        line = f"{_verb(deletions)} {what} ({names[0]})"
    return _with(line, [_fate(deletions), _HISTORY if any(loss.has_history for loss in deletions) else ""])


def _count_of(deletions: Sequence[Deletion]) -> str:
    count = sum(loss.count for loss in deletions)
    what = _files_of_part(count) if count else "what is"
    return what if all(loss.is_whole for loss in deletions) else f"more than {count - 1:,} files"


def _fate(deletions: Sequence[Deletion]) -> str:
    """Return whether the files can be restored, in a few words; empty if there are none."""
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
    return _with(line, _fate_of_any(loss))


def _fate_of_any(loss: Deletion) -> list[str]:
    if loss.why_not:
        return [_failed(loss.why_not)]
    undone = "can be undone: " if loss.can_be_brought_back else ""
    files = _files_of_part(len(loss.files))
    copied = f"{undone}backup of the {files} that git does not contain" if loss.files else ""
    lost = [_not_of(loss.too_large, "too large"), _not_of(loss.refused, _REFUSED)]
    return [copied, *lost, _HISTORY if loss.has_history else ""]


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
