"""The list of the paths that an action deletes, as `ActionAssessed` contains it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from workbench.protocol.codec import Data

MOST_LISTED: Final = 50
"""The maximum number of paths in one list."""


class DeletedPath(Data):
    """A file or directory that an action deletes or overwrites.

    `path` is safe to show, and relative to the workspace if it is inside. `files` is the number of affected files, None
    if it is known only once the action runs; `size` is their size in bytes.
    """

    path: str
    verb: str = "deletes"
    files: int | None = 0
    size: int = 0
    is_whole: bool = True
    """Whether `files` and `size` include all affected files."""
    restorable: str = ""
    """Whether and how the files can be restored, in a few words."""
    comes_back: bool = True
    """Whether all of the affected files can be restored."""


class DeletionList(Data):
    """The paths that one part of an action deletes, those that cannot be restored first.

    `more` further paths are not listed, and `more_lost` of these cannot be restored. `reason` is the part's risk
    reason, one sentence about all its paths; `summary` is the shorter text that replaces it where the list is shown.
    """

    reason: str
    summary: str
    paths: tuple[DeletedPath, ...]
    more: int = 0
    more_lost: int = 0


def brief(reason: str, lists: Sequence[DeletionList]) -> str:
    """Return the summary that replaces `reason` if one of the lists belongs to it, otherwise `reason` unchanged."""
    return next((each.summary for each in lists if each.reason == reason), reason)
