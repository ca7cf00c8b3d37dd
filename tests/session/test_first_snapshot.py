"""The first snapshot takes what the user's repository has, keeps it for itself, and always holds the files' bytes."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.test_snapshots import tree_of
from workbench.config.locations import Locations
from workbench.files.git import GitAnswer, run_git
from workbench.session.workspace import first_snapshot
from workbench.session.workspace import repository as repository_module
from workbench.session.workspace.index_file import Entry, read_index, stat_of, write_index
from workbench.session.workspace.repository import SnapshotRepository, join_index
from workbench.session.workspace.restore import restore

Change = Callable[[Path], object]


def snapshots_of(workspace: Path, session: str = "one") -> SnapshotRepository:
    made = SnapshotRepository(Locations.from_environment({"HOME": str(workspace.parent / "home")}), workspace, session)
    made.prepare()
    return made


def user_git(directory: Path, *arguments: str) -> str:
    """Run git as the user would, without any settings but the repository's."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
    return subprocess.run(command, cwd=directory, env=environment, check=True, capture_output=True, text=True).stdout


def age(directory: Path) -> None:
    """Make all files look as if they were written an hour ago: git distrusts those that are as young as its index."""
    hour_ago = time.time() - 3_600
    for path in directory.rglob("*"):
        if ".git" not in path.parts and not path.is_symlink():
            os.utime(path, (hour_ago, hour_ago))


