"""The driver of the terminal in a pseudo terminal of its own."""

from __future__ import annotations

import pytest

from tests.sandbox import Sandbox
from tests.terminal.terminal import Terminal

_APP = """
import fcntl, struct, sys, termios
from textual.app import App
from textual.widgets import Static
from workbench.tui.textual_seam.driver import TerminalDriver

SIZES = {sizes}


class Overtaken(TerminalDriver):
    # The terminal changes again between the reading of its size and the report of it.

    def _get_terminal_size(self):
        size = super()._get_terminal_size()
        if size in SIZES:
            columns, rows = SIZES.pop(size)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        return size


class Sized(App):
    def get_driver_class(self):
        return Overtaken

    def compose(self):
        yield Static("ready")

    def on_resize(self, event):
        self.query_one(Static).update(f"size {{event.size.width}} x {{event.size.height}}")


Sized().run()
"""


@pytest.mark.parametrize(
    ("sizes", "last"),
    [
        ({(100, 30): (60, 20)}, "60 x 20"),
        ({(100, 30): (100, 12)}, "100 x 12"),
        ({(100, 30): (60, 20), (60, 20): (70, 25), (70, 25): (80, 12)}, "80 x 12"),
    ],
    ids=["smaller", "lower", "thrice"],
)
def test_size_that_changes_while_it_is_read_is_the_last_one_reported(sandbox: Sandbox, sizes: dict, last: str):
    with Terminal(("-c", _APP.format(sizes=sizes)), 50, 10, sandbox.env, program=()) as terminal:
        terminal.wait_for("size 50 x 10")
        terminal.resize(100, 30)
        assert last in terminal.wait_for(f"size {last}", 20)


_PATIENT_APP = """
import selectors
from textual.app import App
from textual.widgets import Static
from workbench.tui.textual_seam.driver import TerminalDriver

select = selectors.SelectSelector.select
selectors.SelectSelector.select = lambda selector, timeout: select(selector, timeout * 1000)


class Patient(App):
    BINDINGS = [("q", "quit"), ("s", "suspended")]

    def get_driver_class(self):
        return TerminalDriver

    def compose(self):
        yield Static("ready")

    def action_suspended(self):
        with self.suspend():
            print("suspended", flush=True)
        self.query_one(Static).update("continued")


Patient().run()
print("ended", flush=True)
"""


def test_the_input_thread_ends_without_waiting_for_its_next_look(sandbox: Sandbox):
    with Terminal(("-c", _PATIENT_APP), 50, 10, sandbox.env, program=()) as terminal:
        terminal.wait_for("ready")
        terminal.type("s")
        terminal.wait_for("continued", 30)
        terminal.type("q")
        assert "ended" in terminal.wait_for("ended", 30)
