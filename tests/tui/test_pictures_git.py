"""Golden pictures of git's index in the diff viewer, and of the worktrees."""

from __future__ import annotations

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.blame_files import keep_script
from tests.tui.picture_sessions import finished
from tests.tui.pictures import app_with, at_rest, in_each_look, show_events, text_on
from tests.tui.sample_session import Script
from tests.tui.test_commit import git
from tests.tui.test_pictures_diff_viewer import SERVER_AFTER, SERVER_BEFORE
from workbench.protocol import events as ev
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.view.worktrees import add_worktree


@pytest.fixture
def repository(directory, monkeypatch, tmp_path):
    """A repository with two commits and a changed file, and two worktrees beside it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-11-02T09:00:00Z")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-11-02T09:00:00Z")
    (directory / "server.py").write_text(SERVER_BEFORE)
    git(directory, "add", "server.py")
    git(directory, "commit", "-qm", "Add the server")
    (directory / "server.py").write_text(SERVER_AFTER)
    return directory


def session(repository):
    """Return a session in the repository."""
    script = Script().start(workspace=str(repository)).user("Make the server answer in JSON.")
    script.answer("The server answers errors in JSON, too.")
    script.add(ev.RunEnded, reason="finished")
    return script.events


@in_each_look
def test_not_staged(look, repository, picture):
    client, app = app_with(session(repository), repository, look.theme)

    async def show(pilot):
        await show_events(pilot, client, session(repository))
        await pilot.press("f5")
        await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen))
        await pilot.press("a")
        await wait_until(pilot, lambda: "not staged" in text_on(app) and "class Server" in text_on(app))
        await pilot.press("right_square_bracket")
        await at_rest(pilot)
        await pilot.press("a")
        await wait_until(pilot, lambda: "Staged hunk 1" in text_on(app) and "hunk 1 of 4" in text_on(app))
        await at_rest(pilot)

    assert picture(app, look, show)


@in_each_look
def test_staged(look, repository, picture):
    git(repository, "add", "server.py")
    client, app = app_with(session(repository), repository, look.theme)

    async def show(pilot):
        await show_events(pilot, client, session(repository))
        await pilot.press("f5")
        await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen))
        await pilot.press("a")
        await wait_until(pilot, lambda: "not staged" in text_on(app))
        await at_rest(pilot)
        await pilot.press("full_stop")
        await wait_until(pilot, lambda: "a Unstage" in text_on(app) and "class Server" in text_on(app))
        await at_rest(pilot)

    assert picture(app, look, show)


@in_each_look
def test_worktrees(look, repository, picture):
    path = add_worktree(repository, "negative-amounts")
    (path / "server.py").write_text("")
    git(path, "commit", "-qam", "Reject negative amounts")
    (path / "server.py").write_text("x\n")
    add_worktree(repository, "docs/json")
    keep_script(Script().start(workspace=str(path)).user("Reject negative amounts"), "negative-1")
    client, app = app_with(finished(), repository, look.theme)

    async def show(pilot):
        await show_events(pilot, client, finished())
        await pilot.press(*"/worktree", "enter")
        await wait_until(pilot, lambda: "1 changed" in text_on(app))
        await pilot.press("end", "d")
        await wait_until(pilot, lambda: "will be lost" in text_on(app))
        await at_rest(pilot)

    assert picture(app, look, show)
