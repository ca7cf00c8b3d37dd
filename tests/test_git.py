"""Our own git calls execute nothing of a repository (S15): canaries in its settings, hooks and attributes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.files.git import NO_GIT, OwnRepository, run_git
from workbench.session.workspace.repository import SnapshotRepository
from workbench.view.git_branch import current_branch, is_dirty
from workbench.view.review.review import files_against_head

SETTINGS = (
    "alias.status",
    "core.alternateRefsCommand",
    "core.askPass",
    "core.editor",
    "core.fsmonitor",
    "core.gitProxy",
    "core.pager",
    "core.sshCommand",
    "core.virtualFilesystem",
    "credential.helper",
    "credential.https://x.example.helper",
    "diff.external",
    "diff.canary.textconv",
    "diff.canary.command",
    "filter.canary.clean",
    "filter.canary.smudge",
    "filter.lfs.process",
    "filter.a=b.clean",
    "filter.a.b.process",
    "gpg.program",
    "gpg.openpgp.program",
    "gpg.ssh.defaultKeyCommand",
    "gpg.ssh.program",
    "gpg.x509.program",
    "hook.canary.command",
    "interactive.diffFilter",
    "pager.status",
    "remote.origin.uploadpack",
    "remote.origin.vcs",
    "sequence.editor",
    "uploadpack.packObjectsHook",
    "merge.canary.driver",
)
"""All settings at once, including some that only other versions run; `test_git_traps` proves that each of the others
works.
"""
READING = (
    ["status", "--porcelain"],
    ["diff", "HEAD"],
    ["diff", "--stat", "HEAD"],
    ["diff-index", "-p", "HEAD"],
    ["diff-files", "-p"],
    ["diff-tree", "-p", "HEAD^", "HEAD"],
    ["show", "HEAD"],
    ["log", "-p"],
    ["ls-files", "--others", "--exclude-standard"],
    ["cat-file", "blob", "HEAD:a.txt"],
    ["hash-object", "-w", "a.txt"],
    ["update-index", "--refresh"],
    ["add", "-A"],
    ["check-attr", "filter", "a.txt"],
    ["check-ignore", "a.txt"],
    ["rev-parse", "--show-object-format", "--show-prefix", "--git-path", "index", "--git-path", "objects"],
)


def _git(directory: Path, *arguments: str) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=directory, env=environment, check=True, capture_output=True)


def _commit(directory: Path, message: str) -> None:
    _git(directory, "add", "-A")
    _git(directory, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", message)


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A repository that would run a program at any git operation; the program leaves a file beside it."""
    directory = tmp_path / "work"
    directory.mkdir()
    canary = tmp_path / "canary"
    canary.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path}/sang\ncat\n')
    canary.chmod(0o755)
    _git(directory, "init", "-q")
    (directory / "a.txt").write_text("one\n")
    (directory / "b.txt").write_text("one\n")
    _commit(directory, "first")
    (directory / "a.txt").write_text("two\n")
    _commit(directory, "second")
    for key in SETTINGS:
        _git(directory, "config", key, str(canary))
    _git(directory, "config", "filter.canary.required", "true")
    _git(directory, "config", "log.showSignature", "true")
    _git(directory, "config", "format.pretty", "%G? %GG")
    _git(directory, "config", "status.submoduleSummary", "true")
    for hook in ("post-index-change", "pre-commit", "fsmonitor-watchman", "post-checkout", "reference-transaction"):
        (directory / ".git/hooks").mkdir(exist_ok=True)
        (directory / ".git/hooks" / hook).symlink_to(canary)
    attributes = "a.txt filter=canary diff=canary merge=canary\nb.txt filter=lfs\nc.txt filter=a=b\nd.txt filter=a.b\n"
    (directory / ".gitattributes").write_text(attributes)
    (directory / ".git/info").mkdir(exist_ok=True)
    (directory / ".git/info/attributes").write_text(attributes)
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (directory / name).write_text("three\n")
    return directory


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_nothing_in_a_repository_is_executed(trapped: Path, arguments: list[str]) -> None:
    answer = run_git(arguments, cwd=trapped)
    assert answer.code is not None
    assert not (trapped.parent / "sang").exists(), (trapped.parent / "sang").read_text()


def test_canaries_trigger_for_an_ordinary_git(trapped: Path) -> None:
    subprocess.run(["git", "diff", "HEAD"], cwd=trapped, capture_output=True, check=False)
    assert (trapped.parent / "sang").exists()


def test_own_repository_stores_exact_bytes_and_runs_nothing(trapped: Path) -> None:
    own = OwnRepository(trapped.parent / "own", trapped)
    assert run_git(["init", "-q"], cwd=trapped, own=own).ok
    assert run_git(["add", "-A"], cwd=trapped, own=own).ok
    assert run_git(["cat-file", "blob", ":a.txt"], cwd=trapped, own=own).output == b"three\n"
    assert not (trapped.parent / "sang").exists()


