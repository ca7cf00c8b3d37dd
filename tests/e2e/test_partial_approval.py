"""A change approved hunk by hunk, and one of a file that was changed meanwhile: screen, engine, file and model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.test_open_questions import log
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn, finish
from tests.sandbox import Sandbox
from tests.terminal.terminal import Terminal
from workbench.protocol.events import ActionDecided, ActionObserved, FilesChanged, FileText

BEFORE = "".join(f"line {number}\n" for number in range(1, 26))
AFTER = BEFORE.replace("line 2\n", "two\n").replace("line 12\n", "twelve\n").replace("line 23\n", "twenty-three\n")


def editor(**arguments: Any) -> Turn:
    risk = "LOW" if arguments["command"] == "view" else "MEDIUM"
    common = {"security_risk": risk, "summary": "use the editor", **arguments}
    return Turn(calls=(Called("str_replace_editor", common),))


def args(sandbox: Sandbox, server: ModelServer) -> tuple[str, ...]:
    return ("edit it", "--model", "openai/x", "--api-base", server.base_url, "--workspace", str(sandbox.project))


def result(server: ModelServer) -> str:
    """Return the last result that the model received."""
    return str(server.requests[-1].messages[-1]["content"])


def leave(terminal: Terminal) -> None:
    terminal.wait_for("✓ Finished")
    terminal.press("ctrl+q")
    assert terminal.wait_exit() == 0


def test_two_of_three_hunks_are_skipped_and_one_is_edited(sandbox: Sandbox):
    file = sandbox.project / "notes.txt"
    file.write_bytes(BEFORE.replace("\n", "\r\n").encode())
    file.chmod(0o640)
    turns = [editor(command="str_replace", path=str(file), old_str=BEFORE, new_str=AFTER), finish("As you wish.")]
    sandbox.env |= {"OPENAI_API_KEY": "sk-of-the-test", "VISUAL": "sed -i s/^twenty/about-twenty/"}
    with ModelServer(turns) as server, Terminal(args(sandbox, server), 110, 60, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        terminal.type(" ")
        terminal.wait_for("2 accepted")
        terminal.press("j")
        terminal.type(" ")
        terminal.wait_for("1 accepted")
        terminal.press("j")
        terminal.press("E")
        terminal.wait_until(
            lambda screen: "1 edited by you" in screen and "y Approve 1 of 3" in screen, "the answer to count"
        )
        terminal.press("y")
        leave(terminal)
        text = result(server)
    written = BEFORE.replace("line 23\n", "about-twenty-three\n").replace("\n", "\r\n").encode()
    assert file.read_bytes() == written
    assert file.stat().st_mode & 0o777 == 0o640
    assert "1 of 3 hunks accepted" in text
    assert "Hunk 1 (line 2): not accepted.\n-line 2\n+two\n" in text
    assert "Hunk 2 (line 12): not accepted.\n-line 12\n+twelve\n" in text
    assert "Hunk 3 (line 23): accepted, edited by the user.\n-twenty-three\n+about-twenty-three\n" in text
    assert "    23\tabout-twenty-three\n" in text


def test_change_by_another_program_is_merged_and_reported(sandbox: Sandbox):
    file = sandbox.project / "notes.txt"
    file.write_text(BEFORE)
    edit = editor(command="str_replace", path=str(file), old_str="line 2\n", new_str="two\n")
    turns = [editor(command="view", path=str(file)), lambda request: _after_a_change(file, edit), finish("Done.")]
    sandbox.env["OPENAI_API_KEY"] = "sk-of-the-test"
    with ModelServer(turns) as server, Terminal(args(sandbox, server), 110, 60, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        terminal.wait_for("notes.txt changed since the agent read it: +1 -1")
        terminal.wait_for("The other change to notes.txt")
        terminal.wait_for("+ 25, by somebody else")
        terminal.press("y")
        leave(terminal)
        text = result(server)
    assert file.read_text() == BEFORE.replace("line 2\n", "two\n").replace("line 25", "25, by somebody else")
    assert "notes.txt changed since you last saw it: +1 -1" in text
    assert "-line 25\n+25, by somebody else" in text


def _after_a_change(file: Path, turn: Turn) -> Turn:
    file.write_text(BEFORE.replace("line 25", "25, by somebody else"))
    return turn


def test_partial_change_is_logged_once_and_attributed_to_the_agent(sandbox: Sandbox):
    file = sandbox.project / "notes.txt"
    file.write_text(BEFORE)
    turns = [editor(command="str_replace", path=str(file), old_str=BEFORE, new_str=AFTER), finish("As you wish.")]
    sandbox.env["OPENAI_API_KEY"] = "sk-of-the-test"
    with ModelServer(turns) as server, Terminal(args(sandbox, server), 110, 60, sandbox.env) as terminal:
        terminal.wait_for("y Approve")
        terminal.type(" ")
        terminal.wait_for("y Approve 2 of 3")
        terminal.press("y")
        leave(terminal)
    written = AFTER.replace("two\n", "line 2\n")
    events = log(sandbox)
    changes = [event.files_changed for event in events if isinstance(event, ActionObserved) and event.files_changed]
    assert [[(delta.before, delta.after) for delta in files] for files in changes] == [[(BEFORE, written)]]
    assert not [event for event in events if isinstance(event, FilesChanged)]
    (decided,) = [event for event in events if isinstance(event, ActionDecided) and event.by == "person"]
    assert decided.written == (FileText(path=str(file), text=written),)
    assert decided.hunks == (1, 2)