def write_files(directory: Path) -> None:
    """Write files of all kinds that a repository can hold, more than are stored one by one."""
    for number in range(150):
        path = directory / f"d{number % 7}/e{number % 3}/f{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n" * 20)
    (directory / "a.b").write_text("before the directory\n")
    (directory / "a").mkdir()
    (directory / "a/ä\n.bin").write_bytes(bytes(range(256)))
    (directory / "a0").write_text("")
    (directory / "run").write_text("#!/bin/sh\n")
    (directory / "run").chmod(0o755)
    (directory / "link").symlink_to("a.b")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository of the user's in which everything is committed."""
    directory = tmp_path / "work"
    directory.mkdir()
    write_files(directory)
    age(directory)
    user_git(directory, "init", "-q")
    user_git(directory, "add", "-A")
    user_git(directory, "commit", "-q", "-m", "all")
    return directory


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that were read for snapshots, in the order of reading."""
    paths: list[str] = []

    def noting(arguments: Sequence[str], *, data: bytes = b"", **options: Any) -> GitAnswer:
        if arguments[0] == "update-index" and "--stdin" in arguments:
            paths.extend(os.fsdecode(data).strip("\0").split("\0"))
        return run_git(arguments, data=data, **options)

    monkeypatch.setattr(repository_module, "run_git", noting)
    return paths


def exact_version(workspace: Path) -> str:
    """Return the version of a copy of the files that no repository is around of, so that each file is read."""
    plain = workspace.parent / "plain/work"
    shutil.copytree(workspace, plain, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    return snapshots_of(plain).snapshot()


def test_unchanged_files_of_a_repository_are_not_read_and_the_version_is_the_same(work, read):
    version = snapshots_of(work).snapshot()
    assert read == []
    assert version == exact_version(work)
    assert len(read) > 150


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
def test_version_outlives_the_users_repository(work, packed):
    if packed:
        user_git(work, "gc", "-q")
    snapshots = snapshots_of(work)
    version, before = snapshots.snapshot(), tree_of(work)
    for path in work.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    restore(snapshots, version)
    assert tree_of(work) == {path: content for path, content in before.items() if not path.startswith(".git/")}


def test_users_repository_is_not_written_to(work):
    def state() -> dict[str, tuple[int, int, int]]:
        paths = (path for path in (work / ".git").rglob("*"))
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_ctime_ns, path.stat().st_nlink) for path in paths}

    before = state()
    snapshots_of(work).snapshot()
    assert state() == before


def rewrite_within_its_size(work: Path) -> None:
    (work / "d1/e1/f1.txt").write_text("2\n" * 20)
    times = (work / "a.b").stat()
    os.utime(work / "d1/e1/f1.txt", ns=(times.st_atime_ns, times.st_mtime_ns))


def hide_changes(work: Path) -> None:
    user_git(work, "update-index", "--assume-unchanged", "d1/e1/f1.txt")
    user_git(work, "update-index", "--skip-worktree", "d2/e2/f2.txt")
    rewrite_within_its_size(work)
    (work / "d2/e2/f2.txt").write_text("3\n" * 20)


def leave_a_conflict(work: Path) -> None:
    user_git(work, "checkout", "-q", "-b", "other")
    (work / "a.b").write_text("theirs\n")
    user_git(work, "commit", "-qam", "theirs")
    user_git(work, "checkout", "-q", "-")
    (work / "a.b").write_text("ours\n")
    user_git(work, "commit", "-qam", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        user_git(work, "merge", "other")


def convert(attribute: str, *settings: str) -> Change:
    """Return a change after which git converts every text file."""

    def change(work: Path) -> None:
        (work / "d3/e0/f3.txt").write_text("$Id$\nabc\n")
        for setting in settings:
            user_git(work, "config", *setting.split("=", 1))
        (work / ".gitattributes").write_text(f"*.txt {attribute}\n")
        user_git(work, "add", "-A")
        user_git(work, "commit", "-qm", "converted")
        shutil.rmtree(work / "d3")
        user_git(work, "checkout", "-q", "--", ".")
        age(work)
        user_git(work, "add", "-A")

    return change


CHANGES: dict[str, Change] = {
    "changed files": lambda work: (work / "a.b").write_text("other\n"),
    "same size and time": rewrite_within_its_size,
    "other mode": lambda work: (work / "a.b").chmod(0o755),
    "modes not recorded": lambda work: (user_git(work, "config", "core.fileMode", "false"), (work / "a0").chmod(0o755)),
    "hidden changes": hide_changes,
    "intent to add": lambda work: ((work / "new").write_text("x"), user_git(work, "add", "-N", "new")),
    "deleted": lambda work: (work / "a.b").unlink(),
    "link for a file": lambda work: ((work / "a.b").unlink(), (work / "a.b").symlink_to("run")),
    "conflict": leave_a_conflict,
    "index version 4": lambda work: user_git(work, "update-index", "--index-version", "4"),
    "split index": lambda work: user_git(work, "update-index", "--split-index"),
    "no index": lambda work: (work / ".git/index").unlink(),
    "damaged index": lambda work: (work / ".git/index").write_bytes(b"DIRC\0\0\0\2\0\0\1\0" + b"x" * 99),
    "pipe for the index": lambda work: ((work / ".git/index").unlink(), os.mkfifo(work / ".git/index")),
    "no objects": lambda work: shutil.rmtree(work / ".git/objects"),
    "filter": convert("filter=swap", "filter.swap.clean=tr a-c b-d", "filter.swap.smudge=tr b-d a-c"),
    "encoding": convert("working-tree-encoding=IBM037"),
    "line ends": convert("text eol=crlf"),
    "ident": convert("ident"),
    "repository of the objects": lambda work: user_git(work, "gc", "-q"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_version_has_the_bytes_of_the_files_whatever_the_users_repository_says(work, change):
    if change is CHANGES["encoding"]:
        for path in work.rglob("*.txt"):
            path.write_bytes(path.read_text().encode("cp037"))
    change(work)
    assert snapshots_of(work).snapshot() == exact_version(work)


@pytest.mark.parametrize("how", ["damaged", "forged"])
def test_blob_that_does_not_match_its_name_is_not_copied(work, read, how):
    name = user_git(work, "rev-parse", ":a.b").strip()
    stored = work / ".git/objects" / name[:2] / name[2:]
    stored.chmod(0o644)
    if how == "damaged":
        stored.write_bytes(stored.read_bytes()[:-4] + b"\0\0\0\0")
    else:
        (work.parent / "forged").write_text("Before the directory\n")
        forged = user_git(work, "hash-object", "-w", str(work.parent / "forged")).strip()
        stored.write_bytes((work / ".git/objects" / forged[:2] / forged[2:]).read_bytes())
    assert snapshots_of(work).snapshot() == exact_version(work)
    assert read.count("a.b") == 2


def test_directory_within_a_repository(work, read):
    inside = work / "d1"
    for number in range(120):
        (inside / f"more{number}").write_text(f"{number}")
    age(work)
    (work / ".git/index").unlink()  # git itself notices a new time only if it is of another second
    user_git(work, "add", "-A")
    version = snapshots_of(inside).snapshot()
    assert read == []
    assert version == exact_version(inside)


def test_work_tree_of_a_repository_elsewhere(work, read):
    other = work.parent / "other/work"
    user_git(work, "worktree", "add", "-q", str(other))
    age(other)
    user_git(other, "add", "-A")
    version = snapshots_of(other).snapshot()
    assert read == []
    assert version == exact_version(work)


def test_next_session_reads_only_what_has_changed_since(work, read):
    shutil.rmtree(work / ".git")
    first = snapshots_of(work).snapshot()
    read.clear()
    (work / "a.b").write_text("changed\n")
    (work / "run").chmod(0o700)
    version = snapshots_of(work, "two").snapshot()
    assert read == ["a.b", "run"], "a change of the mode shows in the times"
    assert first != version == exact_version(work)


def write_many(directory: Path) -> None:
    """Write so many files that their index is large."""
    for number in range(2_000):
        path = directory / f"many/{number % 40}/{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n")
    age(directory)


def shared_indexes(snapshots: SnapshotRepository) -> list[Path]:
    return list(snapshots.directory.glob("sharedindex.*"))


def test_snapshots_of_many_files_write_only_the_changed_entries_of_the_index(work, read):
    write_many(work)
    snapshots = snapshots_of(work)
    snapshots.snapshot()
    (shared,) = shared_indexes(snapshots)
    content, index = shared.read_bytes(), snapshots.directory / "index-one"
    for number in range(3):
        (work / f"many/{number}/{number}.txt").write_text("changed\n")
        (work / f"many/{number}/{number + 40}.txt").unlink()
        (work / f"many/{number}/new.txt").write_text("new\n")
        names = [f"many/{number}/{name}" for name in (f"{number}.txt", f"{number + 40}.txt", "new.txt")]
        version = snapshots.snapshot(names)
        assert index.stat().st_size < len(content) / 10
    assert [path.read_bytes() for path in shared_indexes(snapshots)] == [content]
    before = tree_of(work)
    shutil.rmtree(work / "many")
    restore(snapshots, version)
    assert tree_of(work) == before


@pytest.mark.parametrize("ends", [True, False], ids=["ended", "killed"])
def test_session_after_one_with_many_files_has_the_same_version(work, read, ends):
    write_many(work)
    snapshots = snapshots_of(work)
    snapshots.snapshot()
    (work / "a.b").write_text("changed\n")
    version = snapshots.snapshot(["a.b"])
    if ends:
        join_index(snapshots)
    read.clear()
    assert snapshots_of(work, "two").snapshot() == version
    if ends:
        assert read == [], "the index of an ended session tells which files are unchanged"
    read.clear()
    assert snapshots_of(work).snapshot() == version, "the same session, resumed"
    assert read == []


def test_lost_part_of_an_index_is_recreated_by_the_next_session(work):
    write_many(work)
    snapshots = snapshots_of(work)
    version = snapshots.snapshot()
    for path in shared_indexes(snapshots):
        path.unlink()
    assert snapshots_of(work).snapshot() == version


def test_next_session_reads_again_what_was_pruned(work, read):
    shutil.rmtree(work / ".git")
    snapshots = snapshots_of(work)
    version = snapshots.snapshot()
    shutil.rmtree(snapshots.directory / "objects")
    (snapshots.directory / "objects").mkdir()
    read.clear()
    assert snapshots_of(work, "two").snapshot() == version
    assert "a.b" in read


def test_index_is_older_than_files_that_changed_while_they_were_stored(work, monkeypatch):
    """Git compares the contents of such files: a change within one tick of the clock leaves the same times."""
    dates: list[int] = []

    def changing(arguments: Sequence[str], **options: Any) -> GitAnswer:
        (work / "a.b").write_text("written just now\n")
        return run_git(arguments, **options)

    def noting(path: Path, entries: Mapping[bytes, Entry], modified_ns: int) -> None:
        dates.append(modified_ns)
        write_index(path, entries, modified_ns)

    (work / "a.b").write_text("changed\n")
    monkeypatch.setattr(repository_module, "run_git", changing)
    monkeypatch.setattr(first_snapshot, "write_index", noting)
    snapshots_of(work).snapshot()
    assert 0 < dates[0] < (work / "a.b").stat().st_mtime_ns


def test_no_file_is_left_beside_the_objects_and_each_tree_is_in_a_pack(work):
    shutil.rmtree(work / ".git")
    snapshots = snapshots_of(work)
    snapshots.snapshot()
    assert not list(snapshots.directory.glob("building-*"))
    loose = [path.name for path in snapshots.directory.glob("objects/??/*")]
    assert len(loose) <= 2, "the empty file and the link"
    assert stat.S_IMODE((snapshots.directory / "index-one").stat().st_mode) & 0o200


NAMES = st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda name: name not in (".", "..") and len(name.encode()) < 60
)


@given(st.dictionaries(st.lists(NAMES, min_size=1, max_size=4).map("/".join), st.binary(min_size=20, max_size=20)))
def test_index_is_read_as_it_was_written(tmp_path_factory, blobs):
    path = tmp_path_factory.mktemp("index") / "index"
    entries = {os.fsencode(name): stat_of(path.parent.stat()) + blob for name, blob in blobs.items()}
    write_index(path, entries, 7_000_000_123)
    assert read_index(path) == (entries, (7).to_bytes(4, "big") + (123).to_bytes(4, "big"))
