"""A directory with hooks for Claude Code: trusted, they are listed and work; untrusted, none of them runs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn, bash, finish
from tests.sandbox import Sandbox, wait_for
from tests.sandbox import bash as scripted_bash
from tests.sandbox import finish as scripted_finish
from tests.subagent_scripts import delegating
from tests.terminal.terminal import Terminal
from workbench.tools.trust import agree, fingerprint

FORMAT = """#!/bin/sh
# Claude Code sends {"tool_input": {"file_path": …}}.
file=$(sed -n 's/.*"file_path": "\\([^"]*\\)".*/\\1/p')
sed -i 's/ *= */ = /' "$file"
"""
GUARD = """import json, sys
command = json.load(sys.stdin)["tool_input"]["command"]
if command.startswith("rm "):
    print("use trash instead of rm", file=sys.stderr)
    sys.exit(2)
"""
CHECK = f'{sys.executable} "$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.py'
REFORMAT = {"type": "command", "command": ".claude/hooks/format.sh", "timeout": 10}
SETTINGS = {
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": CHECK}]}],
        "PostToolUse": [{"matcher": "Edit|Write", "hooks": [REFORMAT]}],
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo The release is on Friday."}]}],
        "SubagentStop": [{"hooks": [{"type": "command", "command": "touch ran"}]}],
    }
}


@pytest.fixture
def project(sandbox: Sandbox) -> Path:
    """A project with the three hooks that people write first: format after an edit, deny `rm`, add context."""
    hooks = sandbox.project / ".claude/hooks"
    hooks.mkdir(parents=True)
    (hooks / "guard.py").write_text(GUARD)
    (hooks / "format.sh").write_text(FORMAT)
    (hooks / "format.sh").chmod(0o755)
    (sandbox.project / ".claude/settings.json").write_text(json.dumps(SETTINGS, indent=2))
    (sandbox.project / "old.txt").write_text("old")
    return sandbox.project


def trust(sandbox: Sandbox) -> None:
    agree(sandbox.locations, sandbox.project, fingerprint(sandbox.project))


def work(sandbox: Sandbox, *arguments: str) -> tuple[str, list[dict], ModelServer]:
    """Let the agent write a file and try `rm`; return stderr, the events and the model's server."""
    path = str(sandbox.project / "new.py")
    create = {"command": "create", "path": path, "file_text": "x=1\n", "security_risk": "LOW", "summary": "write"}
    turns = [Turn(calls=[Called("str_replace_editor", create)]), bash("rm old.txt"), finish("Done.")]
    with ModelServer(turns) as server:
        more = ("--model", "openai/fake", "--api-base", server.base_url, "--mode", "edits", "--json", *arguments)
        done = sandbox.agent("run", "go", *more, OPENAI_API_KEY="sk-test-0000000000000000")
    return done.stderr, [json.loads(line) for line in done.stdout.splitlines()], server


@pytest.mark.parametrize("kind", ["off", "auto"])
def test_hooks_of_a_trusted_directory_format_deny_and_add_context(sandbox: Sandbox, project, kind):
    trust(sandbox)
    sandbox.env["OHW_SANDBOX"] = kind
    errors, events, server = work(sandbox)
    assert (project / "new.py").read_text() == "x = 1\n"
    assert (project / "old.txt").exists()
    assert "The release is on Friday." in json.dumps(server.requests[0].messages)
    assert "use trash instead of rm" in json.dumps(server.requests[-1].messages)
    runs = [event for event in events if event["kind"] == "hook_ran"]
    assert [(run["event"], run["exit"], run["decision"], run["failure"]) for run in runs] == [
        ("user_message", 0, "", ""),
        ("after_action", 0, "", ""),
        ("before_action", 2, "deny", ""),
    ]
    assert {run["source"] for run in runs} == {str(project / ".claude/settings.json")}
    assert "not trusted" not in errors
    assert not (project / "ran").exists()


def test_hooks_of_an_untrusted_directory_do_not_run(sandbox: Sandbox, project):
    errors, events, server = work(sandbox, "--mode", "high")
    assert (project / "new.py").read_text() == "x=1\n"
    assert not [event for event in events if event["kind"] == "hook_ran"]
    assert "Friday" not in json.dumps([request.messages for request in server.requests])
    assert f"the hooks in {project}/.claude/settings.json are ignored: the directory is not trusted" in errors


def test_hooks_are_listed_with_source_and_state(sandbox: Sandbox, project):
    sandbox.locations.settings_file.parent.mkdir(parents=True, exist_ok=True)
    sandbox.locations.settings_file.write_text('[[hooks]]\nevent = "run_end"\ncommand = "notify"\nname = "bell"\n')
    rows = [json.loads(line) for line in sandbox.command("hooks", "--json").stdout.splitlines()]
    states = {(row["event"], row["state"]) for row in rows}
    assert states == {
        *(("run_end", "active"), ("before_action", "not trusted"), ("after_action", "not trusted")),
        *(("user_message", "not trusted"), ("SubagentStop", "not supported")),
    }
    trust(sandbox)
    page = sandbox.command("hooks").stdout
    assert f"active · from {project}/.claude/settings.json" in page
    assert "run_end: bell" in page
    assert "for Edit|Write · in Claude Code's format · at most 10 s" in page
    assert "SubagentStop" in page


