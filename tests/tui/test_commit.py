"""`/commit` proposes a commit of what the session changed; nothing is committed before the user sends the command."""

from __future__ import annotations

import subprocess
from itertools import pairwise

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.blame_files import keep_blamed
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from workbench.errors import WorkbenchError
from workbench.protocol import events as ev
from workbench.tui.git_pages import propose_commit
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.screens.main import MainScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.view.commit_message import commit_command, message_parts, text_at_head, uncommitted

SUBJECT = "Raise an error for unknown countries"
ACTIONS = "- Add the table of taxes (shop.py)\n- Check the country (shop.py)"


def git(directory, *words: str) -> str:
    names = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    return subprocess.run(["git", *names, *words], cwd=directory, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def script(directory, monkeypatch, tmp_path) -> Script:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return keep_blamed(directory)


@pytest.mark.parametrize("has_trailers", [False, True])
async def test_command_is_put_into_the_prompt_and_commits_only_the_files_of_the_session(
    script, directory, has_trailers
):
    client = FakeClient(script.events)
    app = workbench_app(client, directory=directory, set={"commit_trailers": has_trailers})
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id == "s1" and app.state.changes)
        await pilot.press(*"/commit", "enter")
        prompt = app.screen.query_one(Prompt)
        await wait_until(pilot, lambda: prompt.text.startswith("!git --literal-pathspecs -C "))
        assert isinstance(app.screen, MainScreen)
        assert client.commands == [], "nothing runs before the user sends it"
        command = prompt.text.removeprefix("!")
    for name, value in (("user.name", "a"), ("user.email", "a@b.c")):
        git(directory, "config", name, value)
    subprocess.run(["sh", "-c", command], cwd="/", check=True, capture_output=True)
    trailers = "\n\nAssisted-by: m\nSession: s1" if has_trailers else ""
    assert git(directory, "log", "-1", "--format=%B").strip() == f"{SUBJECT}\n\n{ACTIONS}{trailers}"
    assert git(directory, "show", "--name-only", "--format=").split() == ["shop.py"]
    assert git(directory, "status", "--porcelain").split() == ["??", "new.py"]
    assert uncommitted(directory, [str(directory / "shop.py")]) == []


@pytest.mark.starts
def test_ignored_files_and_files_elsewhere_are_left_out(script, directory, tmp_path):
    (directory / ".gitignore").write_text("*.log\n")
    (directory / "a.log").write_text("x")
    paths = [str(directory / name) for name in ("a.log", "shop.py")]
    assert uncommitted(directory, [*paths, str(tmp_path / "other.py")]) == ["shop.py"]
    with pytest.raises(WorkbenchError, match="needs a git repository"):
        uncommitted(tmp_path / "data", [str(tmp_path / "data/x")])


async def test_staged_hunks_are_committed_exactly_and_nothing_else(script, directory):
    for name, value in (("user.name", "a"), ("user.email", "a@b.c")):
        git(directory, "config", name, value)
    (directory / "other.txt").write_text("one\n")
    git(directory, "add", "other.txt")
    (directory / "other.txt").write_text("two\n")
    (directory / "lib").mkdir()
    git(directory, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
    client = FakeClient(script.events)
    app = workbench_app(client, directory=directory)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id == "s1" and app.state.changes)
        await pilot.press("f5", "a")
        await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen) and "not staged" in text_on(app))
        await pilot.press("C")
        prompt = app.switcher.main.query_one(Prompt)
        await wait_until(pilot, lambda: prompt.text.startswith("!git -C "))
        assert isinstance(app.screen, MainScreen)
        assert any("exactly what is staged, in 1 file and 1 submodule" in each.message for each in app._notifications)
        command = prompt.text.removeprefix("!")
    subprocess.run(["sh", "-c", command], cwd="/", check=True, capture_output=True)
    assert git(directory, "show", "--name-only", "--format=").split() == ["lib", "other.txt"]
    assert git(directory, "show", "HEAD:other.txt") == "one\n"
    assert git(directory, "status", "--porcelain").splitlines() == [" M other.txt", "?? new.py", "?? shop.py"]


async def test_text_in_the_prompt_is_kept_and_no_command_joins_it(script, directory):
    app = workbench_app(FakeClient(script.events), directory=directory)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id == "s1" and app.state.changes)
        prompt = app.screen.query_one(Prompt)
        prompt.load_text("rm -rf what I may want")
        await propose_commit(app)
        assert prompt.text == "rm -rf what I may want"


@pytest.mark.starts
def test_name_with_brackets_commits_that_file_alone(tmp_path):
    git(tmp_path, "init", "-q")
    for name in ("[id].ts", "i.ts", "d.ts"):
        (tmp_path / name).write_text("new\n")
    line = commit_command(Script().start(workspace=str(tmp_path)).state(), ["[id].ts"], {}, has_trailers=False)
    for name, value in (("user.name", "a"), ("user.email", "a@b.c")):
        git(tmp_path, "config", name, value)
    subprocess.run(["sh", "-c", line.removeprefix("!")], cwd="/", check=True, capture_output=True)
    assert git(tmp_path, "ls-files").split() == ["[id].ts"]


@pytest.mark.starts
def test_names_and_prompts_cannot_become_commands():
    script = Script().start(workspace="/w").user("it's $(touch owned) \x1b[31m").answer("")
    action_id = script.propose("execute_bash", "LOW", "write; it", command="true")
    script.end(action_id, "", files=(ev.FileDelta(path="/w/-a b'c.py", before=None, after="x\n"),))
    line = commit_command(script.state(), ["-a b'c.py"], {}, has_trailers=True)
    shown = line.removeprefix("!").replace("git ", "printf '<%s>' ", 2)
    words = subprocess.run(["sh", "-c", shown], check=True, capture_output=True, text=True, cwd="/").stdout
    assert "<./-a b'c.py>" in words
    assert "<it's $(touch owned) " in words
    assert "\x1b" not in line


def test_several_prompts_are_listed_and_actions_without_these_files_are_not():
    script = Script().start(workspace="/w")
    for name in ("a.py", "b.py", "c.py"):
        script.user(f"write {name}").answer("")
        action_id = script.propose("execute_bash", "LOW", f"Write {name}", command="true")
        script.end(action_id, "", files=(ev.FileDelta(path=f"/w/{name}", before=None, after="x\n"),))
    subject, asked, actions = message_parts(script.state(), ["a.py", "c.py"], {}, has_trailers=False)
    assert subject == "write a.py"
    assert asked == "Asked: write a.py\nAsked: write c.py"
    assert actions == "- Write a.py (a.py)\n- Write c.py (c.py)"


@pytest.mark.starts
def test_actions_that_an_earlier_commit_holds_are_not_listed_again(tmp_path):
    git(tmp_path, "init", "-q")
    script = Script().start(workspace=str(tmp_path))
    texts = [None, "one\n", "two\n", "three\n"]
    for number, (before, after) in enumerate(pairwise(texts)):
        (tmp_path / "a.py").write_text(after or "")
        if number == 1:
            git(tmp_path, "add", "a.py")
            git(tmp_path, "commit", "-qm", "by the user")
        script.user(f"change {number}").answer("")
        action_id = script.propose("execute_bash", "LOW", f"Change {number}", command="true")
        script.end(action_id, "", files=(ev.FileDelta(path=str(tmp_path / "a.py"), before=before, after=after),))
    parts = message_parts(script.state(), ["a.py"], text_at_head(tmp_path), has_trailers=False)
    assert parts == ["change 2", "- Change 2 (a.py)"]
