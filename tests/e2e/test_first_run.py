"""A newcomer's first five minutes in a pseudo terminal: no screen is a dead end, and what was set up is kept."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Turn, finish
from tests.sandbox import Sandbox, wait_for
from tests.terminal.terminal import Terminal
from workbench.session.storage.session_list import list_sessions


class Newcomer:
    """Presses a key until it does what the screen says: the first presses may come too early to be accepted."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal

    def sees(self, *words: str) -> str:
        lower = [word.lower() for word in words]
        return self.terminal.wait_until(lambda screen: all(word in screen.lower() for word in lower), f"{words}", 60)

    def presses(self, key: str, is_so: Callable[[str], object], what: str) -> str:
        for _ in range(12):
            self.terminal.press(key)
            try:
                return self.terminal.wait_until(lambda screen: is_so(screen.lower()), what, 5)
            except AssertionError:
                continue
        return self.terminal.wait_until(lambda screen: is_so(screen.lower()), what, 5)

    def approves(self, words: str) -> None:
        """Approve the question with these words once all of it was seen; wait until it is gone or replaced."""
        self.sees(words, "Esc Not now")
        self.terminal.press("end")
        self.sees(words, "y approve")
        self.presses("y", lambda screen: words.lower() not in question(screen), "the question to be answered")

    def writes(self, line: str) -> None:
        self.terminal.type(line)
        self.terminal.wait_for(line[-20:])
        self.terminal.press("enter")

    def gets_help(self, key: str, words: str, back: str) -> None:
        """Open help over the screen, check that it lists a key, and go back with escape."""
        self.presses(
            key,
            lambda screen: "keys here" in screen and words.lower() in screen,
            f"help with {words!r}",
        )
        self.presses(
            "escape",
            lambda screen: "keys here" not in screen and back.lower() in screen,
            f"{back!r} again",
        )


def question(screen: str) -> str:
    """Return the lines of the open question; the conversation above may have the same words."""
    return "\n".join(line for line in screen.splitlines() if line.startswith("▌"))


def first_screen(user: Newcomer) -> None:
    user.sees("Welcome to ohw", "Demo", "Esc Not now", "F1 Help")
    user.gets_help("f1", "not now", "Welcome to ohw")
    user.presses(
        "escape",
        lambda screen: "/setup" in screen and "welcome" not in screen,
        "the advice of the main screen",
    )
    user.writes("/setup")
    user.sees("Welcome to ohw", "Demo")
    user.terminal.press("end")
    user.presses("enter", lambda screen: "y approve" in screen, "the demo's first question")


def demo(user: Newcomer, sandbox: Sandbox) -> Path:
    user.sees("325000)", "y Approve", "Esc Not now")
    (session,) = list_sessions(sandbox.locations)
    user.presses("n", lambda screen: "reason for the agent" in screen, "the line for a reason")
    user.terminal.type("the test is right")
    user.terminal.press("enter")
    user.approves('found["sign"]')
    user.approves("rm -rf")
    user.sees("✓ Finished")
    return Path(session.workspace) / "ledger/amounts.py"


def review(user: Newcomer, file: Path) -> None:
    mended = file.read_text()
    user.presses("f5", lambda screen: "hunk 1 of 1" in screen and "esc close" in screen, "the diff viewer")
    user.gets_help("?", "In the diff", "hunk 1 of 1")
    user.terminal.press("x")
    user.sees("Reverted the hunk", "u Undo")
    wait_for(lambda: file.read_text() != mended, "the file to be as before")
    user.terminal.press("u")
    user.sees("Restored the hunk")
    wait_for(lambda: file.read_text() == mended, "the file to be mended again")
    user.presses("escape", lambda screen: "enter send" in screen, "the main screen")


def colours_and_settings(user: Newcomer, sandbox: Sandbox) -> None:
    file = sandbox.locations.settings_file
    user.writes("/theme")
    user.sees("ohw-dusk", "esc")
    user.terminal.press("down")
    user.terminal.press("s")
    wait_for(lambda: file.exists() and "theme" in tomllib.loads(file.read_text()), "the theme in the file")
    user.writes("/settings")
    user.sees("Settings · ~", "esc close")
    user.gets_help("?", "In the list", "/ filter")
    user.presses("/", lambda screen: "filter by name" in screen, "the line to filter by")
    user.terminal.type("max_steps")
    user.sees("max_steps", "Steps")
    user.terminal.press("enter")
    user.presses("enter", lambda screen: "enter save   esc cancel" in screen, "the line for the value")
    user.terminal.type("x")
    user.sees("must be a whole number")
    user.presses("backspace", lambda screen: "must be a whole number" not in screen, "an empty line")
    user.terminal.type("55")
    user.terminal.press("enter")
    user.sees("✓ saved")
    assert tomllib.loads(file.read_text())["max_steps"] == 55
    user.presses("escape", lambda screen: "settings · ~" not in screen, "the main screen")


def own_model(user: Newcomer, sandbox: Sandbox, address: str) -> None:
    user.writes("/setup")
    user.sees("Welcome to ohw", "Other (OpenAI-compatible)")
    user.terminal.press("end", "up")
    user.presses("enter", lambda screen: "esc back" in screen, "the form")
    user.presses("enter", lambda screen: "✗ name the model as provider/model" in screen, "what is missing")
    user.terminal.type(address)
    user.terminal.press("tab", "tab")
    user.terminal.type("small")
    user.sees(address, "small")
    user.presses("enter", lambda screen: "what should we work on?" in screen, "a session on that model")
    user.gets_help("f1", "In the prompt", "What should we work on?")
    user.writes("hello there")
    user.sees("Nice to meet you.")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_first_five_minutes_have_no_dead_end(sandbox: Sandbox, size):
    columns, rows = size
    with ModelServer([Turn("Ready."), finish("Nice to meet you.")]) as server:
        arguments = ["--workspace", str(sandbox.project)]
        with Terminal(arguments, columns, rows, {**sandbox.env, "OPENAI_API_KEY": "sk-unused"}) as terminal:
            user = Newcomer(terminal)
            first_screen(user)
            review(user, demo(user, sandbox))
            colours_and_settings(user, sandbox)
            user.gets_help("f1", "Send", "Enter Send")
            own_model(user, sandbox, server.base_url)
            terminal.press("ctrl+q")
            assert terminal.wait_exit() == 0
            assert "ohw resume" in terminal.text()
    settings = tomllib.loads(sandbox.locations.settings_file.read_text())
    assert settings["model"] == "small"
    assert settings["models"]["small"] == {"model": "openai/small", "api_base": server.base_url}
    assert "sk-unused" not in sandbox.locations.settings_file.read_text()
    mine = next(each for each in list_sessions(sandbox.locations) if each.workspace == str(sandbox.project))
    assert mine.title == "hello there"
