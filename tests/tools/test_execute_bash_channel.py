"""pexpect on the shell's terminal: what it reads, which keys it presses, how it ends."""

import io
import os
import re
import subprocess
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

import pytest

from tests.tools.shells import Bash, until_printed
from workbench.tools.execute_bash import wait
from workbench.tools.execute_bash.channel import ShellChannel

PROMPTS = (b"<ready>", b"<abandoned>")


class Pair:
    """A pseudo terminal without echo: a channel on one end, the other end in `pty`."""

    def __init__(self) -> None:
        master, self.pty = os.openpty()
        modes = termios.tcgetattr(self.pty)
        modes[1] &= ~termios.OPOST
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(self.pty, termios.TCSANOW, modes)
        self.channel = ShellChannel(master)

    def close(self) -> None:
        self.channel.close()
        os.close(self.pty)


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.close()


@pytest.mark.parametrize("prompt", PROMPTS, ids=["ready", "abandoned"])
def test_expect_returns_the_output_through_the_pattern_and_keeps_the_rest(pair: Pair, prompt: bytes) -> None:
    os.write(pair.pty, b"before" + prompt + b"after")
    assert pair.channel.expect_any(PROMPTS, 5) == b"before" + prompt
    assert pair.channel.unmatched() == b"after"
    assert pair.channel.unmatched() == b""
    os.write(pair.pty, b"later")
    assert pair.channel.read_available() == b"later"


@pytest.mark.parametrize("cut", range(1, len(PROMPTS[0])))
def test_pattern_in_two_pieces_is_found(pair: Pair, cut: int) -> None:
    os.write(pair.pty, b"x" + PROMPTS[0][:cut])
    assert pair.channel.expect_any(PROMPTS, 0.01) == b""
    os.write(pair.pty, PROMPTS[0][cut:])
    assert pair.channel.expect_any(PROMPTS, 5) == b"x" + PROMPTS[0]


def test_terminal_that_nobody_holds_is_at_its_end_and_its_output_is_returned() -> None:
    pair = Pair()
    os.write(pair.pty, b"last words")
    os.close(pair.pty)
    assert (pair.channel.expect_any(PROMPTS, 5), pair.channel.at_end) == (b"last words", True)
    pair.channel.close()
    assert not pair.channel.isalive()


def test_read_at_the_end_returns_nothing() -> None:
    pair = Pair()
    os.close(pair.pty)
    assert (pair.channel.read_available(), pair.channel.at_end) == (b"", True)
    pair.channel.close()


def test_input_that_nobody_reads_ends_in_time(pair: Pair) -> None:
    modes = termios.tcgetattr(pair.pty)
    modes[3] &= ~termios.ICANON
    termios.tcsetattr(pair.pty, termios.TCSANOW, modes)
    began = time.monotonic()
    assert not pair.channel.send_all(b"x" * 200_000, 0.2)
    assert time.monotonic() - began < 5


def test_each_letter_is_pressed_as_its_control_key(pair: Pair) -> None:
    modes = termios.tcgetattr(pair.pty)
    modes[0] &= ~(termios.ICRNL | termios.IXON)
    modes[3] &= ~(termios.ICANON | termios.ISIG | termios.IEXTEN)
    termios.tcsetattr(pair.pty, termios.TCSANOW, modes)
    assert all(pair.channel.sendcontrol(letter, 1) for letter in ascii_lowercase)
    typed = b""
    while len(typed) < len(ascii_lowercase):
        typed += os.read(pair.pty, 100)
    assert typed == bytes(range(1, 27))


@pytest.mark.parametrize(
    ("setting", "key"),
    [("intr ^C", b"\x03"), ("intr ^X", b"\x18"), ("intr undef", b""), ("-isig", b"")],
    ids=["default", "changed", "undefined", "off"],
)
def test_interrupt_is_the_key_that_this_terminal_is_set_to(pair: Pair, setting: str, key: bytes) -> None:
    subprocess.run(["stty", *setting.split()], stdin=pair.pty, check=True)
    sent = io.BytesIO()
    pair.channel.logfile_send = sent
    assert pair.channel.sendintr(1) is bool(key)
    assert sent.getvalue() == key


def test_own_interrupt_key_of_a_command_interrupts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A command that does not end is killed soon; on a busy machine, before its trap has run.
    monkeypatch.setattr(wait, "_KILL_AFTER", 15.0)
    monkeypatch.setattr(wait, "_REPLACE_AFTER", 20.0)
    with Bash(tmp_path).tool as tool:
        results: list[str] = []
        # A program that bash is just starting may miss the signal, and a trap runs when the program has ended.
        line = "trap 'echo caught; exit 9' INT; stty intr ^X; touch ready; while :; do sleep 0.1; done"
        action = tool.action_from_arguments({"command": f"( {line} )"})
        thread = threading.Thread(target=lambda: results.append(tool(action).text))
        thread.start()
        while not (tmp_path / "ready").exists():
            thread.join(0.01)
        assert tool.executor is not None
        tool.executor.interrupt()
        thread.join(20)
    assert re.search(r"caught\n.*interrupted by the user.*\n.*exit code 9", results[0], re.DOTALL)


@pytest.mark.parametrize(("key", "printed"), [("C-d", "ended"), ("ctrl+d", "ended"), ("C-c", "stopped")])
def test_control_key_reaches_the_program(tmp_path: Path, key: str, printed: str) -> None:
    bash = Bash(tmp_path, no_change_timeout=15)
    try:
        bash("sh -c 'trap \"echo stopped; exit\" INT; echo up; cat; echo ended'", timeout=0.5)
        assert printed in until_printed(bash, printed, bash(key, is_input=True).output)
    finally:
        bash.tool.close()
