"""`/worktree`: a session in its own worktree and branch, listed, merged back in the diff viewer, and removed."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from shutil import which
from typing import Any

import pytest

import workbench.view.worktrees
from tests.tui.app_driver import armed, wait_until, workbench_app
from tests.tui.blame_files import keep_script
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from tests.tui.test_staging import BASE, FIRST, SECOND, Repository, git, replaced
from workbench.cli.completers import worktrees
from workbench.cli.main import main
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import WorkbenchError
from workbench.files.git import GitAnswer, run_git
from workbench.protocol import live
from workbench.sandbox.protected_paths import protected_paths
from workbench.session.session_names import session_path
from workbench.session.storage.lock import SessionLock
from workbench.tools.trust import agree, agreed, fingerprint, is_trusted
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.screens.main import MainScreen
from workbench.tui.screens.worktrees import WorktreesScreen
from workbench.tui.start import Opener
from workbench.view.app_session import AppSession
from workbench.view.formatting.worktrees import worktree_line, worktree_note
from workbench.view.state import FileState, SessionState
from workbench.view.worktrees import (
    Worktree,
    add_worktree,
    list_worktrees,
    merge_scope,
    remove_worktree,
    uncommitted_count,
)

pytestmark = pytest.mark.starts


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Locations:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Locations.from_environment()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    directory = tmp_path / "shop"
    directory.mkdir()
    return Repository(directory).commit(**{"a.txt": BASE, "b.txt": b"one\n"})


def listed(where: Locations, repository: Repository, branch: str) -> Worktree:
    (worktree,) = [each for each in list_worktrees(where, repository.directory) if each.branch == branch]
    return worktree


@pytest.mark.parametrize(
    ("name", "directory"), [("fix", "shop-fix"), ("feature/tax", "shop-feature-tax"), ("ä;b$(c)", "shop-ä;b$(c)")]
)
def test_worktree_is_beside_the_repository_on_a_branch_of_its_own(name, directory, repository, where):
    repository.write("b.txt", b"not committed\n")
    path = add_worktree(repository.directory, name)
    assert path == repository.directory.with_name(directory)
    assert (path / "b.txt").read_bytes() == b"one\n", "it starts at HEAD"
    assert git(path, "symbolic-ref", "HEAD").decode().strip() == f"refs/heads/{name}"
    assert git(repository.directory, "config", "--list", "--local").count(b"branch.") == 0
    assert [each.branch for each in list_worktrees(where, repository.directory)] == ["main", name]


def test_workspace_in_a_worktree_is_the_same_directory_of_the_repository(repository):
    inside = repository.directory / "src"
    inside.mkdir()
    repository.commit(**{"src/c.txt": b"c\n"})
    assert add_worktree(inside, "fix") == repository.directory.with_name("shop-fix") / "src"
    assert add_worktree(repository.directory.with_name("shop-fix"), "more") == repository.directory.with_name(
        "shop-more"
    )


def test_directory_that_exists_is_not_written(repository):
    other = repository.directory.with_name("shop-fix")
    other.mkdir()
    assert add_worktree(repository.directory, "fix") == repository.directory.with_name("shop-fix-2")
    assert list(other.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("main", "the branch main exists already"),
        ("two words", "two words cannot be the name of a branch"),
        ("-b", "-b cannot be the name of a branch"),
        ("a..b", "cannot be the name of a branch"),
        ("\x1b[31m", r"\\e\[31m cannot be the name of a branch"),
        ("main/below", "no worktree was created: .*main"),
    ],
)
def test_name_that_is_no_new_branch_is_refused_and_changes_nothing(name, message, repository):
    with pytest.raises(WorkbenchError, match=message):
        add_worktree(repository.directory, name)
    assert git(repository.directory, "branch", "--list").split() == [b"*", b"main"]
    assert git(repository.directory, "worktree", "list").count(b"\n") == 1
    assert list(repository.directory.parent.glob("shop-*")) == []


def test_directory_without_a_repository_or_a_commit_is_refused(tmp_path, where):
    with pytest.raises(WorkbenchError, match="git cannot show a repository here"):
        add_worktree(tmp_path, "fix")
    with pytest.raises(WorkbenchError, match="git cannot show a repository here"):
        list_worktrees(where, tmp_path)
    git(tmp_path, "init", "-q")
    with pytest.raises(WorkbenchError, match="this repository has none yet"):
        add_worktree(tmp_path, "fix")


def test_detached_head_and_a_dirty_index_do_not_matter(repository, where):
    repository.write("staged.txt", b"x\n")
    git(repository.directory, "add", "staged.txt")
    git(repository.directory, "switch", "-q", "--detach")
    path = add_worktree(repository.directory, "fix")
    assert not (path / "staged.txt").exists()
    assert repository.status() == ["A  staged.txt"]
    main, fix = list_worktrees(where, repository.directory)
    assert (main.name, fix.name) == (f"{main.head[:7]} (no branch)", "fix")


def test_list_shows_what_is_only_there_and_the_session_that_worked_there_last(repository, where):
    path = add_worktree(repository.directory, "fix")
    (path / "a.txt").write_bytes(b"")
    git(path, "commit", "-qam", "more")
    (path / "b.txt").write_bytes(b"")
    (path / "new.txt").write_bytes(b"")
    keep_script(Script().start(workspace=str(path)).user("Fix the sign"), "s-fix")
    fix = listed(where, repository, "fix")
    assert (fix.work.changed, fix.ahead, fix.is_here, fix.is_main) == (2, 1, False, False)
    assert fix.session is not None
    assert fix.session.title == "Fix the sign"
    assert fix.own_work == "2 files with uncommitted changes and 1 commit not merged here"
    assert listed(where, repository, "main").is_here


def merged(repository: Repository, where: Locations) -> dict[str, FileState]:
    scope = merge_scope(repository.directory, listed(where, repository, "fix"))
    assert scope.session == "worktree fix"
    return {Path(file.path).name: file for file in scope.files()}


def test_changes_to_merge_are_those_that_the_workspace_lacks(repository, where):
    path = add_worktree(repository.directory, "fix")
    (path / "a.txt").write_bytes(replaced(BASE, FIRST))
    git(path, "commit", "-qam", "first")
    (path / "a.txt").write_bytes(replaced(BASE, FIRST, SECOND))
    (path / "new.txt").write_bytes(b"new\n")
    (path / "b.txt").unlink()
    (path / "c.bin").write_bytes(b"\0")
    own = (b"line 20\n", b"my own\n")
    repository.write("a.txt", replaced(BASE, FIRST, own))
    repository.commit(**{"other.txt": b"only here\n"})

    files = merged(repository, where)
    here = replaced(BASE, FIRST, own).decode()
    assert (files["a.txt"].before, files["a.txt"].after) == (here, replaced(BASE, FIRST, own, SECOND).decode())
    assert (files["b.txt"].before, files["b.txt"].after) == ("one\n", None)
    assert (files["new.txt"].before, files["new.txt"].after) == (None, "new\n")
    assert "git merge brings it" in files["c.bin"].note
    assert sorted(files) == ["a.txt", "b.txt", "c.bin", "new.txt"]
    assert {file.path for file in files.values()} == {str(repository.directory / name) for name in files}

    repository.write("a.txt", replaced(BASE, FIRST, own, SECOND))
    repository.write("new.txt", b"new\n")
    repository.write("c.bin", b"\0")
    (repository.directory / "b.txt").unlink()
    assert merged(repository, where) == {}, "everything is here"


def test_lines_that_both_changed_are_shown_as_the_worktree_changed_them(repository, where):
    path = add_worktree(repository.directory, "fix")
    (path / "a.txt").write_bytes(replaced(BASE, FIRST))
    repository.write("a.txt", replaced(BASE, (b"line 5\n", b"other\n")))
    assert merged(repository, where)["a.txt"].after == replaced(BASE, FIRST).decode()


def test_removing_keeps_the_branch_and_refuses_what_is_in_use(repository, where):
    path = add_worktree(repository.directory, "fix")
    with pytest.raises(WorkbenchError, match="is the directory of the repository"):
        remove_worktree(where, repository.directory, listed(where, repository, "main"))
    fix = listed(where, repository, "fix")
    with pytest.raises(WorkbenchError, match="this session works in that worktree"):
        remove_worktree(where, path, fix)
    (path / "a.txt").write_bytes(b"")
    with pytest.raises(WorkbenchError, match="has changed meanwhile; look again"):
        remove_worktree(where, repository.directory, fix)
    keep_script(Script().start(workspace=str(path)).user("Fix"), "s-fix")
    keep_script(Script().start(workspace=str(path / "src")).user("More"), "s-more")
    fix = listed(where, repository, "fix")
    for name in ("s-fix", "s-more"):
        lock = SessionLock.acquire(session_path(where, name))
        with pytest.raises(WorkbenchError, match=f"the session {name} works in fix; stop it first"):
            remove_worktree(where, repository.directory, fix, is_confirmed=True)
        lock.release()
    with pytest.raises(WorkbenchError, match="fix has 1 file with uncommitted changes"):
        remove_worktree(where, repository.directory, fix)
    done = remove_worktree(where, repository.directory, fix, is_confirmed=True)
    assert "its branch stays, git branch -d fix" in done
    assert not path.exists()
    assert b"fix" in git(repository.directory, "branch", "--list")


def test_worktree_whose_directory_is_gone_is_listed_and_its_entry_removed(repository, where):
    path = add_worktree(repository.directory, "fix")
    other = add_worktree(repository.directory, "other")
    path.rename(path.with_name("elsewhere"))
    other.rename(other.with_name("for-a-moment"))
    fix = listed(where, repository, "fix")
    assert fix.is_missing
    with pytest.raises(WorkbenchError, match="is missing"):
        merge_scope(repository.directory, fix).files()
    remove_worktree(where, repository.directory, fix)
    other.with_name("for-a-moment").rename(other)
    assert [each.branch for each in list_worktrees(where, repository.directory)] == ["main", "other"]
    assert not listed(where, repository, "other").is_missing, "git still has its entry"


def break_index(worktree: Path) -> None:
    git_dir = git(worktree, "rev-parse", "--absolute-git-dir").decode().strip()
    (Path(git_dir) / "index").write_bytes(b"broken")


def test_worktree_that_git_cannot_read_is_unknown_and_not_removed_unasked(repository, where):
    path = add_worktree(repository.directory, "fix")
    (path / "new.txt").write_bytes(b"work")
    break_index(path)
    fix = listed(where, repository, "fix")
    assert "unknown" in "".join(piece.text for piece in worktree_line(fix, 10, 100))
    assert fix.own_work.startswith("an unknown state (")
    assert uncommitted_count(path) is None
    with pytest.raises(WorkbenchError, match="fix has an unknown state"):
        remove_worktree(where, repository.directory, fix)
    assert (path / "new.txt").read_bytes() == b"work"
    remove_worktree(where, repository.directory, fix, is_confirmed=True)
    assert not path.exists()


def test_number_of_commits_that_git_cannot_count_is_unknown(repository, where):
    path = add_worktree(repository.directory, "fix")
    git(path, "commit", "-q", "--allow-empty", "-m", "more")
    head = git(path, "rev-parse", "HEAD").decode().strip()
    (repository.directory / ".git/objects" / head[:2] / head[2:]).unlink()
    fix = listed(where, repository, "fix")
    assert fix.ahead is None
    assert "an unknown number of commits not merged here" in fix.own_work


def test_failed_checkout_deletes_only_what_it_created(repository, where):
    other = add_worktree(repository.directory, "other")
    other.rename(other.with_name("for-a-moment"))
    blob = git(repository.directory, "rev-parse", "HEAD:a.txt").decode().strip()
    (repository.directory / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(WorkbenchError, match="no worktree was created"):
        add_worktree(repository.directory, "fix")
    assert not repository.directory.with_name("shop-fix").exists()
    assert git(repository.directory, "branch", "--list", "fix") == b""
    other.with_name("for-a-moment").rename(other)
    assert [each.branch for each in list_worktrees(where, repository.directory)] == ["main", "other"]


class Racing:
    """Git, before whose first `update-ref` another process creates the same branch."""

    def __init__(self, directory: Path, branch: str) -> None:
        self._directory = directory
        self._branch = branch

    def __call__(self, arguments: Sequence[str], **options: Any) -> GitAnswer:
        if arguments[0] == "update-ref" and self._branch:
            git(self._directory, "branch", self._branch)
            self._branch = ""
        return run_git(arguments, **options)


def test_branch_that_another_process_creates_meanwhile_is_not_deleted(repository, monkeypatch):
    monkeypatch.setattr(workbench.view.worktrees, "run_git", Racing(repository.directory, "fix"))
    with pytest.raises(WorkbenchError, match="no worktree was created"):
        add_worktree(repository.directory, "fix")
    assert git(repository.directory, "branch", "--list", "fix").split() == [b"fix"]
    assert not repository.directory.with_name("shop-fix").exists()


def test_name_of_a_tag_or_of_the_head_is_refused(repository):
    git(repository.directory, "tag", "v1")
    for name in ("v1", "HEAD"):
        with pytest.raises(WorkbenchError, match=f"{name} is the name of a tag or a commit already"):
            add_worktree(repository.directory, name)
    assert git(repository.directory, "branch", "--list").split() == [b"*", b"main"]


def test_ignored_files_are_named_and_asked_about(repository, where):
    repository.commit(**{".gitignore": b".env\ncache/\n"})
    path = add_worktree(repository.directory, "fix")
    (path / ".env").write_bytes(b"KEY=1\n")
    (path / "cache").mkdir()
    (path / "cache/a").write_bytes(b"")
    fix = listed(where, repository, "fix")
    assert "2 ignored files" in worktree_note(fix)
    with pytest.raises(WorkbenchError, match="fix has 2 ignored files"):
        remove_worktree(where, repository.directory, fix)
    remove_worktree(where, repository.directory, fix, is_confirmed=True)
    assert not path.exists()


def with_submodule(repository: Repository) -> Path:
    """Return a worktree with a checked-out submodule."""
    library = repository.directory.with_name("library")
    library.mkdir()
    Repository(library).commit(**{"c.txt": b"one\n"})
    local = ("-c", "protocol.file.allow=always")
    git(repository.directory, *local, "submodule", "--quiet", "add", str(library), "lib")
    repository.commit()
    path = add_worktree(repository.directory, "fix")
    git(path, *local, "submodule", "--quiet", "update", "--init")
    return path


def test_work_in_a_submodule_is_seen_and_asked_about(repository, where):
    path = with_submodule(repository)
    before = listed(where, repository, "fix")
    assert before.own_work == "1 submodule"
    (path / "lib/c.txt").write_bytes(b"two\n")
    with pytest.raises(WorkbenchError, match="has changed meanwhile"):
        remove_worktree(where, repository.directory, before, is_confirmed=True)
    fix = listed(where, repository, "fix")
    assert fix.own_work == "1 file with uncommitted changes and 1 submodule"
    with pytest.raises(WorkbenchError, match="fix has 1 file"):
        remove_worktree(where, repository.directory, fix)
    remove_worktree(where, repository.directory, fix, is_confirmed=True)
    assert not path.exists()


def test_other_changes_of_the_same_number_are_not_those_that_were_confirmed(repository, where):
    path = add_worktree(repository.directory, "fix")
    (path / "a.txt").write_bytes(b"one\n")
    asked = listed(where, repository, "fix")
    (path / "a.txt").write_bytes(b"another\n")
    with pytest.raises(WorkbenchError, match="has changed meanwhile"):
        remove_worktree(where, repository.directory, asked, is_confirmed=True)
    git(path, "checkout", "-q", "a.txt")
    (path / "b.txt").write_bytes(b"")
    with pytest.raises(WorkbenchError, match="has changed meanwhile"):
        remove_worktree(where, repository.directory, asked, is_confirmed=True)
    assert path.exists()


class WritesLate:
    """Git, before whose `worktree remove` somebody writes a file into the worktree."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, arguments: Sequence[str], **options: Any) -> GitAnswer:
        if arguments[:2] == ["worktree", "remove"]:
            self._path.write_bytes(b"work")
        return run_git(arguments, **options)


