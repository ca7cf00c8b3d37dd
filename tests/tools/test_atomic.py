import os
from pathlib import Path

import pytest

from tests.fakes.full_disk import room_for
from workbench.tools.str_replace_editor import atomic


@pytest.fixture
def no_links(monkeypatch) -> None:
    """As on a file system without hard links."""

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)


def test_a_file_with_two_names_is_as_it_was_when_the_disk_is_full(tmp_path: Path):
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"old" * 10)
    other.hardlink_to(path)
    with room_for(40), pytest.raises(OSError, match="large"):
        atomic.replace(path, b"new" * 100)
    assert path.read_bytes() == other.read_bytes() == b"old" * 10
    atomic.replace(path, b"new")
    assert other.read_bytes() == b"new"


def test_a_new_file_is_whole_or_not_there_when_the_disk_is_full(tmp_path: Path):
    with room_for(40), pytest.raises(OSError, match="large"):
        atomic.write_new(tmp_path / "a", b"new" * 100)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_links")
def test_a_new_file_is_made_where_there_are_no_links(tmp_path: Path):
    atomic.write_new(tmp_path / "a", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"new")]
    with pytest.raises(FileExistsError):
        atomic.write_new(tmp_path / "a", b"another")
    assert (tmp_path / "a").read_bytes() == b"new"
