"""Events about the files of the workspace; part of the contract in `events`, which names them too."""

from __future__ import annotations

from typing import Literal

from workbench.session.data import EventBase, FileDelta


class FilesChanged(EventBase):
    """Files changed by the person or another program."""

    kind: Literal["files_changed"] = "files_changed"
    files: tuple[FileDelta, ...]
    by: str = "other"


class VersionTaken(EventBase):
    """The files of the workspace have this version now; `files` is what the action `action_id` changed in them.

    Files that `action_observed` tells of are not repeated; `more` counts those whose texts are not kept here. Without
    an action it is a version to start from, or one that follows from `files_changed`. `notice` is a line for the
    person; without a `version` it says why there is none. `copy_id` names the copy of what the action takes away
    and no version holds, kept before it began. `guarded` are protected files that changed without having been shown:
    `notice` then says whether they were put back.
    """

    kind: Literal["version_taken"] = "version_taken"
    version: str = ""
    action_id: str = ""
    files: tuple[FileDelta, ...] = ()
    more: int = 0
    notice: str = ""
    copy_id: str = ""
    guarded: tuple[str, ...] = ()
