"""`ohw demo` in a pseudo terminal: the model gets the user's decisions, and the file gets what the question showed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.sandbox import Sandbox, wait_for
from tests.terminal.terminal import Terminal
from workbench.protocol.events import ActionDecided, ActionStarted, ModelResponded
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store

_CHANGED = re.compile(r"▌ +(?:\d+ +)+([−+]) (.*?) *$")


def shown_changes(picture: str) -> list[str]:
    """Return the changed lines of the diff in the open question, each with its `-` or `+`."""
    return [
        f"{'-' if sign == '−' else '+'}{text}"
        for sign, text in (found.groups() for found in map(_CHANGED.search, picture.splitlines()) if found)
    ]


def changes_on_disk(directory: Path) -> list[str]:
    diff = subprocess.run(["git", "diff", "-U0"], cwd=directory, capture_output=True, text=True, check=True).stdout
    return [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def test_rejection_gets_an_answer_and_an_approved_edit_is_written_as_shown(sandbox: Sandbox):
    with Terminal(["demo"], 130, 44, sandbox.env) as terminal:
        terminal.wait_until(lambda screen: "325000)" in screen and "y Approve" in screen, "the first question", 60)
        (session,) = list_sessions(sandbox.locations)
        directory = Path(session.workspace)
        assert changes_on_disk(directory) == []
        terminal.press("n")
        terminal.wait_for("Reason for the agent")
        terminal.type("the test is right")
        terminal.press("enter")
        terminal.wait_until(
            lambda screen: 'found["sign"]' in screen and "y Approve" in screen, "the second question", 60
        )
        changes = shown_changes(terminal.text())
        assert len(changes) == 3
        assert changes_on_disk(directory) == []
        terminal.press("y")
        terminal.wait_until(lambda screen: "rm -rf" in screen and "y Approve" in screen, "the third question", 60)
        assert changes_on_disk(directory) == changes
        assert re.search(r"deletes \d+ files? in ", terminal.text())  # the rating of our own analysis
        terminal.press("y")
        terminal.wait_for("✓ Finished", 60)
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
        assert "Its directory is deleted. Start the demo again with: ohw demo" in terminal.text()
    wait_for(lambda: not directory.parent.exists(), "the demo's directory to be deleted")
    with Store.open(session_path(sandbox.locations, session.id), readonly=True) as store:
        events = list(store.events())
    decided = [event for event in events if isinstance(event, ActionDecided) and event.by == "person"]
    assert [event.verdict for event in decided] == ["rejected", "approved", "approved"]
    assert decided[0].note == "the test is right"
    assert any("“the test is right”" in event.text for event in events if isinstance(event, ModelResponded))
    assert decided[0].action_id not in [event.action_id for event in events if isinstance(event, ActionStarted)]


def test_demo_that_is_not_finished_is_kept_and_resumed(sandbox: Sandbox):
    with Terminal(["demo"], 130, 44, sandbox.env) as terminal:
        terminal.wait_until(lambda screen: "325000)" in screen and "y Approve" in screen, "the first question", 60)
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
        (session,) = list_sessions(sandbox.locations)
        assert f"ohw resume {session.id}" in terminal.text()
    wait_for(lambda: not sandbox.engines(), "the engine to end")
    with Terminal(["resume", session.id], 130, 44, sandbox.env) as terminal:
        terminal.wait_until(lambda screen: "325000)" in screen and "y Approve" in screen, "the question again", 60)
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
