"""A file that the user saves between the check and the write of a revert or a restore is kept, whatever does the
write.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.files import atomic
from workbench.files.root_directory import SYSTEM
from workbench.protocol.events import FileDelta
from workbench.protocol.placeholders import placeholder
from workbench.session.workspace import restore as restoring
from workbench.session.workspace.repository import SnapshotRepository
from workbench.session.workspace.restore import restore_paths
from workbench.session.workspace.revert import RevertError, revert

MINE = b"what the user saved\n"


@pytest.fixture
def repository(tmp_path: Path) -> SnapshotRepository:
    """A workspace with a version that holds a file, a program and a link."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "file").write_bytes(b"then\n")
    (work / "large").write_bytes(b"\0" * 3_000_000)
    (work / "link").symlink_to("file")
    repository = SnapshotRepository(Locations.from_environment(), work, "one")
    repository.prepare()
    return repository


def in_place(path: Path) -> None:
    path.write_bytes(MINE)


def by_rename(path: Path) -> None:
    path.with_name("new").write_bytes(MINE)
    path.with_name("new").rename(path)


def by_link(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("elsewhere")


def saving_late(monkeypatch: pytest.MonkeyPatch, path: Path, save: Callable[[Path], None]) -> None:
    """Have the user save the file once, after it was compared and just before it is written."""
    saves = [save]
    guarded = restoring._guarded

    def late(repository: SnapshotRepository, name: str, work: Callable[[], None]) -> None:
        if saves:
            saves.pop()(path)
        guarded(repository, name, work)

    monkeypatch.setattr(restoring, "_guarded", late)


def state_of(path: Path) -> bytes:
    return b"-> " + os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()


NOW = {
    "gone": Path.unlink,
    "changed": lambda path: path.write_bytes(b"now\n"),
    "other mode": lambda path: path.chmod(0o600),
    "a link": by_link,
}


SAVES = [(now, save) for now in NOW for save in (in_place, by_rename, by_link)]
SAVES.remove(("a link", in_place))  # this writes to another file
SAVES.remove(("a link", by_link))  # and this changes nothing


@pytest.mark.parametrize(("now", "save"), SAVES)
def test_save_during_a_restore_is_kept(repository, monkeypatch, now, save):
    version, path = repository.snapshot(), repository.workspace / "file"
    NOW[now](path)
    saving_late(monkeypatch, path, save)
    with pytest.raises(WorkbenchError, match="could not be put back"):
        restore_paths(repository, version, ["file"], force=True)
    assert state_of(path) == (b"-> elsewhere" if save is by_link else MINE)
    assert not [each for each in repository.workspace.iterdir() if each.name.startswith(".ohw")]


@pytest.mark.parametrize("save", [in_place, by_rename])
def test_save_during_a_restore_of_a_link_is_kept(repository, monkeypatch, save):
    version, path = repository.snapshot(), repository.workspace / "link"
    path.unlink()
    saving_late(monkeypatch, path, save)
    with pytest.raises(WorkbenchError, match="could not be put back"):
        restore_paths(repository, version, ["link"])
    assert state_of(path) == MINE


@pytest.mark.parametrize("name", ["file", "large", "link"])
@pytest.mark.parametrize("save", [in_place, by_rename])
def test_save_during_the_revert_of_a_deletion_is_kept(repository, monkeypatch, name, save):
    version, path = repository.snapshot(), repository.workspace / name
    (change,) = [each for each in repository.files_of(version) if each.path == name]
    cut = "" if name == "file" else "binary"
    text = placeholder("binary", 1, change.after) if cut else "then\n"
    path.unlink()
    saving_late(monkeypatch, path, save)
    delta = FileDelta(path=str(path), before=None, after=text, version=version, cut=cut)
    with pytest.raises(RevertError, match="could not be written"):
        revert([delta], repository.root, repository)
    assert state_of(path) == MINE


@pytest.mark.parametrize("content", [b"short\n", b"\0binary"], ids=["text", "binary"])
def test_save_during_the_deletion_of_a_new_file_is_kept(repository, monkeypatch, content):
    path = repository.workspace / "new"
    path.write_bytes(content)
    removes = atomic.remove

    def late(path: Path, root, *, before=None) -> None:
        path.write_bytes(MINE)
        removes(path, root, before=before)

    monkeypatch.setattr(atomic, "remove", late)
    cut = "binary" if b"\0" in content else ""
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    text = placeholder("binary", len(content), blob) if cut else content.decode()
    delta = FileDelta(path=str(path), before=text, after=None, cut=cut)
    with pytest.raises(RevertError, match="changed by something else"):
        revert([delta], repository.root, repository)
    assert path.read_bytes() == MINE


def test_save_under_the_name_of_a_changed_file_keeps_both(tmp_path: Path, monkeypatch):
    path, root = tmp_path / "file", SYSTEM
    path.write_bytes(b"changed by the user\n")
    put_back = atomic._put_back

    def late(entry, aside: str) -> None:
        path.write_bytes(MINE)
        put_back(entry, aside)

    monkeypatch.setattr(atomic, "_put_back", late)
    with pytest.raises(OSError, match="beside it now"):
        atomic.remove(path, root, before=b"as it was read\n")
    contents = {each.read_bytes() for each in tmp_path.iterdir()}
    assert contents == {MINE, b"changed by the user\n"}
    assert not list(tmp_path.glob(".ohw*"))
