"""Going back in the real program: the checkpoints, the preview, the rewind and the way back, in a pseudo terminal."""

from __future__ import annotations

from pathlib import Path

from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.session.storage.session_list import list_sessions

LINES = "".join(f"line {number}\n" for number in range(20))


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def started(sandbox: Sandbox) -> Terminal:
    """Return a terminal in which two runs have ended; the second one edits a file and deletes another in the shell."""
    (sandbox.project / "a.txt").write_text(LINES)
    (sandbox.project / "old.txt").write_text("old\n")
    model = sandbox.script(
        bash("sed -i s/^line.3$/LINE3/ a.txt"),
        finish("First done."),
        bash("sed -i s/^line.15$/LINE15/ a.txt; rm old.txt; echo new > new.txt"),
        finish("Second done."),
    )
    args = ["--model", model, "--mode", "never", "--workspace", str(sandbox.project)]
    return Terminal(args, 120, 36, sandbox.env)


def run_both(terminal: Terminal) -> None:
    terminal.never_ask()
    for message, answer in (("begin here", "First done."), ("go on there", "Second done.")):
        terminal.type(message)
        terminal.wait_for(message)
        terminal.press("enter")
        terminal.wait_for(answer)
        terminal.wait_until(lambda text: "Esc Stop" not in text and "Enter Send" in text, "the run to end")


def preview_the_second_message(terminal: Terminal) -> None:
    terminal.type("/rewind")
    terminal.press("enter")
    terminal.wait_for("4 checkpoints")
    terminal.type("there")
    terminal.wait_for("1 of 4 checkpoints")
    terminal.press("enter")
    terminal.wait_for("Rewind to before: go on there")


def test_session_goes_back_with_a_preview_keeps_the_users_edit_and_returns(sandbox: Sandbox):
    project = sandbox.project
    with started(sandbox) as terminal:
        run_both(terminal)
        later = read(project / "a.txt")
        (project / "a.txt").write_text(later + "my own line\n")

        preview_the_second_message(terminal)
        terminal.wait_for("3 files will change")
        preview = terminal.wait_for("create  old.txt")
        assert "merge   a.txt  you changed it too" in preview
        assert "delete  new.txt" in preview
        assert "create  old.txt" in preview
        terminal.press("d")
        terminal.wait_for("3 of 3 files to review")
        assert read(project / "a.txt") == later + "my own line\n"
        terminal.press("escape")
        terminal.wait_for("3 files will change")
        terminal.press("enter")

        terminal.wait_for("Undone by a rewind: 1 message and 2 actions")
        terminal.wait_until(lambda text: "go on there" in text and "Second done." not in text, "the earlier state")
        assert read(project / "a.txt") == LINES.replace("line 3\n", "LINE3\n") + "my own line\n"
        assert read(project / "old.txt") == "old\n"
        assert not (project / "new.txt").exists()

        terminal.press("f2")
        terminal.press("u")
        terminal.wait_for("Second done.")
        terminal.wait_until(lambda text: "Ask anything" in text, "the prompt to be empty again")
        assert read(project / "a.txt") == later + "my own line\n"
        assert not (project / "old.txt").exists()


def test_conflicting_file_is_kept_until_the_user_chooses_the_earlier_version(sandbox: Sandbox):
    project = sandbox.project
    with started(sandbox) as terminal:
        run_both(terminal)
        mine = read(project / "a.txt").replace("LINE15", "mine")
        (project / "a.txt").write_text(mine)
        preview_the_second_message(terminal)
        terminal.wait_for("keep    a.txt  you changed the same lines")
        terminal.press("end")
        terminal.type(" ")
        terminal.wait_for("write   a.txt  your lines are lost")
        terminal.press("f")
        terminal.wait_for("Files rewound to event")
        wait_for(lambda: "line 15\n" in read(project / "a.txt"), "the earlier version")
        assert "Second done." in terminal.text()


def test_nothing_is_rewound_while_the_agent_works(sandbox: Sandbox):
    model = sandbox.script(bash("while [ ! -e go ]; do sleep 0.05; done"), finish("Done."))
    args = ["wait", "--model", model, "--mode", "never", "--workspace", str(sandbox.project)]
    with Terminal(args, 110, 34, sandbox.env) as terminal:
        terminal.never_ask()
        terminal.wait_for("while [ ! -e go")
        terminal.type("/rewind")
        terminal.press("enter")
        assert "checkpoint" not in terminal.wait_for("the agent is working; stop it first (Esc)")
        (sandbox.project / "go").touch()
        terminal.wait_for("Done.")


def test_undone_part_can_be_read(sandbox: Sandbox):
    with started(sandbox) as terminal:
        run_both(terminal)
        terminal.press("f2")
        terminal.press("home")
        terminal.press("r")
        terminal.wait_for("4 checkpoints")
        terminal.press("enter")
        terminal.wait_for("Rewind to before: begin here")
        terminal.wait_for("will change")
        terminal.press("c")
        terminal.wait_for("Undone by a rewind: 2 messages and 4 actions")
        assert "LINE15" in read(sandbox.project / "a.txt")
        terminal.press("f2")
        terminal.press("home")
        terminal.press("enter")
        page = terminal.wait_until(lambda text: "q Close" in text and "go on there" in text, "the undone messages")
        assert "LINE15" in page


def test_row_of_the_timeline_forks_the_session_before_it(sandbox: Sandbox):
    with started(sandbox) as terminal:
        run_both(terminal)
        terminal.press("f2")
        terminal.press("home")
        terminal.type("f")
        terminal.wait_until(
            lambda text: "begin here" in text and "First done." not in text and "Second done." not in text,
            "the fork, with the message in its prompt",
        )
        fork, origin = sorted(list_sessions(sandbox.locations), key=lambda each: not each.forked_from)
        assert fork.forked_from == origin.id
