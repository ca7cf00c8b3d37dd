"""Bytes that are no UTF-8, on every way into the real binary: the command line, the keyboard, names of files."""

from __future__ import annotations

import pytest

from tests.terminal.terminal import Terminal
from tests.world import World, finish


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
