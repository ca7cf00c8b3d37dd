"""Stored outputs of tools survive a kill in the middle of writing one."""

from contextlib import suppress
from pathlib import Path

import pytest

from workbench.tools.blob_store import BlobStore
from workbench.tools.execute_bash.stream import OutputBuffer


def test_short_content_of_the_same_length_is_written_in_place(tmp_path: Path):
    store = BlobStore(tmp_path)
    store.put("shown/a", b"1" * 64)
    before = (tmp_path / "shown/a").stat()
    store.put("shown/a", b"2" * 64)
    after = (tmp_path / "shown/a").stat()
    assert store.get("shown/a") == b"2" * 64
    assert (after.st_ino, after.st_mode & 0o777) == (before.st_ino, 0o600)


def test_other_length_or_long_content_replaces_the_file(tmp_path: Path):
    store = BlobStore(tmp_path)
    for first, second in ((b"1" * 64, b"2" * 65), (b"1" * 65, b"2"), (b"1" * 600, b"2" * 600), (b"1", b"")):
        store.put("shown/a", first)
        before = (tmp_path / "shown/a").stat().st_ino
        store.put("shown/a", second)
        assert store.get("shown/a") == second
        assert (tmp_path / "shown/a").stat().st_ino != before
        assert [path.name for path in (tmp_path / "shown").iterdir()] == ["a"]


def test_link_in_place_of_an_entry_is_not_written_through(tmp_path: Path):
    (tmp_path / "shown").mkdir()
    (tmp_path / "theirs").write_bytes(b"1" * 64)
    (tmp_path / "shown/a").symlink_to(tmp_path / "theirs")
    BlobStore(tmp_path).put("shown/a", b"2" * 64)
    assert (tmp_path / "theirs").read_bytes() == b"1" * 64


@pytest.mark.parametrize("make", [Path.symlink_to, Path.hardlink_to])
@pytest.mark.parametrize("name", ["shown/a", "shown/a.tmp", "undo/b/1.tmp", "undo/b/1"])
@pytest.mark.parametrize("size", [64, 2_000])
def test_hard_linked_entry_leaves_its_other_name_unchanged(tmp_path: Path, make, name: str, size: int):
    theirs, directory = tmp_path / "theirs", tmp_path / "state"
    theirs.write_bytes(b"1" * size)
    (directory / name).parent.mkdir(parents=True)
    make(directory / name, theirs)
    store = BlobStore(directory)
    for blob in ("shown/a", "undo/b/1"):
        store.put(blob, b"2" * size)
        assert store.get(blob) == b"2" * size
    assert theirs.read_bytes() == b"1" * size


@pytest.mark.parametrize("place", ["state", "state/shown"])
def test_directory_that_became_a_link_gets_nothing(tmp_path: Path, place: str):
    elsewhere, store = tmp_path / "elsewhere", BlobStore(tmp_path / "state")
    elsewhere.mkdir()
    (elsewhere / "a").write_bytes(b"theirs")
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"moved, deleted or replaced|Not a directory|symbolic links"):
        store.put("shown/a", b"mine")
    assert store.get("shown/a") is None
    with suppress(OSError):
        store.drop("shown/a")
    assert [(path.name, path.read_bytes()) for path in elsewhere.iterdir()] == [("a", b"theirs")]


def test_created_files_are_private(tmp_path: Path):
    BlobStore(tmp_path / "state").put("undo/b/1", b"mine")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "state").rglob("*")}
    assert modes == {"undo": 0o700, "b": 0o700, "1": 0o600}


def test_long_output_is_not_stored_in_a_directory_that_became_a_link(tmp_path: Path):
    elsewhere, outputs = tmp_path / "elsewhere", tmp_path / "outputs"
    elsewhere.mkdir()
    outputs.symlink_to(elsewhere)
    keep = OutputBuffer(outputs, limit=100)
    keep.add("x" * 1_000)
    seen = keep.collect()
    assert seen.file is None
    assert "could not be saved in a file" in seen.text
    assert not list(elsewhere.iterdir())
