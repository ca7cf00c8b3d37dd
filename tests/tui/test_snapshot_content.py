"""A text that only a snapshot has is read from there; if it cannot be read, the diff viewer says why."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from workbench.config.locations import Locations
from workbench.protocol.placeholders import NOT_STORED, TOO_LARGE, placeholder
from workbench.session.workspace.repository import SnapshotRepository
from workbench.view.review.snapshot_content import with_snapshot_content
from workbench.view.state import FileState

pytestmark = pytest.mark.starts

REMOVED = "the snapshot with this text was removed: snapshots are deleted after 30 days"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SnapshotRepository:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "work").mkdir()
    made = SnapshotRepository(Locations.from_environment(), tmp_path / "work", "one")
    made.prepare()
    return made


@pytest.fixture
def file(repository: SnapshotRepository) -> FileState:
    """A file whose texts the log lacks."""
    path = repository.workspace / "big.txt"
    path.write_text("one\n")
    first = repository.snapshot()
    path.write_text("two\n")
    (change,) = repository.difference(first, repository.snapshot())
    before, after = (placeholder(NOT_STORED, 4, blob) for blob in (change.before, change.after))
    return FileState(str(path), before, after, note=NOT_STORED)


def objects(repository: SnapshotRepository) -> list[Path]:
    files = [path for path in repository.directory.glob("objects/*/*") if path.is_file()]
    assert files
    return files


def test_texts_are_read_from_the_snapshots(repository: SnapshotRepository, file: FileState):
    read = with_snapshot_content(file, repository.workspace, Locations.from_environment())
    assert (read.before, read.after, read.note) == ("one\n", "two\n", "")


def test_removed_snapshot_is_named_with_what_removes_it(repository: SnapshotRepository, file: FileState):
    for path in objects(repository):
        path.unlink()
    read = with_snapshot_content(file, repository.workspace, Locations.from_environment())
    assert (read.before, read.after) == (None, None)
    assert read.note.startswith(REMOVED)
    shutil.rmtree(repository.directory)
    assert with_snapshot_content(file, repository.workspace, Locations.from_environment()).note.startswith(REMOVED)


def test_large_text_that_no_snapshot_ever_had_stays_called_large(repository: SnapshotRepository, file: FileState):
    shutil.rmtree(repository.directory)
    large = replace(file, note=TOO_LARGE)
    assert with_snapshot_content(large, repository.workspace, Locations.from_environment()) == large


@pytest.mark.parametrize("content", [b"", b"no object of git", b"x\x9cK\xca\xc9OR0c"])
def test_damaged_object_is_called_damaged(repository: SnapshotRepository, file: FileState, content: bytes):
    for path in objects(repository):
        path.chmod(0o600)
        path.write_bytes(content)
    read = with_snapshot_content(file, repository.workspace, Locations.from_environment())
    assert (read.before, read.after) == (None, None)
    assert read.note.startswith("the snapshot with this text cannot be read: a file of this version is damaged")
