"""Our own git calls execute nothing of a repository (S15): canaries in its settings, hooks and attributes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from workbench.safe_git import NO_GIT, OwnRepository, run_git

SETTINGS = (
    "core.fsmonitor",
    "core.pager",
    "core.sshCommand",
    "diff.external",
    "diff.canary.textconv",
    "diff.canary.command",
    "filter.canary.clean",
    "filter.canary.smudge",
    "filter.lfs.process",
    "filter.a=b.clean",
    "gpg.program",
    "merge.canary.driver",
)
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
    ["check-ignore", "a.txt"],
    ["merge-file", "-p", "a.txt", "b.txt", "a.txt"],
)


def _git(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)


def _commit(folder: Path, said: str) -> None:
    _git(folder, "add", "-A")
    _git(folder, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", said)


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A repository that would run a program at whatever git does with it; the program leaves a file beside it."""
    folder = tmp_path / "work"
    folder.mkdir()
    canary = tmp_path / "canary"
    canary.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path}/sang\ncat\n')
    canary.chmod(0o755)
    _git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    (folder / "b.txt").write_text("one\n")
    _commit(folder, "first")
    (folder / "a.txt").write_text("two\n")
    _commit(folder, "second")
    for key in SETTINGS:
        _git(folder, "config", key, str(canary))
    _git(folder, "config", "filter.canary.required", "true")
    _git(folder, "config", "log.showSignature", "true")
    for hook in ("post-index-change", "pre-commit", "fsmonitor-watchman", "post-checkout"):
        (folder / ".git/hooks").mkdir(exist_ok=True)
        (folder / ".git/hooks" / hook).symlink_to(canary)
    attributes = "a.txt filter=canary diff=canary merge=canary\nb.txt filter=lfs\nc.txt filter=a=b\n"
    (folder / ".gitattributes").write_text(attributes)
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/attributes").write_text(attributes)
    for name in ("a.txt", "b.txt", "c.txt"):
        (folder / name).write_text("three\n")
    return folder


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_nothing_of_the_repository_is_executed(trapped: Path, arguments: list[str]) -> None:
    answer = run_git(arguments, cwd=trapped)
    assert answer.code is not None
    assert not (trapped.parent / "sang").exists(), (trapped.parent / "sang").read_text()


def test_the_canaries_sing_for_an_ordinary_git(trapped: Path) -> None:
    subprocess.run(["git", "diff", "HEAD"], cwd=trapped, capture_output=True, check=False)
    assert (trapped.parent / "sang").exists()


def test_a_repository_of_our_own_takes_the_bytes_and_runs_nothing(trapped: Path) -> None:
    own = OwnRepository(trapped.parent / "own", trapped)
    assert run_git(["init", "-q"], cwd=trapped, own=own).ok
    assert run_git(["add", "-A"], cwd=trapped, own=own).ok
    assert run_git(["cat-file", "blob", ":a.txt"], cwd=trapped, own=own).output == b"three\n"
    assert not (trapped.parent / "sang").exists()


def test_variables_of_git_do_not_reach_it(trapped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trapped.parent / "canary"))
    assert b"+three" in run_git(["diff", "HEAD"], cwd=trapped).output
    assert not (trapped.parent / "sang").exists()


def test_a_git_in_the_folder_is_not_git(trapped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (trapped / "git").symlink_to(trapped.parent / "canary")
    monkeypatch.setenv("PATH", f".:{trapped}:{os.environ['PATH']}")
    assert run_git(["version"], cwd=trapped).output.startswith(b"git version")
    assert not (trapped.parent / "sang").exists()


def test_without_git_the_answer_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    answer = run_git(["version"], cwd=tmp_path)
    assert (answer.code, answer.ok, answer.error) == (None, False, NO_GIT)


def test_a_call_that_takes_too_long_is_given_up(trapped: Path) -> None:
    answer = run_git(["status"], cwd=trapped, timeout=0.00001)
    assert answer.code is None
    assert "longer than" in answer.error


def test_a_folder_that_is_gone_is_an_answer_too(tmp_path: Path) -> None:
    assert "could not be started" in run_git(["version"], cwd=tmp_path / "gone").error


def test_a_command_that_may_run_something_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="git commit"):
        run_git(["commit"], cwd=tmp_path)