def test_file_that_is_written_after_the_check_keeps_the_worktree(repository, where, monkeypatch):
    path = add_worktree(repository.directory, "fix")
    fix = listed(where, repository, "fix")
    monkeypatch.setattr(workbench.view.worktrees, "run_git", WritesLate(path / "late.txt"))
    with pytest.raises(WorkbenchError, match="the worktree fix was not removed"):
        remove_worktree(where, repository.directory, fix)
    assert (path / "late.txt").read_bytes() == b"work"


def test_filter_that_only_the_worktree_names_is_not_run_when_it_is_removed(repository, where, tmp_path):
    git(repository.directory, "config", "extensions.worktreeConfig", "true")
    repository.commit(**{".gitattributes": b"*.txt filter=own\n"})
    path = add_worktree(repository.directory, "fix")
    git(path, "config", "--worktree", "filter.own.clean", f"touch {tmp_path}/run; cat")
    fix = listed(where, repository, "fix")
    (path / "a.txt").touch()
    remove_worktree(where, repository.directory, fix)
    assert not path.exists()
    assert not (tmp_path / "run").exists()


ODD = ("two\nlines", "line\u2028separator", "next\x85line")


@pytest.mark.parametrize("name", ODD)
def test_path_with_any_line_end_is_one_path(name, repository, where):
    path = repository.directory.with_name(name)
    git(repository.directory, "worktree", "add", "-q", "-b", "fix", str(path))
    assert listed(where, repository, "fix").path == str(path)


