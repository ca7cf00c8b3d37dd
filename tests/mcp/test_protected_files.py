"""Changes by an MCP server to protected files are undone or asked about, and reported, whenever they happen."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.fakes.model_turns import Called, Turn
from tests.mcp.mcp_session import mcp_harness
from tests.mcp.test_end_to_end import approve, bring, call, run, settings
from tests.sandbox import Sandbox, wait_for
from tests.session.fake_agent import says

HOOK = ".git/hooks/pre-commit"


@pytest.fixture
def repo(sandbox: Sandbox) -> Sandbox:
    subprocess.run(["git", "init", "-q", "."], cwd=sandbox.project, check=True)
    settings(sandbox, f'trusted = ["{sandbox.project}"]\n')
    return sandbox


def touch(name: str) -> Turn:
    arguments = {"security_risk": "LOW", "summary": "Touch", "command": f"touch {name}"}
    return Turn("I touch.", calls=(Called("execute_bash", arguments),))


def guarded(events) -> list[str]:
    return [path for event in events for path in event.get("guarded") or ()]


def test_writes_of_calls_to_protected_files_are_restored_and_reported(repo: Sandbox):
    bring(repo)
    approve(repo)
    paths = [repo.project / name for name in (HOOK, ".vscode/tasks.json", "AGENTS.md")]
    calls = [call(tool, f"write {path}") for path in paths for tool in ("echo", "peek")]
    done, events, _ = run(repo, *calls, mode="never")
    assert guarded(events) == [str(path) for path in paths for _ in ("echo", "peek")]
    assert (done.stderr + done.stdout).count(", and moved aside") >= len(calls)
    assert not any(path.exists() for path in paths)


def test_writes_of_a_call_in_the_home_directory_stop_the_next_action(repo: Sandbox):
    bring(repo)
    approve(repo)
    done, events, _ = run(repo, call("echo", "write ~/.bashrc"), touch("after"), mode="never")
    assert done.returncode == 3
    assert guarded(events) == [str(repo.home / ".bashrc")]
    assert not (repo.project / "after").exists()


@pytest.mark.parametrize("known", [False, True])
def test_writes_of_a_starting_server_are_reported_and_asked_about(repo: Sandbox, known: bool):
    bring(repo, options={"plants": str(repo.project / HOOK)})
    if known:
        approve(repo)
        (repo.project / HOOK).unlink()
    done, events, _ = run(repo, call("echo", "hello"), touch("after"), mode="never")
    assert guarded(events)[:1] == [str(repo.project / HOOK)], done.stderr
    assert not (repo.project / HOOK).exists() or not (repo.project / "after").exists()


def test_writes_of_a_server_before_the_first_message_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    hook = tmp_path / "project" / HOOK
    monkeypatch.setenv("HOME", str(tmp_path))
    subprocess.run(["git", "init", "-q", str(tmp_path / "project")], check=True)
    with mcp_harness(tmp_path, monkeypatch, says("done"), options={"plants": str(hook)}) as harness:
        wait_for(hook.exists, "the server to write")
        harness.say("go")
        (version,) = [event for event in harness.of("version_taken") if event.guarded]
        assert version.guarded == (str(hook),)
        assert "the next action is asked about" in version.notice
