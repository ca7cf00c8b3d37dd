"""Bytes that are no UTF-8, on every way into the real binary: the command line, the keyboard, names of files."""

from __future__ import annotations

import os

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import bash
from tests.fakes.model_turns import finish as wire_finish
from tests.sandbox import World, finish, wait_for
from tests.terminal.terminal import Terminal


def screen(world: World, *args: str) -> Terminal:
    model = world.script(finish("All done."), finish("Again done."))
    return Terminal([*args, "--model", model, "--workspace", str(world.project)], 110, 34, world.env)


def still_works(terminal: Terminal) -> bool:
    """Whether a message more reaches the agent, and the screen ends in order."""
    terminal.wait_for("All done.")
    terminal.type("and on")
    terminal.press("enter")
    terminal.wait_for("Again done.")
    terminal.press("ctrl+q")
    return terminal.wait_exit() == 0 and "Traceback" not in terminal.text()


@pytest.mark.parametrize("prompt", ["say caf\udce9", "see @caf\udce9.txt", "\udcff\udcfe\udc80"])
def test_a_first_message_with_such_a_byte_is_sent(world: World, prompt: str):
    (world.project / "caf\udce9.txt").write_text("held inside\n")
    with screen(world, prompt) as terminal:
        terminal.wait_for("\ufffd")
        assert still_works(terminal)


def test_such_bytes_typed_and_pasted_arrive_as_replacement_characters(world: World):
    with screen(world) as terminal:
        terminal.wait_for("Ask anything")
        terminal.process.send(b"caf\xe9 ")
        terminal.wait_for("caf\ufffd")
        terminal.process.send(b"\x1b[200~gar\xe7on\x1b[201~")
        terminal.wait_for("gar\ufffdon")
        terminal.press("enter")
        assert still_works(terminal)


def test_a_folder_with_such_a_name_is_worked_in(world: World):
    folder = world.project / "d\udce9"
    folder.mkdir()
    (folder / "caf\udce9.txt").write_text("x")
    world.project = folder
    with screen(world, "look") as terminal:
        assert still_works(terminal)


def test_a_session_in_a_folder_with_such_a_name_is_resumed_listed_and_exported(world: World):
    folder = world.project / "d\udce9"
    folder.mkdir()
    world.project = folder
    with screen(world, "look") as terminal:
        assert still_works(terminal)
    (name,) = [path.stem for path in world.locations.sessions.glob("*.session")]
    with Terminal(["resume", name], 110, 34, world.env) as terminal:
        terminal.wait_for("Again done.")
        terminal.type("!pwd > here")
        terminal.wait_for("!pwd > here")
        terminal.press("enter")
        wait_for((folder / "here").exists, "a command to run there")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
        assert "Traceback" not in terminal.text()
    assert (folder / "here").read_bytes() == os.fsencode(folder) + b"\n"
    assert name in world.ohw("sessions").stdout
    for how in ("--markdown", "--html", "--svg", "--cast", "--jsonl"):
        done = world.ohw("export", how, "-o", str(world.home / f"x{how}"), name)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), how
    taken = world.ohw("import", str(world.home / "x--jsonl"))
    assert taken.returncode == 0, taken.stderr


def test_a_model_over_the_wire_works_in_a_folder_with_such_a_name(world: World):
    folder = world.project / "d\udce9"
    folder.mkdir()
    world.project = folder
    with ModelServer([bash("touch made-it"), wire_finish("Made it.")]) as server:
        more = {"OHW_API_KEY": "x"}
        done = world.ohw("run", "go", "--model", "openai/x", "--api-base", server.base_url, "--mode", "high", **more)
    assert (done.returncode, done.stdout) == (0, "Made it.\n"), done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "made-it").exists()


def test_a_name_chosen_from_the_list_is_sent(world: World):
    (world.project / "caf\udce9.txt").write_text("held inside\n")
    with screen(world) as terminal:
        terminal.wait_for("Ask anything")
        terminal.type("see @caf")
        terminal.wait_for(r"caf\udce9.txt")
        terminal.press("tab")
        terminal.type(" now")
        terminal.wait_for("now")
        terminal.press("enter")
        assert still_works(terminal)


def test_plain_mode_and_run_send_it_too(world: World):
    given = ("say caf\udce9", "--model", world.script(finish("All done.")), "--workspace", str(world.project))
    with Terminal(["--plain", *given], 110, 34, world.env) as terminal:
        terminal.wait_for("All done.")
        terminal.type("/quit\r")
        assert terminal.wait_exit() == 0
        assert "Traceback" not in terminal.text()
    done = world.ohw("run", *given)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
