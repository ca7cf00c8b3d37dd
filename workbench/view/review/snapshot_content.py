"""Reads texts of changed files that the log lacks from the snapshots of the workspace."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.files.text_file import EditorError, decoded_versions
from workbench.protocol.placeholders import NOT_STORED, blob_in_placeholder
from workbench.session.workspace.repository import ContentGone, SnapshotRepository
from workbench.session.workspace.retention import RETENTION
from workbench.text import visible
from workbench.view.state import FileState

_READER = "viewer"
_REMOVED = f"the snapshot with this text was removed: {RETENTION}"


def with_snapshot_content(file: FileState, workspace: Path, locations: Locations) -> FileState:
    """Return the file with its texts from snapshots; blocks while git runs.

    If these cannot be read, its note says why.
    """
    repository = SnapshotRepository(locations, workspace, _READER)
    try:
        before, after = (_raw(repository, content) for content in (file.before, file.after))
        versions = decoded_versions(repository.workspace, before, after)
    except EditorError:
        return file
    except (WorkbenchError, OSError) as error:
        reason = _reason(error, repository)
        # A large text of an event may never have been in a snapshot.
        is_stored = file.note == NOT_STORED or reason != _REMOVED
        return replace(file, before=None, after=None, note=reason) if is_stored else file
    return replace(
        file,
        before=file.before if before is None else versions[0],
        after=file.after if after is None else versions[1],
        note="",
    )


def _reason(error: Exception, repository: SnapshotRepository) -> str:
    """Return why the text of a file could not be read from a snapshot."""
    if isinstance(error, ContentGone) or not repository.directory.is_dir():
        return _REMOVED
    return f"the snapshot with this text cannot be read: {visible(str(error), lines=False)}"


def _raw(repository: SnapshotRepository, content: str | None) -> bytes | None:
    """Return the bytes of the text that a placeholder line replaces; None if the content is not such a line."""
    blob = blob_in_placeholder(content)
    return next(iter(repository.contents([blob]).values())) if blob else None