def test_first_snapshot_takes_blobs_of_the_repository_and_runs_nothing(trapped: Path) -> None:
    for number in range(150):
        (trapped / f"more{number}").write_text(f"{number}")
    subprocess.run(["git", "-c", "filter.canary.required=false", "add", "-A"], cwd=trapped, check=False)
    (trapped.parent / "sang").unlink(missing_ok=True)
    snapshots = SnapshotRepository(Locations.from_environment({"HOME": str(trapped.parent / "home")}), trapped, "one")
    snapshots.prepare()
    blobs = {change.path: change.after for change in snapshots.files_of(snapshots.snapshot())}
    assert snapshots.contents([blobs["a.txt"], blobs["more7"]]) == {blobs["a.txt"]: b"three\n", blobs["more7"]: b"7"}
    assert not (trapped.parent / "sang").exists()


def test_git_variables_are_not_inherited(trapped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trapped.parent / "canary"))
    assert b"+three" in run_git(["diff", "HEAD"], cwd=trapped).output
    assert not (trapped.parent / "sang").exists()


def test_git_program_in_the_workspace_is_not_used(trapped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (trapped / "git").symlink_to(trapped.parent / "canary")
    monkeypatch.setenv("PATH", f".:{trapped}:{os.environ['PATH']}")
    assert run_git(["version"], cwd=trapped).output.startswith(b"git version")
    assert not (trapped.parent / "sang").exists()


def test_missing_git_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    answer = run_git(["version"], cwd=tmp_path)
    assert (answer.code, answer.ok, answer.error) == (None, False, NO_GIT)


def test_slow_call_times_out(trapped: Path) -> None:
    answer = run_git(["status"], cwd=trapped, timeout=0.00001)
    assert answer.code is None
    assert "longer than" in answer.error


def test_missing_directory_is_an_answer_with_an_error(tmp_path: Path) -> None:
    assert "could not be started" in run_git(["version"], cwd=tmp_path / "gone").error


def test_command_that_may_run_a_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="git commit"):
        run_git(["commit"], cwd=tmp_path)


def sang(directory: Path) -> str:
    """Return the arguments with which the canary beside a repository was called, empty if it was not."""
    mark = directory.parent / "sang"
    return mark.read_text() if mark.exists() else ""


def test_status_line_and_diff_viewer_execute_nothing_of_the_repository(trapped: Path) -> None:
    assert is_dirty(trapped)
    assert {Path(file.path).name for file in files_against_head(trapped)} >= {"a.txt", "b.txt", "c.txt"}
    assert current_branch(trapped)
    assert sang(trapped) == ""


@pytest.fixture
def promisor(trapped: Path) -> Path:
    """A partial clone that lacks a file of HEAD; fetching it would run a program of the repository."""
    canary = trapped.parent / "canary"
    canary.write_text(canary.read_text().replace("cat\n", ""))  # git would talk forever to a program that answers
    blob = run_git(["rev-parse", "HEAD:a.txt"], cwd=trapped).output.decode().strip()
    for key in SETTINGS:
        _git(trapped, "config", "--unset-all", key)
    (trapped / ".gitattributes").unlink()
    (trapped / ".git/info/attributes").unlink()
    (trapped / ".git/objects" / blob[:2] / blob[2:]).unlink()
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialCloneFilter", "blob:none"),
        ("remote.origin.url", f"ext::{trapped.parent / 'canary'} %S"),
        ("protocol.ext.allow", "always"),
        ("protocol.allow", "always"),
    ):
        _git(trapped, "config", key, value)
    return trapped


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_nothing_is_fetched_from_a_promisor(promisor: Path, arguments: list[str]) -> None:
    run_git(arguments, cwd=promisor)
    is_dirty(promisor)
    assert sang(promisor) == ""


@pytest.mark.parametrize("url", ["ssh://x.example/y", "git://x.example/y", "../other"])
def test_no_transport_program_is_run(promisor: Path, url: str) -> None:
    canary = str(promisor.parent / "canary")
    for key in ("core.sshCommand", "core.gitProxy", "remote.origin.uploadpack", "core.alternateRefsCommand"):
        _git(promisor, "config", key, canary)
    _git(promisor, "config", "remote.origin.url", url)
    run_git(["diff", "HEAD"], cwd=promisor)
    assert sang(promisor) == ""


def test_ordinary_git_would_fetch_from_the_promisor(promisor: Path) -> None:
    subprocess.run(["git", "diff", "HEAD"], cwd=promisor, capture_output=True, check=False)
    assert sang(promisor)


def _filter_of(directory: Path, name: str = "hidden") -> str:
    """Return settings that name a filter, and the attribute that uses it."""
    (directory / ".gitattributes").write_text(f"a.txt filter={name}\n")
    return f'[filter "{name}"]\n\tclean = {directory.parent / "canary"}\n'


@pytest.fixture
def plain(trapped: Path) -> Path:
    """The same repository without its settings."""
    for key in SETTINGS:
        _git(trapped, "config", "--unset-all", key)
    (trapped / ".git/info/attributes").unlink()
    return trapped


