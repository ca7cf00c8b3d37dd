"""Keys, pastes and clicks that arrive while a question opens do not answer it; a swapped file is asked about again."""

from __future__ import annotations

import time

from tests.e2e.test_open_questions import ask, kinds, log, say
from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.protocol.events import UserMessage

BETWEEN_KEYS = 1 / 200
SENTENCE = "yes and no n y n y to all of it "


def test_200_keys_a_second_answer_no_question_and_reach_the_prompt(sandbox: Sandbox):
    model = sandbox.script(bash("echo ran >> made-it", risk="HIGH"), finish("As you wish."))
    with Terminal(("--model", model, "--workspace", str(sandbox.project)), 110, 34, sandbox.env) as terminal:
        terminal.wait_for("Ask anything")
        say(terminal, "make the file")
        typed = ""
        until = time.monotonic() + 60
        while time.monotonic() < until and not ("needs approval · F8" in terminal.text() and len(typed) > 400):
            for letter in SENTENCE:
                terminal.type(letter)
                time.sleep(BETWEEN_KEYS)
            typed += SENTENCE
        terminal.wait_for("needs approval · F8")
        assert "action_decided" not in kinds(sandbox)
        terminal.press("enter")
        wait_for(lambda: kinds(sandbox).count("user_message") == 2, "the message to be in the log")
        assert [event.text for event in log(sandbox) if isinstance(event, UserMessage)][1].strip() == typed.strip()
        assert "action_decided" not in kinds(sandbox)
        assert not (sandbox.project / "made-it").exists()
        terminal.press("ctrl+q")
        terminal.wait_exit()


def test_paste_with_y_and_enter_and_a_focusing_click_approve_nothing(sandbox: Sandbox):
    with Terminal(ask(sandbox), 110, 34, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        terminal.type("\x1b[O\x1b[I\x1b[<0;40;17M\x1b[<0;40;17m")  # the window is brought to the front by a click
        terminal.wait_for("y Approve")
        terminal.paste("y\r")
        terminal.wait_until(lambda screen: "Esc Not now" not in screen, "the paste to go to the prompt")
        assert "action_decided" not in kinds(sandbox)
        terminal.press("backspace")
        terminal.press("backspace")
        terminal.press("f8")
        terminal.wait_for("y Approve")
        terminal.press("y")
        terminal.wait_for("As you wish.")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert (sandbox.project / "made-it").read_text() == "ran\n"


def test_approval_after_the_file_was_swapped_asks_again(sandbox: Sandbox):
    file = sandbox.project / "settings.txt"
    file.write_text("size = 1\n")
    arguments = {"command": "str_replace", "path": str(file), "old_str": "size = 1", "new_str": "size = 2"}
    edit = {"tool": "str_replace_editor", "risk": "MEDIUM", "arguments": arguments}
    start = ("make it", "--model", sandbox.script(edit, finish("As you wish.")), "--workspace", str(sandbox.project))
    with Terminal(start, 110, 34, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        file.write_text("# theirs\nsize = 1\n")
        terminal.press("y")
        wait_for(lambda: kinds(sandbox).count("action_assessed") == 2, "the question to be asked again")
        terminal.wait_for("# theirs")
        assert file.read_text() == "# theirs\nsize = 1\n"
        terminal.wait_for("y Approve")
        terminal.press("y")
        terminal.wait_for("As you wish.")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert file.read_text() == "# theirs\nsize = 2\n"
