"""What people do every day takes at most as many keystrokes as in the best of the peers; counted in the real program.

A typed word and a paste count as one keystroke each; the text of a task and of a key are not counted.
"""

from __future__ import annotations

import base64

from tests.e2e.test_modes import modes
from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.session.storage.session_list import list_sessions


class Hands:
    """Presses keys and types words into a terminal, and counts them."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._count = 0

    def press(self, key: str) -> None:
        self._count += 1
        self.terminal.press(key)

    def command(self, line: str) -> None:
        """Type a line, one keystroke a word, and send it once it is in the prompt."""
        self._count += len(line.split())
        self.terminal.type(line)
        self.terminal.wait_for(line)
        self.press("enter")

    def count(self) -> int:
        """Return the keystrokes since the last call."""
        count, self._count = self._count, 0
        return count


def test_approvals_take_one_key_and_never_again_two(sandbox: Sandbox):
    run = [bash("python3 -m unittest", risk="MEDIUM"), bash("python3 -m unittest", risk="MEDIUM"), finish("Tested.")]
    model = sandbox.script(bash("touch one", risk="MEDIUM"), *run)
    with Terminal(["test it", "--model", model, "--workspace", str(sandbox.project)], 120, 34, sandbox.env) as terminal:
        hands = Hands(terminal)
        terminal.wait_for("touch one")
        terminal.wait_for("y Approve")
        hands.press("y")
        wait_for((sandbox.project / "one").exists, "the command to be run")
        assert hands.count() == 1
        terminal.wait_until(lambda screen: "▌ $ python3" in screen and "y Approve" in screen, "the second question")
        hands.press("a")
        terminal.wait_for("y Save the rule and approve")
        hands.press("y")
        terminal.wait_for("Tested.")
        assert hands.count() == 2
        terminal.press("ctrl+q")


def test_modes_models_sessions_copying_and_leaving_take_one_or_two_keystrokes(sandbox: Sandbox):
    model = sandbox.script(finish("The first answer."))
    sandbox.locations.config.mkdir(parents=True)
    sandbox.locations.settings_file.write_text('[models.deep]\nmodel = "scripted/demo"\n')
    with Terminal(["begin", "--model", model, "--workspace", str(sandbox.project)], 120, 34, sandbox.env) as terminal:
        hands = Hands(terminal)
        terminal.wait_for("The first answer.")
        hands.press("shift+tab")
        wait_for(lambda: modes(sandbox) == ["edits"], "edits to be accepted")
        assert hands.count() == 1
        hands.command("/mode plan")
        wait_for(lambda: modes(sandbox)[-1] == "plan", "the mode for planning")
        assert hands.count() <= 3
        hands.press("alt+y")
        copied = base64.b64encode(b"The first answer.")
        wait_for(lambda: terminal.text() and copied in terminal.raw, "the answer to be copied")
        assert hands.count() == 1
        hands.command("/model deep")
        terminal.wait_for("Model changed to: deep")
        assert hands.count() <= 3
        hands.command("/new")
        terminal.wait_for("What should we work on?")
        wait_for(lambda: len(list_sessions(sandbox.locations)) == 2, "the new session")
        assert hands.count() == 2
        hands.press("ctrl+d")
        assert terminal.wait_exit() == 0
        assert hands.count() == 1