def test_git_without_the_option_z_lists_them_line_by_line(repository, where, monkeypatch, tmp_path):
    path = repository.directory.with_name("line\u2028separator")
    git(repository.directory, "worktree", "add", "-q", "-b", "fix", str(path))
    older = tmp_path / "bin/git"
    older.parent.mkdir()
    older.write_text(f'#!/bin/sh\ncase "$*" in *"worktree list"*" -z"*) exit 129;; esac\nexec {which("git")} "$@"\n')
    older.chmod(0o755)
    monkeypatch.setenv("PATH", f"{older.parent}:{os.environ['PATH']}")
    assert listed(where, repository, "fix").path == str(path)


def test_trust_in_a_directory_is_not_trust_in_its_worktrees(repository, where):
    (repository.directory / ".ohw").mkdir()
    repository.commit(**{".ohw/rules.toml": b""})
    agree(where, repository.directory, fingerprint(repository.directory))
    path = add_worktree(repository.directory, "fix")
    assert is_trusted(repository.directory, agreed(where))
    assert not is_trusted(path, agreed(where)), "its content is that of a commit, which nobody looked at"
    opened = Opener(where, Settings(model="scripted/demo")).in_directory(SessionState(model="scripted/demo"), path)
    assert opened.workspace == path
    assert opened.trust is not None, "the user is asked"


