import errno
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fakes.full_disk import room_for
from workbench.files import atomic
from workbench.files.root_directory import AnchoredEntry


@pytest.fixture
def no_links(monkeypatch) -> None:
    """Make hard links fail, as on a file system without them."""

    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)


def test_hard_linked_file_is_unchanged_after_a_full_disk(tmp_path: Path):
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"old" * 10)
    other.hardlink_to(path)
    with room_for(40), pytest.raises(OSError, match="large"):
        atomic.replace(path, b"new" * 100)
    assert path.read_bytes() == other.read_bytes() == b"old" * 10
    atomic.replace(path, b"new")
    assert other.read_bytes() == b"new"


def test_new_file_is_complete_or_missing_after_a_full_disk(tmp_path: Path):
    with room_for(40), pytest.raises(OSError, match="large"):
        atomic.write_new(tmp_path / "a", b"new" * 100)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_links")
def test_new_file_is_created_on_file_systems_without_links(tmp_path: Path):
    atomic.write_new(tmp_path / "a", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"new")]
    with pytest.raises(FileExistsError):
        atomic.write_new(tmp_path / "a", b"another")
    assert (tmp_path / "a").read_bytes() == b"new"


WRITER = """
import sys
from pathlib import Path
from workbench.files import atomic

path, versions = Path(sys.argv[1]), (b"a" * 300_000, b"b" * 500_000)
print("ready", flush=True)
while True:
    for version in versions:
        atomic.replace(path, version)
"""


def test_process_killed_during_a_write_leaves_the_old_or_the_new_file(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"a" * 300_000)
    for _ in range(5):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
        with writer:
            assert writer.stdout.readline() == b"ready\n"
            first = path.stat().st_ino
            while path.stat().st_ino == first:
                assert writer.poll() is None
            writer.send_signal(signal.SIGKILL)
        assert path.read_bytes() in (b"a" * 300_000, b"b" * 500_000)


def test_file_that_became_a_link_or_directory_is_not_written(tmp_path: Path):
    target = tmp_path / "target"
    target.write_bytes(b"old")
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "folder").mkdir()
    for name in ("link", "folder"):
        with pytest.raises(OSError, match="not the file any more"):
            atomic.replace(tmp_path / name, b"new")
    assert target.read_bytes() == b"old"


def test_simultaneous_write_by_another_process_is_not_lost(tmp_path: Path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    fsync = os.fsync

    def slow(file):
        path.write_bytes(b"theirs, just now")
        fsync(file)

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(OSError, match="changed by something else"):
        atomic.replace(path, b"new")
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("file", b"theirs, just now")]


def test_owner_and_attributes_are_preserved(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    if os.getuid() == 0:
        os.chown(path, 4711, 4712)
    if hasattr(os, "setxattr"):
        with suppress(OSError):  # a file system without attributes
            os.setxattr(path, "user.note", b"kept")
    before = path.stat(), _attributes(path)
    atomic.replace(path, b"new")
    after = path.stat(), _attributes(path)
    assert path.read_bytes() == b"new"
    assert (after[0].st_uid, after[0].st_gid, after[0].st_mode) == (
        before[0].st_uid,
        before[0].st_gid,
        before[0].st_mode,
    )
    assert after[1] == before[1]


def _attributes(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path)} if hasattr(os, "listxattr") else {}


@pytest.mark.parametrize("reason", [errno.EPERM, errno.EACCES, errno.EBUSY])
def test_file_that_cannot_be_replaced_is_written_in_place(tmp_path: Path, monkeypatch, reason):
    path = tmp_path / "file"
    path.write_bytes(b"the old content")
    first = path.stat().st_ino

    def refuse(*_):
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(AnchoredEntry, "exchange", refuse)
    monkeypatch.setattr(AnchoredEntry, "rename_from", refuse)
    atomic.replace(path, b"new")
    assert (path.read_bytes(), path.stat().st_ino) == (b"new", first)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_disk_failing_at_the_last_moment_leaves_the_old_file(tmp_path: Path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(AnchoredEntry, "exchange", fail)
    with pytest.raises(OSError, match="Input/output"):
        atomic.replace(path, b"new")
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("file", b"old")]


def test_read_only_file_is_not_written(tmp_path: Path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # root may write everything
    with pytest.raises(PermissionError):
        atomic.replace(path, b"new")
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("file", b"old")]