@pytest.mark.parametrize("how", ["include", "includeIf", "onbranch", "worktree", "outside"])
def test_included_settings_are_disabled_too(plain: Path, how: str) -> None:
    hidden = plain / ".git" / ("config.worktree" if how == "worktree" else "more")
    hidden = plain.parent / "more" if how == "outside" else hidden
    hidden.write_text(_filter_of(plain))
    branch = current_branch(plain)
    for key, value in {
        "include": [("include.path", "more")],
        "includeIf": [(f"includeIf.gitdir:{plain}/.path", "more")],
        "onbranch": [(f"includeIf.onbranch:{branch}.path", "more")],
        "worktree": [("core.repositoryFormatVersion", "1"), ("extensions.worktreeConfig", "true")],
        "outside": [("include.path", str(hidden))],
    }[how]:
        _git(plain, "config", key, value)
    assert is_dirty(plain)
    assert b"+three" in run_git(["diff", "HEAD"], cwd=plain).output
    assert sang(plain) == ""
    (plain / "a.txt").write_text("four\n")
    subprocess.run(["git", "diff", "HEAD"], cwd=plain, capture_output=True, check=False)
    assert sang(plain), "an ordinary git would run it"


@pytest.mark.parametrize("name", ["a=b", "a.b", "a b", "\u00fc", '"', "A.Clean", "x.clean=y"])
def test_filter_of_any_name_is_disabled(plain: Path, name: str) -> None:
    _git(plain, "config", f"filter.{name}.clean", str(plain.parent / "canary"))
    _git(plain, "config", f"filter.{name}.required", "true")
    quoted = name.replace('"', '\\"')
    (plain / ".gitattributes").write_text(f"a.txt filter={name}\n" if name != "a b" else f'a.txt "filter={quoted}"\n')
    assert is_dirty(plain)
    assert run_git(["add", "-A"], cwd=plain).ok
    assert sang(plain) == ""


def test_settings_that_block_prevent_the_call(plain: Path) -> None:
    os.mkfifo(plain / ".git" / "more")
    _git(plain, "config", "filter.x.clean", str(plain.parent / "canary"))
    (plain / ".gitattributes").write_text("a.txt filter=x\n")
    with (plain / ".git/config").open("a") as file:
        file.write("[include]\n\tpath = more\n")
    answer = run_git(["diff", "HEAD"], cwd=plain, timeout=0.5)
    assert answer.code is None
    assert "longer than" in answer.error
    assert sang(plain) == ""


def test_unreadable_settings_prevent_the_call(plain: Path) -> None:
    with (plain / ".git/config").open("a") as file:
        file.write("[filter\n")
    assert run_git(["status", "--porcelain"], cwd=plain).code is None
    assert not is_dirty(plain)


def test_bare_repository_inside_the_directory_is_ignored(tmp_path: Path, trapped: Path) -> None:
    directory = tmp_path / "looked-at"
    (trapped / ".git").rename(directory)
    _git(directory, "config", "core.worktree", str(tmp_path))
    _git(directory, "config", "core.bare", "false")
    assert not run_git(["status", "--porcelain"], cwd=directory).ok
    assert not is_dirty(directory)
    assert sang(trapped) == ""


def test_settings_behind_a_git_file_are_disabled_too(plain: Path) -> None:
    with (plain / ".git/config").open("a") as file:
        file.write(_filter_of(plain))
    (plain / ".git").rename(plain.parent / "elsewhere")
    (plain / ".git").write_text(f"gitdir: {plain.parent / 'elsewhere'}\n")
    assert is_dirty(plain)
    assert current_branch(plain)
    assert sang(plain) == ""


@pytest.mark.parametrize("name", [".git", ".git/HEAD"])
def test_pipe_in_place_of_a_git_file_does_not_block_the_screen(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    assert current_branch(tmp_path) == ""
    assert not is_dirty(tmp_path)


def test_work_tree_elsewhere_is_an_error_message(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    _git(plain, "config", "core.worktree", str(tmp_path / "other"))
    with pytest.raises(WorkbenchError, match="another directory"):
        files_against_head(plain)


def test_subdirectory_of_a_repository_shows_its_own_changes(plain: Path) -> None:
    (plain / "below").mkdir()
    (plain / "below" / "new.txt").write_text("new\n")
    (plain / ".gitattributes").unlink(missing_ok=True)
    assert [Path(file.path).name for file in files_against_head(plain / "below")] == ["new.txt"]


def test_files_ignored_globally_by_the_user_are_no_changes(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "ignored").write_text("*\n")
    (tmp_path / ".gitconfig").write_text(f"[core]\n\texcludesFile = {tmp_path}/ignored\n\tfsmonitor = /bin/false\n")
    directory = tmp_path / "new"
    directory.mkdir()
    _git(directory, "init", "-q")
    (directory / "x").write_text("x")
    assert not is_dirty(directory)
