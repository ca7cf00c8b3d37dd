"""Restoring paths of a version or a copy: names that other systems refuse, several names of a file, other kinds."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.session.test_snapshots import repository
from workbench.errors import WorkbenchError
from workbench.protocol.events import FileDelta
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.session.workspace.deletions import FOR_GOOD, DeletionSurvey
from workbench.session.workspace.metadata import METADATA
from workbench.session.workspace.repository import SnapshotRepository
from workbench.session.workspace.restore import restore_paths
from workbench.session.workspace.revert import revert


@pytest.fixture
def snapshots(tmp_path) -> SnapshotRepository:
    made = repository(tmp_path)
    (made.workspace / ".gitignore").write_text("build/\n*.log\n")
    return made


def write(directory: Path, *names: str) -> None:
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n")


def tree_of(directory: Path) -> dict[str, tuple[int, object]]:
    entries: dict[str, tuple[int, object]] = {}
    for path in directory.rglob("*"):
        mode = path.lstat().st_mode
        content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        entries[str(path.relative_to(directory))] = (0 if path.is_symlink() else mode, content)
    return entries


def assessed(snapshots: SnapshotRepository, command: str):
    return assess_command(command, PathContext(str(snapshots.workspace), str(snapshots.workspace.parent)))


DANGEROUS_ELSEWHERE = (
    "git~1",
    "GIT~1",
    ".git ",
    ".git.",
    ".git\u200c",
    ".g\u200cit",
    "a\\.git\\b",
    ".git::$INDEX",
    "con",
)
"""Names that stand for a repository, or for something else, on other systems; here they are ordinary names."""


@pytest.mark.parametrize("name", DANGEROUS_ELSEWHERE)
def test_file_with_a_name_that_other_systems_refuse_is_in_versions_and_copies(snapshots, name):
    work = snapshots.workspace
    write(work, name, f"{name}d/inside", f"build/{name}")
    before, version = tree_of(work), snapshots.snapshot()
    survey = DeletionSurvey(snapshots)
    copy = survey.keep(assessed(snapshots, "rm -rf build *"), "rm", "one")
    for path in (work / name, work / f"{name}d/inside", work / f"build/{name}"):
        path.unlink()
    restore_paths(snapshots, version)
    survey.copies.restore(copy.id)
    assert tree_of(work) == before


@pytest.mark.parametrize("name", [".Git", ".GIT/config", "deep/.giT/x", METADATA, "link to .gitmodules"])
@pytest.mark.parametrize(
    "command", ["rm -rf {}", "rm -rf build", "find . -type f -delete", "for f in *; do rm -r $f; done"]
)
def test_file_that_no_copy_can_hold_is_named_and_asked_about(snapshots, name, command):
    directory = snapshots.workspace if name == METADATA else snapshots.workspace / "build"
    write(snapshots.workspace, "build/other")
    if name.startswith("link"):
        name = ".gitmodules"
        (directory / name).symlink_to("other")
    else:
        write(directory, name)
    path = os.path.relpath(directory / name, snapshots.workspace)
    command = command.format(path)
    explained = DeletionSurvey(snapshots).explain(assessed(snapshots, command))
    line = "; ".join(explained.assessment.reasons)
    is_touched = "build" not in command or path.startswith("build")
    assert (f"NOT of {path}: git refuses such names" in line, explained.doubt) == (is_touched, FOR_GOOD * is_touched)
    assert "can be undone" not in line or not is_touched
    copy = DeletionSurvey(snapshots).keep(assessed(snapshots, command), command, "one")
    if copy is not None:
        assert path not in {change.path for change in snapshots.files_of(copy.version)}
        (snapshots.workspace / "build/other").unlink(missing_ok=True)
        DeletionSurvey(snapshots).copies.restore(copy.id)


@pytest.mark.parametrize(
    ("command", "is_lost"),
    [
        ("mv build old && rm -rf old", True),
        ("mv build old; rm -r ./old/", True),
        ("mkdir t && mv build t/ && rm -rf t", True),
        ("mv -t t build && rm -rf t/build", True),
        ("mv build/deep x; rm -rf x", True),
        ("mv build /nowhere/old && rm -rf /nowhere/old", True),
        ("git mv build old && rm -rf old", True),
        ("mv build old && find old -delete", True),
        ("mv build old && rm -rf other", False),
        ("mv build old && echo rm -rf old", False),
        ("mv build old", False),
    ],
)
def test_directory_that_is_moved_and_deleted_there_is_copied_first(snapshots, command, is_lost):
    write(snapshots.workspace, "build/deep/a", "build/deep/b")
    survey = DeletionSurvey(snapshots)
    reasons = "; ".join(part.reason for part in survey.explain(assessed(snapshots, command)).assessment.parts)
    assert ("can be undone: backup of 2 files" in reasons) is is_lost, reasons
    copy = survey.keep(assessed(snapshots, command), command, "one")
    assert (copy.count if copy else 0) == 2 * is_lost


def test_link_out_of_the_workspace_is_copied_as_a_link_without_what_is_behind_it(snapshots, tmp_path):
    (tmp_path / "elsewhere/empty").mkdir(parents=True)
    (snapshots.workspace / "out.log").symlink_to(tmp_path / "elsewhere")
    survey = DeletionSurvey(snapshots)
    copy = survey.keep(assessed(snapshots, "rm -rf out.log"), "rm", "one")
    (snapshots.workspace / "out.log").unlink()
    survey.copies.restore(copy.id)
    assert (snapshots.workspace / "out.log").readlink() == tmp_path / "elsewhere"
    assert snapshots.metadata_of(copy.version).directories == {}


def test_file_with_several_names_is_restored_under_all_of_them(snapshots):
    work = snapshots.workspace
    write(work, "a", "z")
    os.link(work / "a", work / "b")
    version = snapshots.snapshot()
    (work / "a").write_text("emptied")
    (work / "z").write_text("changed")
    restore_paths(snapshots, version, force=True)
    assert [(work / name).read_text() for name in "abz"] == ["a\n", "a\n", "z\n"]


def test_change_of_a_file_with_several_names_is_reverted_under_all_of_them(snapshots):
    work = snapshots.workspace
    write(work, "a")
    os.link(work / "a", work / "b")
    deltas = [FileDelta(path=str(work / name), before="a\n", after="earlier\n") for name in "ab"]
    revert(deltas, snapshots.root)
    assert [(work / name).read_text() for name in "ab"] == ["earlier\n"] * 2


def file(path: Path) -> None:
    path.write_text("of the user")


def link(path: Path) -> None:
    elsewhere = path.parent.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    path.symlink_to(elsewhere)


def empty_directory(path: Path) -> None:
    path.mkdir()


def directory(path: Path) -> None:
    path.mkdir()
    (path / "of the user").write_text("x")


@pytest.mark.parametrize(
    ("path", "kind", "works"),
    [
        ("deep", file, True),
        ("deep", link, True),
        ("hollow", file, True),
        ("hollow", link, True),
        ("plain", link, True),
        ("plain", empty_directory, True),
        ("plain", directory, False),
        ("shortcut", file, True),
        ("shortcut", directory, False),
    ],
)
def test_what_took_the_place_of_another_kind_is_replaced_only_by_force(snapshots, path, kind, works):
    work = snapshots.workspace
    write(work, "deep/er/inside", "plain", "zz")
    (work / "shortcut").symlink_to("plain")
    (work / "hollow").mkdir()
    (work / "hollow").chmod(0o700)
    before, version = tree_of(work), snapshots.snapshot()
    (work / path).rename(work.parent / "moved")
    (work / "zz").unlink()
    kind(work / path)
    changed = tree_of(work)
    with pytest.raises(WorkbenchError, match=f"have changed since: {path}; --force overwrites"):
        restore_paths(snapshots, version)
    assert tree_of(work) == changed
    if works:
        restore_paths(snapshots, version, force=True)
        assert tree_of(work) == before
        assert list(work.parent.glob("elsewhere/*")) == []
        return
    with pytest.raises(WorkbenchError, match=f"not empty have taken the place of {path}; move them away"):
        restore_paths(snapshots, version, force=True)
    assert tree_of(work) == changed
    assert stat.S_ISDIR((work / path).lstat().st_mode)


@pytest.mark.parametrize(
    "command", ["rm -rf build/* hollow", "rm -rf ./*", "rm -r hollow build", "rm -rf hollow/ build/deep"]
)
def test_directory_without_any_file_is_restored_with_its_permissions(snapshots, command):
    work = snapshots.workspace
    write(work, "build/file")
    for name, mode in (("hollow", 0o700), ("build/deep", 0o750), ("build/deep/er", 0o755)):
        (work / name).mkdir()
        (work / name).chmod(mode)
    before = tree_of(work)
    survey = DeletionSurvey(snapshots)
    copy = survey.keep(assessed(snapshots, command), command, "one")
    subprocess.run(["sh", "-c", command], cwd=work, check=True)
    assert tree_of(work) != before
    survey.copies.restore(copy.id)
    assert tree_of(work) == before
