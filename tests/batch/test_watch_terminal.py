"""`ohw batch watch` in a real terminal, on a real run: an attempt, its diff and its session, and back."""

from __future__ import annotations

from tests.batch.runs import FINISH, QUICK, WRITE, outcomes, run_batch, sessions, start_batch, task, write_tasks
from tests.batch.watched import finished_run
from tests.sandbox import Sandbox, bash, wait_for
from tests.terminal.terminal import Terminal


def test_attempt_its_diff_and_its_session_are_opened_from_a_run(sandbox: Sandbox):
    tasks = write_tasks(sandbox, task(1), task(2, check="echo no luck; false"))
    run_batch(sandbox, tasks, "-o", "run", "--model", sandbox.script(WRITE, FINISH), "--max-parallel", "2")
    before = sessions(sandbox)
    with Terminal(["batch", "watch", "run"], 110, 32, {**sandbox.env, **QUICK}, cwd=sandbox.project) as terminal:
        terminal.wait_for("2 of 2")
        terminal.press("f", "f")
        terminal.wait_for("1 of 2 tasks · unsolved")
        terminal.press("enter")
        terminal.wait_for("no luck")
        terminal.press("d")
        terminal.wait_for("made.txt")
        terminal.press("escape")
        terminal.wait_for("t Timeline")
        terminal.press("t")
        terminal.wait_for("read-only")
        text = terminal.wait_for("Ctrl+Q returns to the run")
        assert "Make the file." in text
        terminal.press("ctrl+q")
        terminal.wait_for("no luck")
        terminal.press("escape")
        terminal.wait_for("1 of 2 tasks · unsolved")
        terminal.press("q")
        assert terminal.wait_exit() == 0
        assert "ohw resume" not in terminal.text()
    assert sessions(sandbox) == before
    assert not sandbox.engines()


def test_question_of_a_running_attempt_is_answered_from_the_watched_run(sandbox: Sandbox):
    tasks = write_tasks(sandbox, task(1))
    model = sandbox.script(bash("touch made.txt && echo made > made.txt", "HIGH"), FINISH)
    with start_batch(sandbox, tasks, "-o", "run", "--model", model, "--wait", "3") as process:
        wait_for(lambda: next(sandbox.project.glob("run/attempts/*/question"), None), "a question")
        with Terminal(["batch", "watch", "run"], 110, 32, {**sandbox.env, **QUICK}, cwd=sandbox.project) as terminal:
            terminal.wait_for("1 waiting for an answer")
            terminal.press("enter")
            terminal.wait_for("a Answer")
            terminal.press("a")
            terminal.wait_for("y Approve")
            terminal.press("y")
            terminal.wait_for("Finished")
            process.communicate(timeout=100)
            terminal.press("ctrl+q")
            terminal.wait_for("✓ solved")
            terminal.press("escape")
            terminal.wait_for("1 of 1")
            terminal.press("q")
            assert terminal.wait_exit() == 0
    assert outcomes(sandbox)["t1"].state == "solved"
    assert not sandbox.engines()


def test_pages_of_an_opened_attempt_are_about_its_own_session(sandbox: Sandbox):
    """Its session is neither stored nor listed where the user's own sessions are."""
    tasks = write_tasks(sandbox, task(1, mode="edits"))
    model = sandbox.script(WRITE, bash("touch other.txt", "HIGH"), FINISH)
    with start_batch(sandbox, tasks, "-o", "run", "--model", model, "--wait", "3") as process:
        wait_for(lambda: next(sandbox.project.glob("run/attempts/*/question"), None), "a question")
        with Terminal(["batch", "watch", "run"], 110, 32, {**sandbox.env, **QUICK}, cwd=sandbox.project) as terminal:
            terminal.wait_for("1 waiting for an answer")
            terminal.press("enter")
            terminal.wait_for("a Answer")
            terminal.press("a")
            terminal.wait_for("y Approve")
            terminal.press("escape")
            _check_pages(terminal, sandbox, "running.md")
            terminal.press("f8")
            terminal.wait_for("y Approve")
            terminal.press("y")
            terminal.wait_for("Finished")
            process.communicate(timeout=100)
            terminal.press("ctrl+q")
            terminal.wait_for("t Timeline")
            terminal.press("t")
            terminal.wait_for("Ctrl+Q returns to the run")
            _check_pages(terminal, sandbox, "ended.md")
            terminal.press("ctrl+q")
            terminal.wait_for("t Timeline")
            terminal.press("q", "q")
            assert terminal.wait_exit() == 0


def _check_pages(terminal: Terminal, sandbox: Sandbox, file: str) -> None:
    for command, words in (
        ("/rewind", "checkpoint"),
        ("/cost", "By model"),
        ("/decisions", "made.txt new"),
    ):
        terminal.type(command)
        terminal.press("enter")
        terminal.wait_for(words)
        terminal.press("escape")
        terminal.wait_until(lambda text, words=words: words not in text and "/ commands" in text, "the main screen")
    terminal.type(f"/export {file}")
    terminal.wait_for(f"/export {file}")
    terminal.press("enter")
    written = sandbox.project / file
    wait_for(lambda: written.exists() and "Make the file." in written.read_text(), "the export")


def test_watch_needs_a_run_and_a_terminal(sandbox: Sandbox):
    assert "there is no run in" in sandbox.command("batch", "watch", "nowhere").stderr
    finished_run(sandbox.project / "run")
    process = sandbox.command("batch", "watch", "run")
    assert (process.returncode, "ohw batch report" in process.stderr) == (2, True)
