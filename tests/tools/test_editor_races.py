"""The editor against a process that moves directories, links and files below its path while it writes."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.tools.editor import Editor
from tests.tools.fake_merger import Merger
from workbench.files.root_directory import AnchoredEntry, using_only
from workbench.tools import LLMBasedFileEditTool

WRITES = 500
FLIPPER = """
import contextlib, ctypes, errno, itertools, os, sys, time

workspace, outside, what, pause, renews = sys.argv[1:]
os.chdir(workspace)
name = {"folder": b"place", "above": b"up", "file": b"place/file"}[what]
target = {"folder": outside, "above": os.path.dirname(outside), "file": outside + "/file"}[what]
os.symlink(target, "link")
exchange = ctypes.CDLL(None, use_errno=True).renameat2
print("ready", flush=True)
for turn in itertools.count():
    if renews and not (os.path.islink("link") or os.path.islink(name)):
        with contextlib.suppress(OSError):
            os.rename("link", f"aside{turn}")
        with contextlib.suppress(FileExistsError):
            os.symlink(target, "link")
    if exchange(-100, b"link", -100, name, 2):
        if renews and ctypes.get_errno() == errno.ENOENT:
            continue
        sys.exit(os.strerror(ctypes.get_errno()))
    time.sleep(float(pause))
