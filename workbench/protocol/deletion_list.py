"""The list of paths that an action deletes; part of the assessment in `events`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from workbench.protocol.codec import Data

MOST_LISTED: Final = 50
"""The most paths that one list contains."""


class DeletedPath(Data):
    """A file or directory that an action deletes or overwrites: the number of files, their size in bytes, and whether
    they can be restored.

    `path` is safe to show and relative to the workspace if it is inside. `files` is None if the affected files are
    known only once it runs.
    """

    path: str
    verb: str = "deletes"
    files: int | None = 0
    size: int = 0
    is_whole: bool = True
    """Whether all files were counted."""
    restorable: str = ""
    """Whether and how the files can be restored, in a few words."""
    comes_back: bool = True
    """Whether all of them can be restored."""


class DeletionList(Data):
    """The paths that one part of an action deletes, those that cannot be restored first.

    `more` further paths are not listed; `more_lost` of these cannot be restored. `reason` is the part's reason, which
    describes all of them in one sentence; where the list is shown, `summary` replaces it.
    """

    reason: str
    summary: str
    paths: tuple[DeletedPath, ...]
    more: int = 0
    more_lost: int = 0


def brief(reason: str, lists: Sequence[DeletionList]) -> str:
    """Return the summary of a reason if one of the lists shows it in full; otherwise the reason unchanged."""
    return next((each.summary for each in lists if each.reason == reason), reason)
