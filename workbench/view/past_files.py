"""The files of a workspace as a snapshot has them, for the time view. Both functions block while git runs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.files.text_file import EditorError, decoded_versions
from workbench.session.workspace.repository import SnapshotError, SnapshotRepository
from workbench.session.workspace.retention import RETENTION
from workbench.text import visible_path

_READER: Final = "viewer"
_LARGEST: Final = 5_000_000
"""The size in bytes of the largest file that is shown."""


def files_in(locations: Locations, workspace: Path, version: str) -> dict[str, str]:
    """Return the blob of each file of a snapshot by its path. Raises WorkbenchError."""
    repository = SnapshotRepository(locations, workspace, _READER)
    try:
        name = repository.version_named(version)
    except SnapshotError as error:
        raise WorkbenchError(f"the snapshot before this event was removed: {RETENTION}") from error
    return {file.path: file.after for file in repository.files_of(name)}


def text_in(locations: Locations, workspace: Path, path: str, blob: str) -> str:
    """Return the text of a file of a snapshot. Raises WorkbenchError if it is gone, too large, or no text."""
    repository = SnapshotRepository(locations, workspace, _READER)
    if repository.sizes([blob]).get(blob, 0) > _LARGEST:
        raise WorkbenchError(f"{visible_path(path)} is larger than {_LARGEST // 1_000_000} MB")
    try:
        return decoded_versions(repository.workspace, None, repository.contents([blob])[blob])[1] or ""
    except EditorError:
        raise WorkbenchError(f"{visible_path(path)} is not text") from None
