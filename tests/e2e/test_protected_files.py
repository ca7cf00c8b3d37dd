"""A script changes protected files unseen: each front end reports it, and they are restored or the user is asked."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.plain.test_plain import answer, leave
from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.subagent_scripts import delegating
from tests.terminal.terminal import Terminal

HOOK = ".git/hooks/pre-commit"
SCRIPT = """
import pathlib, sys
path = pathlib.Path({path!r}).expanduser()
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text("evil")
"""


@pytest.fixture
def project(sandbox: Sandbox) -> Sandbox:
    """A repository with a script for a hook and one for the user's shell."""
    subprocess.run(["git", "init", "-q", "."], cwd=sandbox.project, check=True)
    (sandbox.project / "hook.py").write_text(SCRIPT.format(path=HOOK))
    (sandbox.project / "shell.py").write_text(SCRIPT.format(path="~/.bashrc"))
    return sandbox


def test_run_restores_a_hook_and_reports_it(project: Sandbox):
    model = project.script(bash("python3 hook.py"), bash("echo go on"), finish())
    done = project.agent("run", "go", "--model", model, "--mode", "never")
    assert done.returncode == 0, done.stderr
    assert f"{HOOK} (new), which no question showed, and moved aside" in done.stdout + done.stderr
    assert not (project.project / HOOK).exists()


def test_log_and_result_name_the_restored_file(project: Sandbox):
    model = project.script(bash("python3 hook.py"), finish())
    done = project.agent("run", "go", "--json", "--model", model, "--mode", "never")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    (taken,) = [event for event in events if event.get("guarded")]
    assert taken["guarded"] == [str(project.project / HOOK)]
    (result,) = [event for event in events if event["kind"] == "action_observed" and "moved aside" in json.dumps(event)]
    assert taken["action_id"] == result["action_id"]


def test_run_stops_at_the_action_after_a_change_in_the_home_directory(project: Sandbox):
    model = project.script(bash("python3 shell.py"), bash("touch after"), finish())
    done = project.agent("run", "go", "--model", model, "--mode", "never")
    assert done.returncode == 3
    assert "~/.bashrc" in done.stdout + done.stderr
    assert (project.home / ".bashrc").read_text() == "evil"
    assert not (project.project / "after").exists()


@pytest.mark.parametrize("line", ["cp -r new/. .", "echo x > $(git rev-parse --git-path hooks)/pre-commit"])
def test_run_stops_at_a_write_to_an_unknown_path(project: Sandbox, line: str):
    (project.project / "new/.git/hooks").mkdir(parents=True)
    (project.project / "new" / HOOK).write_text("evil")
    done = project.agent("run", "go", "--model", project.script(bash(line), finish()), "--mode", "never")
    assert done.returncode == 3
    assert "only known at run time" in done.stdout + done.stderr
    assert not (project.project / HOOK).exists()


def test_plain_mode_reports_the_change_and_asks(project: Sandbox):
    model = project.script(bash("python3 hook.py; python3 shell.py"), bash("touch after"), finish("All done."))
    args = ("go", "--plain", "--model", model, "--mode", "high", "--workspace", str(project.project))
    with Terminal(args, 100, 150, project.env) as terminal:
        terminal.wait_for("and moved aside")
        answer(terminal, "y")
        terminal.wait_for("All done.")
        leave(terminal)
        text = " ".join(terminal.text().split())
    assert "protected files changed without being shown: ~/.bashrc" in text
    assert (project.project / "after").exists()
    assert not (project.project / HOOK).exists()


def test_screen_reports_the_change_and_asks(project: Sandbox):
    model = project.script(bash("python3 hook.py; python3 shell.py"), bash("touch after"), finish("All done."))
    args = ("go", "--model", model, "--mode", "high", "--workspace", str(project.project))
    with Terminal(args, 160, 50, project.env) as terminal:
        terminal.wait_for("touch after")
        terminal.wait_for("changed without being shown")
        terminal.wait_for("Protected files changed")
        assert not (project.project / "after").exists()
        terminal.press("ctrl+q")
    wait_for(lambda: not project.processes(), "every process to be gone")
    assert not (project.project / HOOK).exists()


def test_changes_by_a_sub_agent_are_restored_and_reported(project: Sandbox):
    agents = {"ann": [bash("python3 hook.py; python3 shell.py"), finish("Ann is done.")]}
    model = delegating(project.home / "script.toml", agents, bash("touch after"))
    done = project.agent("run", "go", "--model", model, "--mode", "never")
    assert done.returncode == 3, done.stdout
    output = done.stdout + done.stderr
    assert f"{HOOK} (new), which no question showed, and moved aside" in output
    assert "~/.bashrc" in output
    assert not (project.project / HOOK).exists()
    assert not (project.project / "after").exists()


@pytest.mark.parametrize("line", ["(sleep 1; python3 hook.py) &", "setsid -f sh -c 'sleep 1; python3 hook.py'"])
def test_changes_by_a_background_process_are_restored_during_a_later_action(project: Sandbox, line: str):
    later = "while ! test -e .git/hooks/pre-commit; do sleep 0.1; done"
    model = project.script(bash(f"{line} > /dev/null 2>&1"), bash(later), finish())
    done = project.agent("run", "go", "--model", model, "--mode", "never")
    assert f"{HOOK} (new), which no question showed, and moved aside" in done.stdout + done.stderr
    assert not (project.project / HOOK).exists()
