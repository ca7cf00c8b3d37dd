"""`ohw attach` in the real program: several screens on one session, of which one controls it."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.terminal import Terminal
from workbench.session.storage.session_list import list_sessions
from workbench.view.approval.quiet_time import QUIET

SLOW = "for i in 1 2 3; do echo step-$((i * 111)); sleep 0.2; done; while [ ! -e go ]; do sleep 0.1; done"


def started(sandbox: Sandbox, *calls: dict[str, object]) -> Terminal:
    args = ["--model", sandbox.script(*calls), "--workspace", str(sandbox.project)]
    terminal = Terminal(args, 120, 36, sandbox.env)
    terminal.wait_for("What should we work on?")
    return terminal


def attached(sandbox: Sandbox, *args: str) -> Terminal:
    return Terminal(["attach", *args], 120, 36, sandbox.env, cwd=sandbox.project)


def send(terminal: Terminal, text: str) -> None:
    terminal.type(text)
    terminal.wait_for(text)
    terminal.press("enter")


def answer(terminal: Terminal) -> None:
    """Press the key that approves, once the question accepts one."""
    terminal.wait_for("y Approve")
    time.sleep(QUIET + 0.2)
    terminal.press("y")


def conversation(terminal: Terminal) -> list[str]:
    """Return the conversation, without the lines that say which screen controls the session."""
    rows = terminal.text().split("\n")[1:-6]
    return [row.rstrip() for row in rows if "screen" not in row]


def same(one: Terminal, two: Terminal) -> Callable[[], bool]:
    def are_equal() -> bool:
        return conversation(one) == conversation(two)

    return are_equal


def test_two_screens_see_the_same_and_control_passes_on_request(sandbox: Sandbox):
    with started(sandbox, bash(SLOW), bash("touch approved", risk="HIGH"), finish("All done.")) as first:
        send(first, "begin here")
        first.wait_for("step-333")
        with attached(sandbox) as second:
            second.wait_for("step-333")  # written before it attached
            assert "read-only" in second.wait_for("another screen controls this session")
            first.wait_for("Another screen of yours is attached")
            wait_for(same(first, second), "both screens to show the same")

            (sandbox.project / "go").touch()
            first.wait_for("touch approved")
            second.wait_for("touch approved")

            answer(second)
            second.wait_until(lambda text: text.count("Read-only") >= 3, "the refusal, above the question")
            assert not (sandbox.project / "approved").exists()
            second.press("escape")
            second.wait_for("1 action needs approval")
            send(second, "/pen")
            second.wait_for("This screen controls the session now")
            assert "read-only" in first.wait_for("Another screen took control")
            answer(first)
            first.wait_for("/pen takes control")
            assert not (sandbox.project / "approved").exists()

            second.press("f8")
            answer(second)
            second.wait_for("All done.")
            first.wait_for("All done.")
            assert (sandbox.project / "approved").exists()
        first.wait_for("This screen controls the session now")
        wait_for(lambda: "read-only" not in first.text().split("\n")[0], "the first screen to be in control again")
        send(first, "one more")
        first.wait_for("My script is over")


def test_attach_needs_a_running_session(sandbox: Sandbox):
    assert "not a terminal" in sandbox.command("attach").stderr
    with attached(sandbox) as terminal:
        assert "no session is running" in terminal.wait_for("ohw resume")
        assert terminal.wait_exit() == 2
    with attached(sandbox, "nothing") as terminal:
        terminal.wait_for("there is no session 'nothing'")
    with started(sandbox, finish("All done.")) as first:
        send(first, "begin here")
        first.wait_for("All done.")
    wait_for(lambda: not sandbox.processes(), "the engine to end")
    (session,) = list_sessions(sandbox.locations)
    with attached(sandbox, session.id) as terminal:
        assert f"ohw resume {session.id}" in terminal.wait_for("is not running").replace("\n", "")


def test_attach_finds_the_running_session_of_any_directory_but_never_guesses(sandbox: Sandbox):
    elsewhere = sandbox.home / "elsewhere"
    elsewhere.mkdir()
    with started(sandbox, bash("touch x", risk="HIGH")) as first:
        send(first, "begin here")
        first.wait_for("Approve")
        with Terminal(["attach"], 120, 36, sandbox.env, cwd=elsewhere) as second:
            second.wait_for("touch x")
            second.wait_for("Read-only")
        with started(sandbox, bash("touch y", risk="HIGH")) as other:
            send(other, "begin there")
            other.wait_for("Approve")
            with attached(sandbox) as third:
                shown = third.wait_for("several sessions are running")
                assert all(session.id in shown.replace("\n", "") for session in list_sessions(sandbox.locations))
