"""Separates what an action changed from earlier changes, so that a rewind undoes only the former."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import PurePath

from workbench.session.workspace.file_signatures import TICK
from workbench.session.workspace.repository import Change, SnapshotRepository


def earlier_changes(
    repository: SnapshotRepository, changes: Sequence[Change], started: int, skipped: Collection[str]
) -> list[Change]:
    """Return the changes that were not made by the action that started at `started` (nanoseconds since the epoch).

    They are files that have not been touched since then: changed just before, or not ignored any more. Files that were
    `skipped` until now, because they were too large, are included too: no version contains their earlier state.
    """
    removed = {change.before for change in changes if not change.after}
    unignores = any(PurePath(change.path).name == ".gitignore" for change in changes)

    def is_earlier(change: Change) -> bool:
        if not change.before and change.path in skipped:
            return True
        if not _is_older(repository.workspace / change.path, started):
            return False
        # a directory that was moved brings files with old times
        above = (repository.workspace / each for each in PurePath(change.path).parents[:-1])
        return change.after not in removed and (unignores or all(_is_older(each, started) for each in above))

    return [change for change in changes if change.after and is_earlier(change)]


def _is_older(path: os.PathLike[str], started: int) -> bool:
    """Return whether the ctime of a file or directory, which programs cannot set, is before `started`."""
    try:
        return os.lstat(path).st_ctime_ns < started - TICK
    except OSError:
        return False


def version_with(repository: SnapshotRepository, version: str, changes: Sequence[Change]) -> str:
    """Return a version like `version` in which these changes were already made. Raises SnapshotError."""
    metadata, now = repository.metadata_of(version), repository.metadata
    modes = dict(metadata.modes)
    for change in changes:
        modes.pop(change.path, None)
        permissions = now.permissions(change.path, change.mode_after)
        if permissions != replace(metadata, modes=modes).permissions(change.path, change.mode_after):
            modes[change.path] = permissions
    entries = (f"{each.mode_after} {each.after}\t".encode() + os.fsencode(each.path) + b"\0" for each in changes)
    with repository.other_index() as own:
        repository.git(["read-tree", version], own=own)
        repository.git(["update-index", "-z", "--index-info"], b"".join(entries), own=own)
        repository.store_metadata(own=own, now=replace(metadata, modes=modes))
        return repository.git(["write-tree"], own=own).decode().strip()
