"""The repository of a replay: as the user's was at a time, and apart from it."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from workbench.session.replay.git_copy import copy_repository

THEN = datetime(2026, 1, 2, tzinfo=UTC)
BEFORE, AFTER = "2026-01-01T12:00:00Z", "2026-01-03T12:00:00Z"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-qb", "main")
    os.utime(project / ".git/description", (0, 0))
    commit(project, "first", BEFORE)
    commit(project, "second", BEFORE)
    return project


def git(directory: Path, *words: str, at: str = BEFORE) -> str:
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        **{"GIT_CONFIG_GLOBAL": os.devnull, "GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": at},
        **{f"GIT_{who}_{what}": "a@b.c" for who in ("COMMITTER", "AUTHOR") for what in ("NAME", "EMAIL")},
    }
    return subprocess.run(["git", *words], cwd=directory, env=env, check=True, capture_output=True, text=True).stdout


def commit(directory: Path, text: str, at: str) -> None:
    (directory / f"{text}.txt").write_text(f"{text}\n")
    git(directory, "add", "-A", at=at)
    git(directory, "commit", "-qm", text, at=at)


def copied(project: Path) -> Path:
    """Copy the repository as it was THEN, beside files like those of then."""
    target = project.with_name("copy")
    target.mkdir()
    for name in ("first", "second"):
        (target / f"{name}.txt").write_text(f"{name}\n")
    copy_repository(project, target, THEN)
    return target


def state(directory: Path) -> tuple[str, str, str]:
    """Return the log, the branches and the status."""
    return tuple(git(directory, *words) for words in (("log", "--format=%s"), ("branch",), ("status", "--short")))  # type: ignore[return-value]


def test_copy_has_the_history_of_then_whatever_came_later(project: Path):
    git(project, "branch", "old")
    expected = state(project)
    commit(project, "third", AFTER)
    git(project, "switch", "-qc", "later", at=AFTER)
    commit(project, "fourth", AFTER)
    now = state(project)
    copy = copied(project)
    assert state(copy) == expected
    commit(copy, "other", AFTER)
    assert state(copy)[0].splitlines() == ["other", "second", "first"]
    assert state(project) == now


def test_detached_head_of_then_is_detached(project: Path):
    first = git(project, "rev-parse", "HEAD~").strip()
    git(project, "switch", "-q", "--detach", first)
    git(project, "switch", "-q", "main", at=AFTER)
    copy = copied(project)
    assert git(copy, "rev-parse", "HEAD").strip() == first
    assert "HEAD detached" in git(copy, "branch")


def test_worktree_becomes_a_repository_of_its_own(project: Path):
    git(project, "worktree", "add", "-q", "-b", "topic", "../beside")
    git(project, "config", "core.worktree", str(project))
    copy = copied(project.with_name("beside"))
    assert git(copy, "rev-parse", "--show-toplevel", "--abbrev-ref", "HEAD").split() == [str(copy), "topic"]
    assert git(copy, "status", "--short") == ""


def test_repository_that_was_made_later_is_left_out(project: Path):
    os.utime(project / ".git/description")
    assert not (copied(project) / ".git").exists()


def test_directory_without_a_repository_gets_none(tmp_path: Path):
    (tmp_path / "plain").mkdir()
    (tmp_path / "copy").mkdir()
    copy_repository(tmp_path / "plain", tmp_path / "copy", THEN)
    assert list((tmp_path / "copy").iterdir()) == []
