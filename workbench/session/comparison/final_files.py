"""The files that sessions end with, from their last snapshots, and how those of two sessions differ."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.protocol.events import FileDelta
from workbench.session.replay.scratch import scratch_directory
from workbench.session.storage.store import Store, first_event
from workbench.session.workspace.file_modes import mode_deltas
from workbench.session.workspace.new_directory import share_versions
from workbench.session.workspace.repository import Change, SnapshotError, SnapshotRepository
from workbench.session.workspace.snapshots import deltas
from workbench.text import visible_path

_VERSIONS: Final = """
SELECT json_extract(json, '$.version') FROM events
WHERE kind = 'version_taken' AND json_extract(json, '$.version') <> '' ORDER BY seq"""
_FIRST: Final = f"{_VERSIONS} LIMIT 1"
_LAST: Final = f"{_VERSIONS} DESC LIMIT 1"
_ENDED: Final = "SELECT at FROM events ORDER BY seq DESC LIMIT 1"
MOST_MODES: Final = 500
"""The most files listed that differ only in their permissions."""
GONE: Final = "the last snapshot of the session {}, {}, is gone: it was pruned or deleted"


class FinalState(Struct, frozen=True):
    """Where the files that a session ends with are found: its last snapshot."""

    session: str
    workspace: Path
    version: str
    at: datetime
    """When the last event of the session happened."""


class FinalDifference(Struct, frozen=True):
    """The files in which the final states of two sessions differ, with paths as if both were in the first one's
    workspace.

    `before` is the text in the first session, `after` that in the second; `more` is the number of files not listed.
    """

    files: tuple[FileDelta, ...] = ()
    more: int = 0
    versions: tuple[str, str] = ("", "")
    """The snapshots that were compared."""
    permissions: int = 0
    """How many of the files, which are the last ones, differ only in their permissions."""


def final_state(store: Store) -> FinalState:
    """Return the final state of a session. Raises UsageError if it has no snapshot, or StoreError."""
    version = next((version for (version,) in store.query(_LAST)), "")
    if not version:
        raise UsageError(
            f"the session {store.path.stem} has no snapshots, so the files that it ends with are not known"
        )
    at = next(datetime.fromisoformat(at) for (at,) in store.query(_ENDED))
    return FinalState(store.path.stem, Path(first_event(store).workspace), version, at)


def count_changed(locations: Locations, store: Store, state: FinalState) -> int:
    """Return the number of files in which a session's last snapshot differs from its first, links and binary ones
    included.

    Raises SnapshotError if one of the snapshots is gone.
    """
    repository = repository_of(locations, state)
    first = next(version for (version,) in store.query(_FIRST))
    return len(repository.difference(repository.version_named(first), _version(repository, state)))


def final_difference(locations: Locations, one: FinalState, other: FinalState) -> FinalDifference:
    """Return how the files of two sessions differ. Raises SnapshotError if a snapshot or one of its files is gone."""
    with scratch_directory() as directory:
        (directory / "workspace").mkdir()
        own = Locations(locations.config, directory / "data", directory / "state", directory / "run")
        repository = SnapshotRepository(own, directory / "workspace", "comparison")
        repository.prepare()
        share_versions(repository, *(repository_of(locations, state) for state in (one, other)))
        versions = [_version(repository, state) for state in (one, other)]
        result = version_difference(repository, versions[0], versions[1])
        here = str(repository.workspace)
        files = tuple(replace(file, path=f"{one.workspace}{file.path.removeprefix(here)}") for file in result.files)
    return replace(result, files=files)


def version_difference(repository: SnapshotRepository, before: str, after: str) -> FinalDifference:
    """Return how two snapshots of a repository differ. Raises SnapshotError if one of them, or of their files, is
    gone.
    """
    changes = repository.difference(before, after)
    _check_contents(repository, changes)
    result = deltas(repository, changes, {})
    modes = mode_deltas(repository, changes)[:MOST_MODES]
    return FinalDifference((*result.files, *modes), result.more, (before, after), len(modes))


def repository_of(locations: Locations, state: FinalState) -> SnapshotRepository:
    """Return the repository with the snapshots of a session."""
    return SnapshotRepository(locations, state.workspace, state.session)


def _check_contents(repository: SnapshotRepository, changes: Sequence[Change]) -> None:
    """Raise SnapshotError unless the repository has the contents of all changed files."""
    contents = {blob: change.path for change in changes for blob in (change.before, change.after) if blob}
    present = repository.sizes(list(contents)) if contents else {}
    if lost := next((path for blob, path in contents.items() if blob not in present), ""):
        raise SnapshotError(f"the content of {visible_path(lost)} in one of the snapshots is gone")


def _version(repository: SnapshotRepository, state: FinalState) -> str:
    try:
        return repository.version_named(state.version)
    except SnapshotError as error:
        raise SnapshotError(GONE.format(state.session, state.version[:8])) from error
