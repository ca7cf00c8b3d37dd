"""A plan is approved with one key or command; its actions then run as the chosen mode allows."""

from __future__ import annotations

import pytest

from tests.e2e.test_modes import modes
from tests.e2e.test_open_questions import log
from tests.plain.test_plain import asked, leave
from tests.sandbox import Sandbox, wait_for
from tests.terminal.terminal import Terminal
from workbench.protocol.events import ActionDecided, UserMessage
from workbench.view.approval.plan import RUN_PLAN

SCRIPT = """\
[[turn]]
name = "plan"
text = "I would create a.txt in the workspace."

[[turn]]
name = "edit"
when = { user = "carry it out" }
[[turn.call]]
tool = "str_replace_editor"
risk = "LOW"
arguments = { command = "create", path = "{workspace}/a.txt", file_text = "made" }

[[turn]]
name = "end"
[[turn.call]]
tool = "finish"
arguments = { message = "As planned." }
"""


def arguments(sandbox: Sandbox, *more: str) -> list[str]:
    path = sandbox.home / "plan.toml"
    path.write_text(SCRIPT)
    return ["plan it", "--model", f"scripted/{path}", "--mode", "plan", "--workspace", str(sandbox.project), *more]


def deciders(sandbox: Sandbox) -> list[tuple[str, str]]:
    return [(event.by, event.rule) for event in log(sandbox) if isinstance(event, ActionDecided)]


@pytest.mark.parametrize("key", ["y", "e"])
def test_key_runs_the_plan_in_its_mode(sandbox: Sandbox, key: str):
    with Terminal(arguments(sandbox), 120, 34, sandbox.env) as terminal:
        terminal.wait_for("Plan ready")
        terminal.wait_for("Keep planning")
        assert not (sandbox.project / "a.txt").exists()
        terminal.press(key)
        if key == "y":
            terminal.wait_until(lambda screen: "y Approve   " in screen and "Create a.txt" in screen, "the edit")
            terminal.press("y")
        terminal.wait_for("As planned.")
        terminal.press("ctrl+q")
        terminal.wait_exit()
    assert (sandbox.project / "a.txt").read_text() == "made"
    assert modes(sandbox) == ["medium" if key == "y" else "edits"]
    assert [event.text for event in log(sandbox) if isinstance(event, UserMessage)] == ["plan it", RUN_PLAN]
    assert deciders(sandbox)[0] == (("person", "") if key == "y" else ("mode", 'mode "Accept edits"'))


def test_plain_mode_runs_it_by_a_command(sandbox: Sandbox):
    with Terminal(arguments(sandbox, "--plain"), 100, 150, sandbox.env) as terminal:
        terminal.wait_for("The plan is ready")
        asked(terminal, "\n>")
        terminal.type("/approve never\n")
        terminal.wait_for("not in never")
        terminal.type("/approve edits\n")
        terminal.wait_for("As planned.")
        asked(terminal, "\n>")
        terminal.type("/approve\n")
        terminal.wait_for("No plan waits")
        leave(terminal)
    wait_for((sandbox.project / "a.txt").exists, "the file")
    assert modes(sandbox) == ["edits"]
