"""The real command: a file changes under an open question, while keys that approve are pressed without a pause."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.test_open_questions import log
from tests.e2e.test_partial_approval import BEFORE, args, editor, leave
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import finish
from tests.sandbox import Sandbox
from tests.terminal.terminal import Terminal
from workbench.protocol.events import ActionAssessed, ActionDecided, ActionStarted

MINE = BEFORE.replace("line 4\n", "four by me\n")


def started_on(sandbox: Sandbox) -> list[str | None]:
    """Return, for each action that ran, the content that was shown when the user approved it."""
    shown: dict[str, str | None] = {}
    approved: dict[str, str | None] = {}
    contents: list[str | None] = []
    for event in log(sandbox):
        if isinstance(event, ActionAssessed):
            shown[event.fingerprint] = event.preview[0].before if event.preview else ""
        elif isinstance(event, ActionDecided):
            approved[event.action_id] = shown.get(event.fingerprint)
        elif isinstance(event, ActionStarted) and event.action_id in approved:
            contents.append(approved[event.action_id])
    return contents


def write(file: Path, content: str) -> None:
    file.with_name("new").write_text(content)
    file.with_name("new").replace(file)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_keys_at_the_moment_of_a_change_never_approve_what_was_not_shown(
    sandbox: Sandbox, size: tuple[int, int]
) -> None:
    """Whichever side is faster, nothing runs on content that was not on the screen."""
    file = sandbox.project / "notes.txt"
    file.write_text(BEFORE)
    turns = [editor(command="str_replace", path=str(file), old_str="line 2\n", new_str="two\n"), finish("As you wish.")]
    sandbox.env |= {"OPENAI_API_KEY": "sk-of-the-test"}
    with ModelServer(turns) as server, Terminal(args(sandbox, server), *size, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        write(file, MINE)
        for _ in range(20):
            terminal.press("y")

        def shows_the_new_content(screen: str) -> bool:
            if "Esc Not now" not in screen and "needs approval · F8" in screen:  # the keys went to the prompt
                terminal.press("f8")
            return "four by me" in screen and "Esc Not now" in screen

        terminal.wait_until(shows_the_new_content, "the new content")
        assert file.read_text() == MINE
        terminal.wait_until(lambda screen: "y Approve" in screen, "the answer to count")
        terminal.press("y")
        leave(terminal)
    assert file.read_text() == MINE.replace("line 2\n", "two\n")
    assert started_on(sandbox) == [MINE, ""]  # the edit and `finish`, which writes nothing
