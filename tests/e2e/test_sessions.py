"""The Sessions screen of the whole `ohw` in a pseudo terminal: search, switch to another session, and back."""

from __future__ import annotations

from tests.terminal.terminal import Terminal
from tests.world import World, finish


def test_one_finds_an_older_session_by_its_words_goes_to_it_and_comes_back(world: World):
    model = world.script(finish("The parser is mended."))
    assert world.ohw("run", "older work", "--model", model, "--mode", "never").returncode == 0
    args = ("second task", "--model", model, "--workspace", str(world.project))
    with Terminal(args, 110, 34, world.env) as terminal:
        terminal.wait_for("The parser is mended.")
        terminal.type("/sessions")
        terminal.press("enter")
        terminal.wait_for("Sessions · 2")
        terminal.press("s")
        terminal.wait_for("words that were said")
        terminal.type("older")
        terminal.wait_for("1 found")
        terminal.press("enter")
        terminal.wait_for("›  older work")
        terminal.press("enter")
        terminal.wait_until(lambda shown: "Sessions ·" not in shown and "older work" in shown, "the older one")
        terminal.press("ctrl+o")
        terminal.wait_for("Sessions · 2")
        terminal.press("/")
        terminal.wait_for("letters of a title")
        terminal.type("second")
        terminal.wait_until(lambda shown: "second task" in shown and "older work  " not in shown, "the filter to work")
        terminal.press("enter")
        terminal.wait_for("›  second task")
        terminal.press("enter")
        terminal.wait_until(lambda shown: "Sessions ·" not in shown and "second task" in shown, "the later one")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
