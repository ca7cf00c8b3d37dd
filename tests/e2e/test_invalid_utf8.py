"""Bytes that are not UTF-8 enter the real binary by command line, keyboard and file names."""

from __future__ import annotations

import os

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import bash
from tests.fakes.model_turns import finish as wire_finish
from tests.sandbox import Sandbox, finish, wait_for
from tests.terminal.terminal import Terminal


def screen(sandbox: Sandbox, *args: str) -> Terminal:
    model = sandbox.script(finish("All done."), finish("Again done."))
    return Terminal([*args, "--model", model, "--workspace", str(sandbox.project)], 110, 34, sandbox.env)


def still_works(terminal: Terminal) -> bool:
    """Check that another message reaches the agent and that the screen exits cleanly."""
    terminal.wait_for("All done.")
    terminal.type("and on")
    terminal.press("enter")
    terminal.wait_for("Again done.")
    terminal.press("ctrl+q")
    return terminal.wait_exit() == 0 and "Traceback" not in terminal.text()


@pytest.mark.parametrize("prompt", ["say caf\udce9", "see @caf\udce9.txt", "\udcff\udcfe\udc80"])
def test_first_message_with_invalid_utf8_is_sent(sandbox: Sandbox, prompt: str):
    (sandbox.project / "caf\udce9.txt").write_text("held inside\n")
    with screen(sandbox, prompt) as terminal:
        terminal.wait_for("\ufffd")
        assert still_works(terminal)


def test_invalid_bytes_that_are_typed_or_pasted_become_replacement_characters(sandbox: Sandbox):
    with screen(sandbox) as terminal:
        terminal.wait_for("Ask anything")
        terminal.process.send(b"caf\xe9 ")
        terminal.wait_for("caf\ufffd")
        terminal.process.send(b"\x1b[200~gar\xe7on\x1b[201~")
        terminal.wait_for("gar\ufffdon")
        terminal.press("enter")
        assert still_works(terminal)


def test_session_runs_in_a_directory_whose_name_is_not_utf8(sandbox: Sandbox):
    directory = sandbox.project / "d\udce9"
    directory.mkdir()
    (directory / "caf\udce9.txt").write_text("x")
    sandbox.project = directory
    with screen(sandbox, "look") as terminal:
        assert still_works(terminal)


def test_session_in_a_directory_whose_name_is_not_utf8_is_resumed_listed_and_exported(sandbox: Sandbox):
    directory = sandbox.project / "d\udce9"
    directory.mkdir()
    sandbox.project = directory
    with screen(sandbox, "look") as terminal:
        assert still_works(terminal)
    (name,) = [path.stem for path in sandbox.locations.sessions.glob("*.session")]
    with Terminal(["resume", name], 110, 34, sandbox.env) as terminal:
        terminal.wait_for("Again done.")
        terminal.type("!pwd > here")
        terminal.wait_for("!pwd > here")
        terminal.press("enter")
        wait_for((directory / "here").exists, "a command to run there")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
        assert "Traceback" not in terminal.text()
    assert (directory / "here").read_bytes() == os.fsencode(directory) + b"\n"
    assert name in sandbox.command("sessions").stdout
    for how in ("--markdown", "--html", "--svg", "--cast", "--jsonl"):
        done = sandbox.command("export", how, "-o", str(sandbox.home / f"x{how}"), name)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), how
    taken = sandbox.command("import", str(sandbox.home / "x--jsonl"))
    assert taken.returncode == 0, taken.stderr


def test_model_over_http_works_in_a_directory_whose_name_is_not_utf8(sandbox: Sandbox):
    directory = sandbox.project / "d\udce9"
    directory.mkdir()
    sandbox.project = directory
    with ModelServer([bash("touch made-it"), wire_finish("Made it.")]) as server:
        more = {"OHW_API_KEY": "x"}
        done = sandbox.ohw("run", "go", "--model", "openai/x", "--api-base", server.base_url, "--mode", "high", **more)
    assert (done.returncode, done.stdout) == (0, "Made it.\n"), done.stderr
    assert "Traceback" not in done.stderr
    assert (directory / "made-it").exists()


def test_file_whose_name_is_not_utf8_is_chosen_from_the_list_and_sent(sandbox: Sandbox):
    (sandbox.project / "caf\udce9.txt").write_text("held inside\n")
    with screen(sandbox) as terminal:
        terminal.wait_for("Ask anything")
        terminal.type("see @caf")
        terminal.wait_for(r"caf\udce9.txt")
        terminal.press("tab")
        terminal.type(" now")
        terminal.wait_for("now")
        terminal.press("enter")
        assert still_works(terminal)


def test_plain_mode_and_headless_runs_send_invalid_utf8(sandbox: Sandbox):
    arguments = ("say caf\udce9", "--model", sandbox.script(finish("All done.")), "--workspace", str(sandbox.project))
    with Terminal(["--plain", *arguments], 110, 34, sandbox.env) as terminal:
        terminal.wait_for("All done.")
        terminal.type("/quit\r")
        assert terminal.wait_exit() == 0
        assert "Traceback" not in terminal.text()
    done = sandbox.ohw("run", *arguments)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
