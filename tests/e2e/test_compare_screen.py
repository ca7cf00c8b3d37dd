"""Two futures of one session are compared on the screen of the real program, and one hunk is taken over."""

from __future__ import annotations

import json
from pathlib import Path

from tests.sandbox import Sandbox, bash, finish
from tests.terminal.terminal import Terminal
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store

LINES = "".join(f"line {number}\n" for number in range(40))


FIRST = (bash("sed -i s/^line.3$/LINE3/ a.txt"), finish("First done."))


def two_futures(sandbox: Sandbox) -> tuple[str, str, Path]:
    """Run a session, fork it into a directory of its own, and let the fork change two hunks; both have gone on."""
    (sandbox.project / "a.txt").write_text(LINES)
    done = sandbox.ohw("run", "go", "--json", "--mode", "never", "--model", sandbox.script(*FIRST))
    session = str(json.loads(done.stdout.splitlines()[0])["id"])
    done = sandbox.command("fork", session, "--worktree")
    fork = done.stdout.split()[0]
    directory = Path(done.stdout.split("Its directory: ")[1].splitlines()[0])
    with resumed(sandbox, fork, "sed -i 's/^line.15$/FORK15/; s/^line.35$/FORK35/' a.txt") as terminal:
        go_on(terminal, "on in the fork")
    return session, fork, directory


def resumed(sandbox: Sandbox, session: str, command: str) -> Terminal:
    """Return a terminal with a session, whose agent runs a command next."""
    model = sandbox.script(*FIRST, bash(command), finish("Then done."))
    return Terminal(["resume", session, "--model", model], 120, 36, sandbox.env)


def go_on(terminal: Terminal, message: str) -> None:
    terminal.wait_for("First done.")
    terminal.type(message)
    terminal.wait_for(message)
    terminal.press("enter")
    if "y Approve" in terminal.wait_until(lambda text: "y Approve" in text or "Then done." in text, "an answer"):
        terminal.press("y")
    terminal.wait_for("Then done.")
    terminal.wait_until(lambda text: "Esc Stop" not in text and "Enter Send" in text, "the run to end")


def test_hunk_of_the_other_future_is_taken_over_after_approval(sandbox: Sandbox):
    session, fork, directory = two_futures(sandbox)
    mine = sandbox.project / "a.txt"
    with resumed(sandbox, session, "sed -i s/^line.35$/MINE35/ a.txt") as terminal:
        go_on(terminal, "on here")
        mine.write_text(mine.read_text() + "my own line\n")
        terminal.type(f"/compare {fork}")
        terminal.press("enter")
        page = terminal.wait_for("1 file of")
        assert "Both share" in page
        assert "M a.txt" in page
        terminal.press("enter")
        terminal.wait_for("x Apply")
        terminal.press("x")
        terminal.wait_for(f"Apply hunk 1 of a.txt from {fork}?")
        before = mine.read_text()
        terminal.press("n")
        terminal.wait_for("Not applied")
        assert mine.read_text() == before
        terminal.press("x")
        terminal.wait_for("y Apply")
        terminal.press("y")
        terminal.wait_for("Applied hunk 1 of a.txt")
        assert mine.read_text() == before.replace("line 15\n", "FORK15\n")
        assert "MINE35\n" in mine.read_text()
        terminal.press("u")
        terminal.wait_for("Reverted hunk 1 of a.txt")
        assert mine.read_text() == before
    assert "line 35" not in (directory / "a.txt").read_text()
    with Store.open(session_path(sandbox.locations, session), readonly=True) as store:
        changes = [event for event in store.events() if event.kind == "files_changed" and event.by == "person"]
    assert [event.session for event in changes] == [fork, ""]
