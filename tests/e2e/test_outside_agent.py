"""Another agent as a sub-agent, on the screen: its questions, what it changes, and stopping it."""

from __future__ import annotations

import json
import sys

import tests.fakes.acp_agent
from tests.sandbox import Sandbox, toml, wait_for
from tests.session.test_outside_agents import ask, ended
from tests.terminal.terminal import Terminal


def test_other_agent_asks_on_the_screen_changes_files_and_is_stopped(sandbox: Sandbox):
    turns = sandbox.home / "turns.json"
    command = [ask(rawInput={"command": "make notes"}), {"shell": "echo one > notes", "if_allowed": True}, ended()]
    quiet = [{"shell": "sleep 0.5; echo two > more"}, {"outlive": True}, {"until_canceled": False}]
    turns.write_text(json.dumps([[*command, *quiet]]))
    sandbox.locations.config.mkdir(parents=True)
    sandbox.locations.settings_file.write_text(
        f'sandbox = "off"\n[agents.helper]\ncommand = {toml(sys.executable)}\n'
        f"args = {toml([tests.fakes.acp_agent.__file__, str(turns)])}\n"
    )
    model = sandbox.script({"tool": "delegate", "arguments": {"agent": "helper", "inputs": "Take notes."}})
    with Terminal(["go", "--model", model, "--workspace", str(sandbox.project)], 130, 40, sandbox.env) as terminal:
        terminal.wait_until(lambda screen: "y Approve" in screen and "Start helper" in screen, "the start's question")
        terminal.press("y")
        terminal.wait_until(lambda screen: "y Approve" in screen and "make notes" in screen, "its own question")
        assert "sub-agent helper" in terminal.text()
        terminal.press("y")
        wait_for((sandbox.project / "more").exists, "what it changes without asking")
        terminal.wait_for("A notes")
        terminal.press("escape")
        terminal.wait_for("stopping")
        terminal.wait_for("The sub-agent was stopped.")
        terminal.wait_for("A more")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    wait_for(lambda: not sandbox.processes(), "every process to be gone")
    blamed = [sandbox.command("blame", name).stdout for name in ("notes", "more")]
    assert "helper: $ make notes" in blamed[0]
    assert "helper: Take notes." in blamed[1]
