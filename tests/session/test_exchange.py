from contextlib import suppress

import pytest

from workbench.files.root_directory import Root
from workbench.protocol.events import (
    ActionAssessed,
    ActionObserved,
    FileDelta,
    FilesChanged,
    SessionStarted,
    UserMessage,
    VersionTaken,
)
from workbench.session.storage.jsonl import import_lines
from workbench.session.storage.store import Store, StoreError
from workbench.session.workspace.revert import RevertError, revert


@pytest.fixture
def lines(tmp_path):
    with Store.create(tmp_path / "a.ohw") as store:
        store.append(SessionStarted(id="a", workspace="/x", model="m", mode="ask"), UserMessage(text="é" * 20_000))
        return [line for _, line in store.lines()]


def test_exported_session_is_imported_unchanged(lines, tmp_path):
    with (
        import_lines([*lines, "\n"], tmp_path / "b.ohw", model="m", mode="ask") as again,
        Store.open(tmp_path / "a.ohw") as first,
    ):
        assert list(again.events())[:2] == list(first.events())


@pytest.mark.parametrize("bad", ["{", '{"kind": "unknown"}', "[]", "\x00"])
def test_invalid_line_is_named_and_leaves_no_file(lines, tmp_path, bad):
    with pytest.raises(StoreError, match="event 3 of the import"):
        import_lines([*lines, bad], tmp_path / "b.ohw", model="m", mode="ask")
    assert not (tmp_path / "b.ohw").exists()


def test_failing_source_leaves_no_file(lines, tmp_path):
    def broken():
        yield lines[0]
        raise OSError("the disk went away")

    with pytest.raises(OSError, match="went away"):
        import_lines(broken(), tmp_path / "two.ohw", model="m", mode="ask")
    assert not (tmp_path / "two.ohw").exists()


def test_missing_line_is_reported(lines, tmp_path):
    with pytest.raises(StoreError, match="event 1 of the import is missing"):
        import_lines(lines[1:], tmp_path / "b.ohw", model="m", mode="ask")


def test_files_outside_the_workspace_of_an_import_cannot_be_reverted(tmp_path):
    home, workspace = tmp_path / "home", tmp_path / "work"
    for directory in (home, workspace):
        directory.mkdir()
    (workspace / "link").symlink_to(home)
    inside = FileDelta(path=str(workspace / "a.py"), before="old", after=None)
    forged = [
        FileDelta(path=str(path), before="evil", after=None)
        for path in (home / "x", workspace / "../home/y", workspace / "link/z", workspace / ".git/hooks/pre-commit")
    ]
    events = (
        FilesChanged(files=(inside, *forged)),
        VersionTaken(version="v", files=(inside, *forged)),
        ActionObserved(action_id="1", observation={}, files_changed=(inside, *forged)),
        ActionAssessed(action_id="1", fingerprint="f", risk="LOW", preview=(inside, *forged)),
    )
    with Store.create(tmp_path / "a.ohw") as store:
        store.append(SessionStarted(id="a", workspace=str(workspace), model="m", mode="ask"), *events)
        lines = [line for _, line in store.lines()]
    with import_lines(lines, tmp_path / "b.ohw", model="m", mode="ask") as again:
        _, changed, version, observed, assessed = list(again.events())[:5]
    for files in (changed.files, version.files, observed.files_changed, assessed.preview):
        assert files[0] == inside
        assert {(file.before, file.after) for file in files[1:]} == {(None, None)}
        assert all(file.cut for file in files[1:])
        for file in files[1:]:
            expected = FileDelta(path=file.path, before=file.after, after=file.before, cut=file.cut)
            with suppress(RevertError):
                revert([expected], Root.at(str(workspace)))
    assert not [path for path in (home / "x", home / "y", home / "z") if path.exists()]
    assert not (workspace / ".git").exists()
