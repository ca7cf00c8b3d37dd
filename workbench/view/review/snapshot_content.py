"""Reads texts of changed files that the log lacks from the file versions of the workspace."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.files.text_file import EditorError, decoded_versions
from workbench.protocol.placeholders import blob_in_placeholder
from workbench.session.workspace.repository import SnapshotRepository
from workbench.view.state import FileState

_READER = "viewer"


def with_snapshot_content(file: FileState, workspace: Path) -> FileState:
    """Return the file with its texts from the versions, or unchanged if these cannot be read; blocks while git runs."""
    repository = SnapshotRepository(Locations.from_environment(), workspace, _READER)
    try:
        before, after = (_raw(repository, content) for content in (file.before, file.after))
        versions = decoded_versions(repository.workspace, before, after)
    except (WorkbenchError, EditorError, OSError):
        return file
    return replace(
        file,
        before=file.before if before is None else versions[0],
        after=file.after if after is None else versions[1],
        note="",
    )


def _raw(repository: SnapshotRepository, content: str | None) -> bytes | None:
    """Return the bytes of the text that a placeholder line replaces; None if the content is not such a line."""
    blob = blob_in_placeholder(content)
    return next(iter(repository.contents([blob]).values())) if blob else None
