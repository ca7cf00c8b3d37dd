"""Snapshots of a workspace: every byte is restored; nothing of the workspace is executed or changed."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench.config.locations import Locations
from workbench.files.git import GitAnswer
from workbench.session.workspace import retention
from workbench.session.workspace.repository import LARGEST, SnapshotError, SnapshotRepository
from workbench.session.workspace.restore import restore
from workbench.session.workspace.safety_copies import tree_of_files
from workbench.session.workspace.snapshots import _unlisted, deltas


def repository(base: Path) -> SnapshotRepository:
    (base / "work").mkdir(exist_ok=True)
    made = SnapshotRepository(Locations.from_environment({"HOME": str(base / "home")}), base / "work", "one")
    made.prepare()
    return made


def tree_of(directory: Path) -> dict[str, object]:
    """Every file of a directory with its bytes and whether it can be run; links with their target."""
    entries: dict[str, object] = {}
    for path in directory.rglob("*"):
        name = str(path.relative_to(directory))
        if path.is_symlink():
            entries[name] = str(path.readlink())
        elif path.is_file():
            entries[name] = (path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return entries


@pytest.fixture
def snapshots(tmp_path: Path) -> SnapshotRepository:
    return repository(tmp_path)


def test_version_is_restored_byte_for_byte(snapshots):
    work = snapshots.workspace
    (work / "sub dir").mkdir()
    (work / "a.txt").write_bytes(b"one\r\ntwo\r\n$Id$")
    (work / "sub dir/ä*[b]\n.bin").write_bytes(bytes(range(256)))
    (work / "link").symlink_to("a.txt")
    (work / "run").write_text("#!/bin/sh\n")
    (work / "run").chmod(0o755)
    (work / ".gitattributes").write_text("* text eol=crlf ident working-tree-encoding=UTF-16\n")
    before, version = tree_of(work), snapshots.snapshot()
    shutil.rmtree(work / "sub dir")
    (work / "a.txt").write_text("three")
    (work / "link").unlink()
    (work / "link").mkdir()
    (work / "link/in").write_text("a folder now")
    (work / "run").chmod(0o644)
    (work / "new").write_text("new")
    later, second = tree_of(work), snapshots.snapshot()
    restore(snapshots, version)
    assert tree_of(work) == before
    restore(snapshots, second)
    assert tree_of(work) == later


_PATHS = st.sampled_from(["a", "b", "d/a", "d/e/b", "ü ", "d/x\n"])
_EDITS = st.lists(st.tuples(_PATHS, st.one_of(st.none(), st.binary(max_size=40)), st.booleans()), max_size=6)


def edit(work: Path, edits: list[tuple[str, bytes | None, bool]]) -> None:
    for path, raw, runs in edits:
        whole = work / path
        if raw is None:
            whole.unlink(missing_ok=True)
            continue
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_bytes(raw)
        whole.chmod(0o755 if runs else 0o644)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(_EDITS, min_size=2, max_size=4))
def test_every_version_is_restored_exactly_after_any_edits(tmp_path_factory, steps):
    snapshots = repository(tmp_path_factory.mktemp("any"))
    seen = []
    for edits in steps:
        edit(snapshots.workspace, edits)
        seen.append((snapshots.snapshot(), tree_of(snapshots.workspace)))
    for version, files in (*reversed(seen), *seen):
        restore(snapshots, version)
        assert tree_of(snapshots.workspace) == files


def test_users_own_repository_is_left_unchanged(snapshots):
    work = snapshots.workspace
    subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    (work / ".gitignore").write_text("build/\n")
    (work / ".git/info/exclude").write_text("secret\n")
    (work / "build").mkdir()
    for name in ("build/x", "secret", "a.txt"):
        (work / name).write_text("x")
    own = tree_of(work / ".git")
    version = snapshots.snapshot()
    assert tree_of(work / ".git") == own
    (work / "build/x").write_text("y")
    assert snapshots.snapshot() == version
    (work / "a.txt").write_text("y")
    assert [change.path for change in snapshots.difference(version, snapshots.snapshot())] == ["a.txt"]


def test_snapshot_of_named_paths_examines_only_those(snapshots):
    work = snapshots.workspace
    for name in ("a", "b", "d/c", "[a]"):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text("1")
    first = snapshots.snapshot()
    (work / "a").write_text("22")
    (work / "b").write_text("22")
    shutil.rmtree(work / "d")
    assert [one.path for one in snapshots.difference(first, snapshots.snapshot(["a", "gone", "[a]"]))] == ["a"]
    assert [one.path for one in snapshots.difference(first, snapshots.snapshot(["d"]))] == ["a", "d/c"]


def test_snapshot_of_a_new_directory_has_the_empty_ones_below_it(snapshots):
    snapshots.snapshot()
    (snapshots.workspace / "d/e/f").mkdir(parents=True)
    snapshots.snapshot(["d"])
    assert set(snapshots.metadata.directories) == {"d/e/f"}
    (snapshots.workspace / "d/e/f").rmdir()
    snapshots.snapshot(["d"])
    assert set(snapshots.metadata.directories) == {"d/e"}


def test_snapshot_of_the_whole_directory_has_changes_of_permissions_alone(snapshots):
    (snapshots.workspace / "a").write_text("a")
    first = snapshots.snapshot()
    (snapshots.workspace / "a").chmod(0o600)
    second = snapshots.snapshot()
    assert second != first
    assert snapshots.changed() == []
    restore(snapshots, first)
    assert stat.S_IMODE((snapshots.workspace / "a").stat().st_mode) == 0o644


def test_files_beyond_the_limit_are_counted_and_the_notice_names_the_restore_command(snapshots, monkeypatch):
    monkeypatch.setattr("workbench.session.workspace.snapshots.MOST_FILES", 3)
    first = snapshots.snapshot()
    for number in range(5):
        (snapshots.workspace / f"{number}").write_text(f"{number}")
    listed = deltas(snapshots, snapshots.difference(first, snapshots.snapshot()), {})
    assert (len(listed.files), listed.more) == (3, 2)
    assert _unlisted(listed.more, first) == (
        f"2 more files were changed than are listed: `ohw restore {first[:8]} PATH` restores them"
    )


def test_too_large_and_unreadable_files_are_omitted_and_reported(snapshots):
    work = snapshots.workspace
    with (work / "large.bin").open("wb") as file:
        file.truncate(LARGEST + 1)
    (work / "other").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=work / "other", check=True)
    (work / "other/x").write_text("x")
    os.mkfifo(work / "pipe")
    (work / "a").write_text("a")
    version = snapshots.snapshot()
    assert {"large.bin", "other/"} <= snapshots.skipped
    with (work / "a").open("wb") as file:
        file.truncate(LARGEST + 1)
    changes = snapshots.difference(version, snapshots.snapshot())
    (delta,) = deltas(snapshots, changes, {}).files
    assert (delta.cut, delta.after is not None) == ("too large", True)


def test_deltas_contain_texts_or_a_line_about_missing_ones(snapshots):
    work = snapshots.workspace
    (work / "a.txt").write_text("one\n")
    (work / "b.bin").write_bytes(b"\0\1")
    first = snapshots.snapshot()
    (work / "a.txt").write_text("two\n")
    (work / "b.bin").write_bytes(b"\0\2")
    (work / "c.txt").write_text("new\n")
    (work / "l").symlink_to("a.txt")
    changes = snapshots.difference(first, snapshots.snapshot())
    by_name = {Path(file.path).name: file for file in deltas(snapshots, changes, {str(work / "c.txt"): "new\n"}).files}
    assert (by_name["a.txt"].before, by_name["a.txt"].after, by_name["a.txt"].cut) == ("one\n", "two\n", "")
    assert by_name["b.bin"].cut == "binary"
    assert by_name["b.bin"].before != by_name["b.bin"].after
    assert (by_name["l"].cut, by_name["l"].before) == ("link", None)
    assert "c.txt" not in by_name


def test_restoring_never_writes_through_a_link_out_of_the_workspace(snapshots, tmp_path):
    work, elsewhere = snapshots.workspace, tmp_path / "elsewhere"
    elsewhere.mkdir()
    (work / "d").mkdir()
    (work / "d/a").write_text("1")
    version = snapshots.snapshot()
    shutil.rmtree(work / "d")
    (work / "d").symlink_to(elsewhere)
    restore(snapshots, version)
    assert list(elsewhere.iterdir()) == []
    assert (work / "d/a").read_text() == "1"


def test_directory_of_the_versions_is_not_part_of_them(tmp_path):
    locations = Locations.from_environment({"HOME": str(tmp_path)})
    snapshots = SnapshotRepository(locations, tmp_path, "one")
    snapshots.prepare()
    (tmp_path / "a").write_text("1")
    first = snapshots.snapshot()
    assert snapshots.snapshot() == first


def test_missing_git_is_reported(snapshots, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SnapshotError, match="git is not installed"):
        snapshots.snapshot()


def test_snapshot_that_timed_out_can_be_taken_later(snapshots):
    (snapshots.workspace / "a").write_text("1")
    with pytest.raises(SnapshotError, match="longer than"):
        snapshots.snapshot(timeout=0.0001)
    assert snapshots.snapshot()


@pytest.mark.parametrize(("tick", "is_trusted"), [(0, True), (3600 * 10**9, False)], ids=["long ago", "just now"])
def test_times_of_a_file_are_trusted_once_a_change_would_change_them(snapshots, monkeypatch, tick, is_trusted):
    monkeypatch.setattr("workbench.session.workspace.file_signatures.TICK", tick)
    (snapshots.workspace / "a.txt").write_text("1")
    snapshots.snapshot()
    assert snapshots.is_as_recorded("a.txt") is is_trusted
    assert snapshots.held(["a.txt"]) == {"a.txt"}
    (snapshots.workspace / "a.txt").write_text("2")
    assert snapshots.held(["a.txt"]) == set()


def test_recorded_file_is_checked_without_running_git(snapshots, monkeypatch):
    monkeypatch.setattr("workbench.session.workspace.file_signatures.TICK", 0)
    path = snapshots.workspace / "a.txt"
    path.write_text("1")
    first = snapshots.snapshot()
    path.write_text("22")
    asked = []
    ask = snapshots.git
    monkeypatch.setattr(
        snapshots, "git", lambda words, *rest, **more: asked.append(words[0]) or ask(words, *rest, **more)
    )
    assert snapshots.snapshot(["a.txt"]) != first
    assert asked == ["update-index", "write-tree"]
    snapshots.snapshot(["a.txt"])
    assert len(asked) == 2, "nothing has changed since"
    path.unlink()
    assert snapshots.files_of(snapshots.snapshot(["a.txt"])) == []


def test_index_with_pruned_objects_is_recreated(snapshots, tmp_path):
    (snapshots.workspace / "a.txt").write_text("1")
    before = snapshots.snapshot()
    shutil.rmtree(snapshots.directory / "objects")
    again = repository(tmp_path)
    assert again.snapshot() == before
    assert list(again.contents([change.after for change in again.files_of(before)]).values()) == [b"1"]


def many_files(work: Path) -> None:
    for number in range(150):
        (work / f"f{number}.txt").write_text(f"{number}\n")


def test_many_new_files_are_stored_together(snapshots):
    many_files(snapshots.workspace)
    version = snapshots.snapshot()
    stored = [path for path in (snapshots.directory / "objects").rglob("*") if path.is_file()]
    assert len(stored) < 10
    shutil.rmtree(snapshots.workspace / "f7.txt", ignore_errors=True)
    before = tree_of(snapshots.workspace)
    for path in snapshots.workspace.iterdir():
        path.unlink()
    restore(snapshots, version)
    assert tree_of(snapshots.workspace) == before


def age(directory: Path, days: int) -> None:
    for path in [*directory.rglob("*")]:
        if path.is_file():
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - days * 86_400))


@pytest.mark.parametrize("has_cruft_packs", [True, False], ids=["git of today", "git before 2.37"])
def test_versions_stay_thirty_days(snapshots, monkeypatch, has_cruft_packs):
    if not has_cruft_packs:
        monkeypatch.setattr(retention, "_REPACK", ("repack", "--no-such-option"))
    work = snapshots.workspace
    many_files(work)
    old = snapshots.snapshot()
    snapshots.prune()
    (work / "f1.txt").write_text("of a younger version\n")
    age(snapshots.directory, 40)
    younger, files = snapshots.snapshot(), tree_of(work)
    (work / "f1.txt").write_text("of today\n")
    age(snapshots.directory, 20)
    snapshots.snapshot()
    snapshots.prune()
    restore(snapshots, younger)
    assert tree_of(work) == files
    if has_cruft_packs:
        with pytest.raises(SnapshotError, match="no version"):
            snapshots.version_named(old)


def test_versions_are_pruned_once_a_day(snapshots, monkeypatch):
    many_files(snapshots.workspace)
    snapshots.snapshot()
    asked = []
    monkeypatch.setattr(retention, "run_git", lambda words, **more: asked.append(words[0]) or GitAnswer(0))
    snapshots.prune()
    assert not asked, "a new repository has nothing to drop"
    age(snapshots.directory, 2)
    snapshots.prune()
    snapshots.prune()
    assert asked == ["repack", "prune"]


def test_file_deleted_meanwhile_is_skipped_in_a_copy(snapshots):
    (snapshots.workspace / "a.o").write_text("1")
    version = tree_of_files(snapshots, ["a.o", "gone.o"])
    assert [change.path for change in snapshots.files_of(version)] == ["a.o"]


def test_files_ignored_by_a_surrounding_repository_are_ignored(tmp_path):
    (tmp_path / ".git/info").mkdir(parents=True)
    (tmp_path / ".git/info/exclude").write_text("*.tmp\n")
    (tmp_path / ".gitignore").write_text(
        "# made\nbuild/\n/wo*/out\n/other/kept\n**/deep/gone\nwork/**/b.log\n*.bin\n!work/c.bin\n/dist\n"
    )
    made = repository(tmp_path)
    names = ["build/x", "out", "a/out", "kept", "deep/gone", "a/b.log", "a/c.log", "b.bin", "c.bin", "a.tmp", "dist"]
    for name in names:
        path = made.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    held = {change.path for change in made.files_of(made.snapshot())}
    assert held == {"a/out", "kept", "a/c.log", "c.bin", "dist"}
    told = subprocess.run(
        ["git", "-C", str(made.workspace), "init", "-q", str(tmp_path)], check=True, capture_output=True
    )
    ours = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"], cwd=made.workspace, check=True, capture_output=True
    )
    assert (told.returncode, held) == (0, set(ours.stdout.decode().split())), "as git itself sees it"


def test_surrounding_repository_that_ignores_the_whole_directory_is_disregarded(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*\n")
    made = repository(tmp_path)
    (made.workspace / "a.txt").write_text("x")
    assert [change.path for change in made.files_of(made.snapshot())] == ["a.txt"]


@pytest.mark.parametrize("how", ["settings", "elsewhere", "link"])
def test_settings_written_into_our_version_repository_run_nothing(snapshots, how):
    work, canary, store = snapshots.workspace, snapshots.workspace.parent / "canary", snapshots.directory
    canary.write_text(f"#!/bin/sh\ntouch {canary}.sang\ncat\n")
    canary.chmod(0o755)
    (work / ".gitattributes").write_text("* filter=x\n")
    snapshots.snapshot()
    evil = store.parent / "evil"
    evil.mkdir()
    shutil.copytree(store / "objects", evil / "objects")
    settings = f'{(store / "config").read_text()}[filter "x"]\n\tclean = {canary}\n'
    (store / "info/attributes").unlink()
    (evil / "config").write_text(settings)
    if how == "settings":
        (store / "config").write_text(settings)
    elif how == "link":
        (store / "config").unlink()
        (store / "config").symlink_to(evil / "config")
    else:
        (store / "commondir").write_text(str(evil))
    (work / "a.txt").write_text("changed")
    snapshots.snapshot()
    assert not Path(f"{canary}.sang").exists()
    assert (evil / "config").read_text() == settings