def test_sandbox_of_a_worktree_protects_what_git_runs(repository, where):
    path = add_worktree(repository.directory, "fix")
    protected = protected_paths(path)
    shared = repository.directory / ".git"
    assert {str(path / ".git"), str(shared / "hooks"), str(shared / "config")} <= {*protected.read_only}
    assert {str(shared), str(shared / "worktrees/shop-fix")} <= {*protected.git_directories}, "git works there"


def test_shell_command_lists_and_removes(repository, where, monkeypatch, capsys):
    (add_worktree(repository.directory, "fix") / "a.txt").write_bytes(b"")
    monkeypatch.chdir(repository.directory)
    assert main(["worktree"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("● main  ")
    assert lines[1].startswith("○ fix  ")
    assert lines[1].endswith("no session yet · 1 file with uncommitted changes")
    assert main(["worktree", "remove", "fix"]) == 2
    assert "fix has 1 file with uncommitted changes; --force" in capsys.readouterr().err
    assert worktrees("", Namespace(action="remove", workspace=None)) == ["fix"], "the shell completes it"
    assert main(["worktree", "remove", "nothing"]) == 2
    assert "there is no worktree nothing" in capsys.readouterr().err
    assert main(["worktree", "remove", "fix", "--force"]) == 0
    assert "Removed" in capsys.readouterr().out
    assert len(list_worktrees(where, repository.directory)) == 1


class Switched:
    """An app on a session in a repository, which opens sessions of fake clients."""

    def __init__(self, repository: Repository, **control: bool) -> None:
        self.script = Script().start(workspace=str(repository.directory)).user("one")
        self.client = FakeClient(self.script.events)
        self.opened: list[Path] = []
        self.resumed: list[str] = []
        self.app = workbench_app(self.client, directory=repository.directory, at=self.open, resume=self.resume)

    def open(self, state: SessionState, directory: Path) -> AppSession:
        self.opened.append(directory)
        return AppSession(FakeClient(Script().start(workspace=str(directory)).events), directory)

    def resume(self, name: str) -> AppSession:
        self.resumed.append(name)
        return AppSession(FakeClient(Script().start().events), Path("/w"))

    async def run(self, pilot, line: str) -> None:
        await wait_until(pilot, lambda: self.app.state.items and isinstance(self.app.screen, MainScreen))
        await pilot.press(*line, "enter")

    def notified(self) -> str:
        return " ".join(each.message for each in self.app._notifications)


async def test_command_with_a_name_begins_a_session_there(repository, where):
    switched = Switched(repository)
    repository.write("b.txt", b"changed\n")
    async with switched.app.run_test(size=(120, 40)) as pilot:
        await switched.run(pilot, "/worktree fix")
        path = repository.directory.with_name("shop-fix")
        await wait_until(pilot, lambda: switched.opened == [path])
        await wait_until(pilot, lambda: "1 file with uncommitted changes stayed" in switched.notified())
        assert (path / "b.txt").read_bytes() == b"one\n"


async def test_name_that_is_refused_leaves_the_session_as_it_is(repository, where):
    switched = Switched(repository)
    async with switched.app.run_test(size=(120, 40)) as pilot:
        await switched.run(pilot, "/worktree main")
        await wait_until(pilot, lambda: "the branch main exists already" in switched.notified())
        assert switched.opened == []
        assert isinstance(switched.app.screen, MainScreen)


async def test_screen_without_control_creates_and_removes_nothing(repository, where):
    add_worktree(repository.directory, "fix")
    switched = Switched(repository)
    async with switched.app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: switched.app.state.items)
        switched.client.bring(live.ControlState(has_control=False))
        await wait_until(pilot, lambda: not switched.app.state.has_control)
        await switched.run(pilot, "/worktree more")
        await wait_until(pilot, lambda: "Read-only" in switched.notified())
        await switched.run(pilot, "/worktree")
        await wait_until(pilot, lambda: "fix" in text_on(switched.app))
        await pilot.press("down", "d")
        await wait_until(pilot, lambda: "Read-only" in text_on(switched.app))
        assert len(list_worktrees(where, repository.directory)) == 2


@pytest.mark.parametrize("has_session", [False, True])
async def test_list_opens_the_session_of_a_worktree_or_a_new_one(has_session, repository, where):
    path = add_worktree(repository.directory, "fix")
    if has_session:
        keep_script(Script().start(workspace=str(path)).user("Fix"), "s-fix")
    switched = Switched(repository)
    async with switched.app.run_test(size=(120, 40)) as pilot:
        await switched.run(pilot, "/worktree")
        await wait_until(pilot, lambda: "clean" in text_on(switched.app))
        await pilot.press("enter")
        await wait_until(pilot, lambda: "This session is in that worktree" in text_on(switched.app))
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: switched.opened or switched.resumed)
    assert (switched.opened, switched.resumed) == (([], ["s-fix"]) if has_session else ([path], []))


