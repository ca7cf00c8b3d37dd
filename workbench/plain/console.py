"""The terminal of plain mode: safe lines out, whole lines in; no colours, no cursor, no sign the locale lacks."""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import termios
from collections.abc import Callable, Sequence
from typing import Final

from workbench.ascii import in_ascii
from workbench.text import visible

_STDIN: Final = 0
_STDOUT: Final = 1
_MOST: Final = 1 << 16
_FEWEST_ROWS: Final = 10


class Console:
    """Lines of the terminal; `taken` gets each line that is typed, and None at the end of the input."""

    def __init__(self, *, is_ascii: bool) -> None:
        self._is_ascii = is_ascii
        self._prompt = ""
        self._rest = b""
        self._is_broken = False

    def listen(self, taken: Callable[[str | None], None]) -> None:
        """Give every line from now on to `taken`; in the running event loop."""
        asyncio.get_running_loop().add_reader(_STDIN, self._read, taken)

    def deaf(self) -> None:
        """Give no line to anybody until somebody listens again; in the running event loop."""
        asyncio.get_running_loop().remove_reader(_STDIN)

    def say(self, *lines: str) -> None:
        """Lines below what stands there; a prompt that waits is shown again."""
        begun = "\n" if self._prompt else ""
        self._write(begun + "".join(f"{visible(line)}\n" for line in lines) + self._prompt)

    def ask(self, prompt: str) -> None:
        """Show a prompt, unless just that one waits already; an empty one takes it away."""
        if prompt == self._prompt:
            return
        self._write(("\n" if self._prompt and not prompt else "") + prompt)
        self._prompt = prompt

    def page(self) -> int:
        """How many rows of text a person can look at together."""
        return max(_FEWEST_ROWS, shutil.get_terminal_size((80, 24)).lines - 4)

    def rows_of(self, lines: Sequence[str]) -> int:
        """About how many rows these lines take."""
        width = max(1, shutil.get_terminal_size((80, 24)).columns)
        return sum(1 + len(line) // width for line in lines)

    def is_idle(self) -> bool:
        """Whether no line waits to be read."""
        return not select.select([_STDIN], [], [], 0)[0]

    def drain(self) -> str:
        """What was typed up to now, taken out of the terminal: it was meant for something else."""
        try:
            usual = termios.tcgetattr(_STDIN)
            changed = [*usual[:6], list(usual[6])]
            changed[3] &= ~termios.ICANON  # only so the unfinished line can be read
            changed[6][termios.VMIN], changed[6][termios.VTIME] = 0, 0
            termios.tcsetattr(_STDIN, termios.TCSANOW, changed)
            try:
                typed = os.read(_STDIN, _MOST)
            finally:
                termios.tcsetattr(_STDIN, termios.TCSANOW, usual)
        except (OSError, termios.error):
            return ""
        typed, self._rest = self._rest + typed, b""
        return typed.decode(errors="replace").strip()

    def _read(self, taken: Callable[[str | None], None]) -> None:
        try:
            data = os.read(_STDIN, _MOST)
        except OSError:
            data = b""  # the terminal is gone
        if not data:
            asyncio.get_running_loop().remove_reader(_STDIN)
            taken(None)
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._prompt = ""  # the person's own enter ended it
            taken(line.decode(errors="replace"))

    def _write(self, text: str) -> None:
        if self._is_broken:
            return
        data = (in_ascii(text) if self._is_ascii else text).encode("utf-8", "backslashreplace")
        try:
            while data:
                data = data[os.write(_STDOUT, data) :]
        except OSError:
            self._is_broken = True  # nobody can read it any more; the hang-up that follows ends us
