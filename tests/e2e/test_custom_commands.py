"""Custom commands end to end: sent from the screen, from plain mode and by `ohw run`, within their limits."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.test_models import KEYS, write_profiles
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import bash, finish
from tests.sandbox import Sandbox, wait_for
from tests.sandbox import bash as scripted_bash
from tests.sandbox import finish as scripted_finish
from tests.terminal.terminal import Terminal
from workbench.tools.trust import agree, fingerprint

COMMIT = """---
description: Look at the changes
argument-hint: [words]
allowed-tools: Bash(git status:*), Read
model: two
---
Look at $ARGUMENTS.
"""


def define(sandbox: Sandbox, name: str, text: str, *, is_trusted: bool = True) -> Path:
    path = sandbox.project / f".claude/commands/{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if is_trusted:
        agree(sandbox.locations, sandbox.project, fingerprint(sandbox.project))
    return path


def test_command_limits_the_tools_and_chooses_the_model_of_its_run(sandbox: Sandbox):
    define(sandbox, "look", COMMIT)
    turns = [bash("touch made"), bash("git status -s"), finish("Looked.")]
    with ModelServer([finish("unasked")]) as one, ModelServer(turns) as two:
        write_profiles(sandbox, one, two)
        file = sandbox.locations.settings_file
        file.write_text(file.read_text().replace('calls = "text"', ""))
        done = sandbox.agent("run", "/look the files", "--model", "one", "--json", **KEYS)
    assert done.returncode == 0, done.stderr
    assert one.requests == []
    first, second, third = two.requests
    asked = first.messages[-1]["content"]
    assert asked.startswith("Look at the files.\n\n[/look allows only these tools")
    assert "execute_bash was not run: /look allows only these tools" in second.messages[-1]["content"]
    assert not (sandbox.project / "made").exists()
    assert "was not run" not in third.messages[-1]["content"]
    sent = next(event for event in map(json.loads, done.stdout.splitlines()) if event["kind"] == "user_message")
    assert sent["command"]["name"] == "look"


def test_next_message_is_not_limited_any_more(sandbox: Sandbox):
    define(sandbox, "look", "---\nallowed-tools: Read\n---\nLook.\n")
    script = sandbox.script(
        scripted_bash("touch denied"), scripted_finish("Looked."), scripted_bash("touch made"), scripted_finish("Made.")
    )
    arguments = ["--model", script, "--workspace", str(sandbox.project), "--mode", "high"]
    with Terminal(arguments, 120, 40, sandbox.env) as terminal:
        terminal.wait_for("Ask anything")
        terminal.type("/look")
        terminal.wait_for("Look. (project)")
        terminal.press("enter")
        terminal.wait_for("You · /look · tools: Read")
        terminal.wait_for("Looked.")
        terminal.type("now do it")
        terminal.press("enter")
        terminal.wait_for("Made.")
        wait_for((sandbox.project / "made").exists, "the second run to write")
        assert not (sandbox.project / "denied").exists()


def test_untrusted_commands_are_plain_text_and_named(sandbox: Sandbox):
    define(sandbox, "look", COMMIT, is_trusted=False)
    with ModelServer([finish("Done.")]) as server:
        arguments = ("--model", "openai/fake", "--api-base", server.base_url)
        done = sandbox.agent("run", "/look here", *arguments, OPENAI_API_KEY="sk-of-the-test")
    assert server.requests[0].messages[-1]["content"] == "/look here"
    assert f"the commands in {sandbox.project / '.claude/commands'} are ignored" in done.stderr