def test_hooks_guard_the_actions_of_sub_agents_too(sandbox: Sandbox, project):
    trust(sandbox)
    agents = {"cleaner": [scripted_bash("rm old.txt"), scripted_finish("I tried.")]}
    model = delegating(sandbox.home / "script.toml", agents)
    done = sandbox.agent("run", "share it", "--model", model, "--mode", "high", "--json")
    assert (project / "old.txt").exists()
    assert "use trash instead of rm" in done.stdout
    steps = [event for event in map(json.loads, done.stdout.splitlines()) if event["kind"] == "delegate_step"]
    denied = [step["event"] for step in steps if step["event"]["kind"] == "action_decided"]
    assert denied[0]["verdict"] == "rejected"
    assert denied[0]["rule"].startswith('hook "')


@pytest.fixture
def screen(sandbox: Sandbox, project) -> Iterator[Terminal]:
    sandbox.env["OHW_MODEL"] = sandbox.script(scripted_bash("rm old.txt"), scripted_finish("Done."))
    with Terminal(["--workspace", str(project)], 120, 40, sandbox.env) as terminal:
        yield terminal
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def test_screen_asks_for_trust_with_the_commands_and_shows_what_the_hooks_do(sandbox: Sandbox, project, screen):
    screen.wait_for("its own hooks")
    screen.wait_for("hooks: programs that run at events")
    screen.wait_for("after_action: .claude/hooks/format.sh")
    screen.press("up")
    screen.wait_for("Esc No")
    screen.press("enter")
    screen.wait_until(lambda text: "Trust this directory?" not in text, "the answer to be taken")
    screen.type("go")
    screen.press("enter")
    screen.wait_for("Done.", 60)
    assert (project / "old.txt").exists()
    screen.type("/hooks")
    screen.press("enter")
    screen.wait_for("before_action: ")
    screen.wait_for("active · from")
    screen.press("escape")
    screen.wait_until(lambda text: "before_action: " not in text, "the page to close")


@pytest.mark.parametrize("event", ["session_start", "before_action", "run_end"])
def test_signal_ends_a_hook_that_hangs_with_everything_it_has_started(sandbox: Sandbox, event):
    started = sandbox.project / "started"
    command = "setsid sleep 604 & trap '' TERM; touch started; sleep 605"
    sandbox.locations.settings_file.parent.mkdir(parents=True, exist_ok=True)
    sandbox.locations.settings_file.write_text(f'[[hooks]]\nevent = "{event}"\ncommand = {json.dumps(command)}\n')
    model = sandbox.script(scripted_bash("true"), scripted_finish("Done."))
    process = sandbox.start("run", "go", "--model", model)
    wait_for(started.exists, "the hook to start")
    process.terminate()
    assert process.wait(20) == 143
    wait_for(lambda: not sandbox.processes(), "every process to be gone")
    process.communicate()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[[hooks]]\nevent = "before_acting"\ncommand = "x"\n', "hooks[1].event must be one of"),
        ('[[hooks]]\nevent = "run_end"\n', "hooks[1].command is missing"),
        (
            '[[hooks]]\nevent = "run_end"\ncommand = "x"\ntimeout = 0\n',
            "hooks[1].timeout must be a whole number from 1",
        ),
        ('[[hooks]]\nevent = "run_end"\ncommand = "x"\nmatcher = "("\n', "hooks[1].matcher"),
        ('[[hooks]]\nevent = "run_end"\ncommand = "x"\nafter = "y"\n', "hooks[1] has no entry 'after'"),
        ('[hooks]\nevent = "run_end"\n', "hooks must be tables: [[hooks]]"),
    ],
)
def test_invalid_hook_in_the_settings_is_an_error_that_names_it(sandbox: Sandbox, text, problem):
    sandbox.locations.settings_file.parent.mkdir(parents=True, exist_ok=True)
    sandbox.locations.settings_file.write_text(text)
    done = sandbox.command("hooks")
    assert done.returncode == 2
    assert problem in done.stderr


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap on this machine")
def test_hook_of_a_directory_runs_in_the_sandbox_and_one_of_yours_may_leave_it(sandbox: Sandbox):
    sandbox.env["OHW_SANDBOX"] = "auto"
    outside = {name: sandbox.home / name for name in ("theirs", "inside", "free")}
    directory = sandbox.project / ".ohw"
    directory.mkdir()
    entry = '[[hooks]]\nevent = "user_message"\nname = "{0}"\ncommand = "touch {1}"\n{2}'
    (directory / "hooks.toml").write_text(entry.format("theirs", outside["theirs"], "sandbox = false\n"))
    sandbox.locations.settings_file.parent.mkdir(parents=True, exist_ok=True)
    own = entry.format("inside", outside["inside"], "") + entry.format("free", outside["free"], "sandbox = false\n")
    sandbox.locations.settings_file.write_text(own)
    trust(sandbox)
    done = sandbox.ohw("run", "go", "--model", sandbox.script(scripted_finish("Done.")), "--json")
    assert {name for name, path in outside.items() if path.exists()} == {"free"}
    runs = [event for event in map(json.loads, done.stdout.splitlines()) if event["kind"] == "hook_ran"]
    assert {run["name"]: run["exit"] for run in runs} == {"inside": 1, "free": 0, "theirs": 1}
