"""The Sessions screen of the whole `ohw` in a pseudo terminal: search, switch to another session, and back."""

from __future__ import annotations

import re

from tests.sandbox import Sandbox, finish
from tests.terminal.terminal import Terminal


def test_older_session_is_found_by_its_words_opened_and_left_again(sandbox: Sandbox):
    model = sandbox.script(finish("The parser is mended."))
    assert sandbox.ohw("run", "older work", "--model", model, "--mode", "never").returncode == 0
    args = ("second task", "--model", model, "--workspace", str(sandbox.project))
    with Terminal(args, 110, 34, sandbox.env) as terminal:
        terminal.wait_for("The parser is mended.")
        terminal.type("/sessions")
        terminal.press("enter")
        terminal.wait_for("Sessions · 2")
        terminal.press("s")
        terminal.wait_for("Search messages")
        terminal.type("older")
        terminal.wait_for("1 found")
        terminal.press("enter")
        terminal.wait_for("›  older work")
        terminal.press("enter")
        terminal.wait_until(lambda screen: "Sessions ·" not in screen and "older work" in screen, "the older one")
        terminal.press("ctrl+o")
        terminal.wait_for("Sessions · 2")
        terminal.press("/")
        terminal.wait_for("Filter by title")
        terminal.type("second")
        terminal.wait_until(
            lambda screen: "second task" in screen and "older work  " not in screen, "the filter to work"
        )
        terminal.press("enter")
        terminal.wait_until(lambda screen: re.search(r"›\w+ +second task", screen), "the later one to be first")
        terminal.press("enter")
        terminal.wait_until(lambda screen: "Sessions ·" not in screen and "second task" in screen, "the later one")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def test_session_with_a_flipped_bit_is_reported_repaired_and_continued(sandbox: Sandbox):
    model = sandbox.script(finish("The parser is fixed."))
    assert sandbox.ohw("run", "fix the parser", "--model", model, "--mode", "high").returncode == 0
    (path,) = sandbox.locations.sessions.glob("*.session")
    data = bytearray(path.read_bytes())
    at = data.rindex(b"The parser is fixed.")
    data[at] ^= 1
    path.write_bytes(data)
    listed = sandbox.command("sessions")
    assert "damaged" in listed.stdout
    assert "checksum differs" in listed.stdout
    assert "Uhe parser" not in listed.stdout + sandbox.command("export", path.stem).stdout
    options = ("resume", path.stem, "--workspace", str(sandbox.project), "--model", model)
    with Terminal(options, 110, 34, sandbox.env) as terminal:
        terminal.wait_until(
            lambda screen: "checksum" in screen and "repair" in screen, "what is damaged, and the advice"
        )
        terminal.press("ctrl+q")
        terminal.wait_exit()
    with Terminal((*options, "--plain"), 110, 34, sandbox.env) as terminal:
        terminal.wait_for("repair")
        terminal.press("ctrl+d")
        terminal.wait_exit()
    assert path.read_bytes() == data
    repaired = sandbox.command("sessions", "repair")
    assert repaired.returncode == 0, repaired.stderr
    assert "saved; lost: event" in repaired.stdout
    assert path.with_name(f"{path.name}.damaged").read_bytes() == data
    assert sandbox.command("sessions", "repair").stdout == "No session is damaged.\n"
    with Terminal(options, 110, 34, sandbox.env) as terminal:
        terminal.wait_until(lambda screen: "damaged and" in screen and "lost" in screen, "what was lost")
        terminal.type("go on")
        terminal.press("enter")
        terminal.wait_for("nothing more that I can say")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert "was damaged and repaired" in sandbox.command("export", path.stem).stdout