"""


@contextmanager
def flipping(workspace: Path, outside: Path, what: str, pause: float = 0, *, renews: bool = False) -> Iterator[None]:
    """Exchange a link out of the workspace with a directory or file in it, over and over.

    With `renews`, a link that was deleted is made again, and the exchange waits for a deleted directory or file.
    """
    command = [sys.executable, "-c", FLIPPER, str(workspace), str(outside), what, str(pause), "yes" if renews else ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as flipper:
        assert flipper.stdout.readline() == b"ready\n"
        try:
            yield
            assert flipper.poll() is None, "the other process has ended"
        finally:
            flipper.kill()


def state_of(directory: Path) -> list[tuple[str, bytes, int]]:
    return sorted((path.name, path.read_bytes(), path.stat().st_ino) for path in directory.iterdir())


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """A workspace with `place/file` and `up/out/file`, and a directory outside with files of the same names."""
    workspace, outside = tmp_path / "workspace", tmp_path / "elsewhere" / "out"
    for directory in (workspace / "place", workspace / "up" / "out", outside):
        directory.mkdir(parents=True)
        (directory / "file").write_text("one\n")
    return workspace, outside


@pytest.mark.parametrize(("what", "path"), [("folder", "place"), ("above", "up/out"), ("file", "place")])
def test_no_write_leaves_the_workspace_while_links_are_swapped(sides, what, path):
    workspace, outside = sides
    before, editor = state_of(outside), Editor(workspace)
    done = refused = 0
    with flipping(workspace, outside, what):
        for number in range(WRITES):
            results = [
                editor.run("view", workspace / path / "file"),
                editor.run("str_replace", workspace / path / "file", old_str="one", new_str="two"),
                editor.run("insert", workspace / path / "file", insert_line=0, new_str="top"),
                editor.run("undo_edit", workspace / path / "file"),
                editor.run("undo_edit", workspace / path / "file"),
                editor.run("create", workspace / path / f"new/{number}", file_text="new"),
            ]
            done += sum(not result.is_error for result in results)
            refused += sum(result.is_error for result in results)
    assert state_of(outside) == before
    assert min(done, refused) > WRITES // 5, "both happened, or nothing was raced"


def in_place(path: Path, text: str) -> None:
    """Write as an editor that opens the file in place, and restore its modification time."""
    status = path.stat()
    path.write_text(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def by_rename(path: Path, text: str) -> None:
    beside = path.with_name("saved")
    beside.write_text(text)
    beside.replace(path)


def by_link(path: Path, text: str) -> None:
    target = path.with_name("target")
    target.write_text(text)
    path.unlink()
    path.symlink_to(target)


@pytest.mark.parametrize("moment", ["before", "behind"])
@pytest.mark.parametrize("saved", [in_place, by_rename, by_link])
def test_users_save_just_before_the_rename_is_kept(tmp_path: Path, monkeypatch, saved, moment):
    path, editor, exchange = tmp_path / "file", Editor(tmp_path), AnchoredEntry.exchange
    path.write_text("one\n")
    turns = []

    def at_this_moment(entry: AnchoredEntry, beside: str) -> bool:
        turns.append(beside)
        if len(turns) == 1 and moment == "before":
            saved(path, "own\n")
        done = exchange(entry, beside)
        if len(turns) == 1 and moment == "behind":
            path.with_name(beside).write_text("own\n")  # an editor that already had the file open
        elif len(turns) == 2:
            saved(path, "new\n")  # and once more while it is restored
        return done

    monkeypatch.setattr(AnchoredEntry, "exchange", at_this_moment)
    assert "changed by something else" in editor.refused("str_replace", path, old_str="one", new_str="two")
    assert path.read_text() == "new\n"
    assert path.is_symlink() == (saved is by_link)
    assert not list(tmp_path.glob(".ohw-*"))


@pytest.mark.parametrize("saved", [in_place, by_rename])
def test_content_is_compared_before_the_rename_if_names_cannot_be_exchanged(tmp_path: Path, monkeypatch, saved):
    path, editor = tmp_path / "file", Editor(tmp_path)
    path.write_text("one\n")

    def cannot(entry: AnchoredEntry, beside: str) -> bool:
        saved(path, "own\n")
        return False

    monkeypatch.setattr(AnchoredEntry, "exchange", cannot)
    assert "changed by something else" in editor.refused("str_replace", path, old_str="one", new_str="two")
    assert path.read_text() == "own\n"
    assert not list(tmp_path.glob(".ohw-*"))


@pytest.mark.parametrize("saved", [in_place, by_rename])
def test_users_simultaneous_saves_are_never_lost(tmp_path: Path, saved):
    path, editor, late = tmp_path / "file", Editor(tmp_path), 0
    for turn in range(0, 400, 2):
        path.write_text(f"text {turn}\n")
        editor.done("view", path)
        user = threading.Timer(turn % 40 * 5e-5, saved, (path, f"text {turn + 1}\n"))
        user.start()
        late += editor.run("str_replace", path, old_str=f"text {turn}\n", new_str=f"edit {turn}\n").is_error
        user.join()
        assert path.read_text() == f"text {turn + 1}\n"
    assert late


def test_directory_moved_away_during_a_write_gets_nothing(tmp_path: Path, monkeypatch):
    workspace, away = tmp_path / "workspace", tmp_path / "away"
    (workspace / "place").mkdir(parents=True)
    (workspace / "place/file").write_text("one\n")
    editor = Editor(workspace)

    def moves_away(name: str) -> None:
        call = getattr(AnchoredEntry, name)

        def moved(entry: AnchoredEntry, beside: str) -> object:
            if not away.exists():
                (workspace / "place").rename(away)
            return call(entry, beside)

        monkeypatch.setattr(AnchoredEntry, name, moved)

    moves_away("exchange")
    editor.refused("str_replace", workspace / "place/file", old_str="one", new_str="two")
    assert [(path.name, path.read_text()) for path in away.iterdir()] == [("file", "one\n")]
    away.rename(workspace / "place")
    moves_away("link_from")
    editor.refused("create", workspace / "place/new", file_text="new")
    assert [path.name for path in away.iterdir()] == ["file"]


def test_nothing_is_created_where_the_workspace_was(tmp_path: Path):
    workspace = tmp_path / "workspace"
    (workspace / "sub").mkdir(parents=True)
    (workspace / "sub/file").write_text("one\n")
    editor = Editor(workspace)
    editor.done("view", workspace / "sub/file")
    workspace.rename(tmp_path / "moved")
    assert "moved, deleted or replaced" in editor.refused("create", workspace / "sub/new", file_text="new")
    assert not workspace.exists()
    (workspace / "sub").mkdir(parents=True)
    (workspace / "sub/file").write_text("one\n")
    message = editor.refused("str_replace", workspace / "sub/file", old_str="one", new_str="two")
    assert "moved, deleted or replaced" in message
    assert [path.name for path in workspace.rglob("*")] == ["sub", "file"]


def test_links_to_files_and_directories_of_the_workspace_work(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_text("one\n")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "link").symlink_to("folder/file")
    editor = Editor(tmp_path)
    editor.done("str_replace", tmp_path / "link", old_str="one", new_str="two")
    editor.done("insert", tmp_path / "folder/file", insert_line=0, new_str="top")
    editor.done("create", tmp_path / "folder/sub/new", file_text="new")
    assert (tmp_path / "real/file").read_text() == "top\ntwo\n"
    assert (tmp_path / "real/sub/new").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_link_out_of_the_workspace_is_written_only_by_its_real_path(tmp_path: Path):
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    (outside / "file").write_text("one\n")
    (workspace / "out").symlink_to(outside)
    editor = Editor(workspace)
    message = editor.refused("str_replace", workspace / "out/file", old_str="one", new_str="two")
    assert f"leads to {outside / 'file'} now" in message
    editor.done("str_replace", outside / "file", old_str="one", new_str="two")
    with using_only([str(outside / "file")]):
        editor.done("str_replace", workspace / "out/file", old_str="two", new_str="three")
        assert "not the file that was shown" in editor.refused("create", workspace / "out/new", file_text="new")


def test_content_that_cannot_be_put_back_is_kept_beside_the_file_and_named(tmp_path: Path, monkeypatch):
    path, editor, exchange = tmp_path / "file", Editor(tmp_path), AnchoredEntry.exchange
    path.write_text("one\n")
    turns = []

    def fails_later(entry: AnchoredEntry, beside: str) -> bool:
        turns.append(beside)
        if len(turns) > 1:
            raise OSError(5, "Input/output error")
        by_rename(path, "own\n")
        return exchange(entry, beside)

    monkeypatch.setattr(AnchoredEntry, "exchange", fails_later)
    message = editor.refused("str_replace", path, old_str="one", new_str="two")
    (saved,) = tmp_path.glob("file.ohw-saved-*")
    assert f"its content is in {saved.name} beside it now" in message
    assert saved.read_text() == "own\n"
    assert not list(tmp_path.glob(".ohw-*"))


def created(editor: Editor, path: Path) -> bool:
    path.unlink()
    return bool(editor.run("create", path, file_text="created\n").is_error)


def inserted(editor: Editor, path: Path) -> bool:
    return bool(editor.run("insert", path, insert_line=0, new_str="first").is_error)


def undone(editor: Editor, path: Path) -> bool:
    editor.done("str_replace", path, old_str="one", new_str="two")
    return bool(editor.run("undo_edit", path).is_error)


def creation_undone(editor: Editor, path: Path) -> bool:
    path.unlink()
    editor.done("create", path, file_text="created\n")
    return bool(editor.run("undo_edit", path).is_error)


def drafted(editor: Editor, path: Path) -> bool:
    tool = LLMBasedFileEditTool(Merger("never asked"), str(path.parent), path.parent / "state")
    return bool(tool(tool.action_from_arguments({"path": str(path), "content": "three", "start": -1})).is_error)


LATE_SAVES = [
    (write, saved) for write in (inserted, undone, creation_undone, drafted) for saved in (in_place, by_rename)
]


@pytest.mark.parametrize(("write", "saved"), [*LATE_SAVES, (created, by_rename)])
def test_no_command_overwrites_what_is_saved_at_the_last_moment(tmp_path: Path, monkeypatch, write, saved):
    path, editor = tmp_path / "file", Editor(tmp_path, tmp_path / "state")
    path.write_text("one\n")
    seen = AnchoredEntry.check_not_moved
    last = 2 if write in (undone, creation_undone) else 1
    turns: list[str] = []

    def at_this_moment(entry: AnchoredEntry) -> None:
        seen(entry)
        turns.append(entry.path.name)
        if turns.count("file") == last and len(turns) == turns.index("file") + last:
            saved(path, "own\n")

    monkeypatch.setattr(AnchoredEntry, "check_not_moved", at_this_moment)
    assert write(editor, path)
    assert path.read_text() == "own\n"