async def test_changes_are_applied_hunk_by_hunk_after_their_risk_was_accepted(repository, where):
    path = add_worktree(repository.directory, "fix")
    (path / "a.txt").write_bytes(replaced(BASE, FIRST, SECOND))
    switched = Switched(repository)
    async with switched.app.run_test(size=(120, 40)) as pilot:
        await switched.run(pilot, "/worktree")
        await wait_until(pilot, lambda: "1 changed" in text_on(switched.app))
        await pilot.press("down", "m")
        await wait_until(pilot, lambda: "fix into this workspace" in text_on(switched.app))
        await wait_until(pilot, lambda: "thirty" in text_on(switched.app) and "x Apply" in text_on(switched.app))
        assert isinstance(switched.app.screen, DiffViewerScreen)
        await pilot.press("x")
        await wait_until(pilot, lambda: switched.client.commands)
        verb, session, _, delta = switched.client.commands[0]
        assert (verb, session) == ("apply", "worktree fix")
        assert delta.path == str(repository.directory / "a.txt")
        assert delta.after == replaced(BASE, FIRST).decode(), "one hunk"
        assert (repository.directory / "a.txt").read_bytes() == BASE, "the engine writes it, once it is accepted"


async def test_removing_asks_only_where_something_is_lost(repository, where):
    add_worktree(repository.directory, "clean")
    (add_worktree(repository.directory, "fix") / "a.txt").write_bytes(b"")
    switched = Switched(repository)
    async with switched.app.run_test(size=(120, 40)) as pilot:
        await switched.run(pilot, "/worktree")
        await wait_until(pilot, lambda: "1 changed" in text_on(switched.app))
        await pilot.press("down", "d")
        await wait_until(pilot, lambda: "Removed" in text_on(switched.app))
        await pilot.press("end", "d")
        await wait_until(pilot, lambda: "The uncommitted changes will be lost. Press d again" in text_on(switched.app))
        assert isinstance(switched.app.screen, WorktreesScreen)
        assert len(list_worktrees(where, repository.directory)) == 2
        await armed(pilot)
        await pilot.press("d")
        await wait_until(pilot, lambda: len(list_worktrees(where, repository.directory)) == 1)
