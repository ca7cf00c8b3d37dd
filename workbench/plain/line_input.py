"""Prints and asks in plain mode. Only a line typed after a pause, once the whole question was shown, is an answer."""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import termios
import time
from collections.abc import Callable, Sequence
from typing import Final

from workbench.ascii import in_ascii
from workbench.text import visible
from workbench.view.approval.quiet_time import QUIET

_STDIN: Final = 0
_STDOUT: Final = 1
_MOST: Final = 1 << 16
_FEWEST_ROWS: Final = 10


class Console:
    """Prints lines on the terminal above a prompt, and reads the lines that the user types."""

    def __init__(self, *, is_ascii: bool) -> None:
        self._is_ascii = is_ascii
        self._prompt = ""
        self._rest = b""
        self._is_broken = False

    def listen(self, taken: Callable[[str | None], None]) -> None:
        """From now on, call `taken` in the event loop with every line typed, and with None at the end of the input."""
        asyncio.get_running_loop().add_reader(_STDIN, self._read, taken)

    def deaf(self) -> None:
        """Stop reading lines until the next `listen`; must be called in the running event loop."""
        asyncio.get_running_loop().remove_reader(_STDIN)

    def print(self, *lines: str) -> None:
        """Print lines, and show the current prompt again below them."""
        begun = "\n" if self._prompt else ""
        self._write(begun + "".join(f"{visible(line)}\n" for line in lines) + self._prompt)

    def ask(self, prompt: str) -> None:
        """Show a prompt, unless it is shown already; an empty prompt removes the current one."""
        if prompt == self._prompt:
            return
        self._write(("\n" if self._prompt and not prompt else "") + prompt)
        self._prompt = prompt

    def page(self) -> int:
        """Return the number of rows of text that the user can see at once."""
        return max(_FEWEST_ROWS, shutil.get_terminal_size((80, 24)).lines - 4)

    def rows_of(self, lines: Sequence[str]) -> int:
        """Return the approximate number of terminal rows that these lines take up."""
        width = max(1, shutil.get_terminal_size((80, 24)).columns)
        return sum(1 + len(line) // width for line in lines)

    def is_idle(self) -> bool:
        """Return whether no typed line is waiting to be read."""
        return not select.select([_STDIN], [], [], 0)[0]

    def drain(self) -> str:
        """Remove everything typed so far from the terminal's input, and return it: it was not typed as an answer."""
        try:
            usual = termios.tcgetattr(_STDIN)
            changed = [*usual[:6], list(usual[6])]
            changed[3] &= ~termios.ICANON  # otherwise an unfinished line could not be read
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
            self._prompt = ""  # the user's enter has ended its line
            taken(line.decode(errors="replace"))

    def _write(self, text: str) -> None:
        if self._is_broken:
            return
        data = (in_ascii(text) if self._is_ascii else text).encode("utf-8", "backslashreplace")
        try:
            while data:
                data = data[os.write(_STDOUT, data) :]
        except OSError:
            self._is_broken = True  # nobody can read it any more; the hang-up signal that follows ends the process


_CHECK_INTERVAL = 0.1
"""Seconds between checks of whether the user is typing."""
_TOO_SOON = "Too fast, ignored. Please answer again."


class LineAsker:
    """Asks questions on the console; its owner passes the lines that the user types to `add_line` while a question is
    open.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._quiet_since = 0.0

    def begin(self) -> None:
        """Prepare for a new question: discard what was typed before it, and show the user what was discarded."""
        typed = self._console.drain()
        while not self._lines.empty():
            typed = f"{self._lines.get_nowait()} {typed}".strip()
        if typed:
            self._console.print(f"Typed before the question, so not used as an answer: {typed}")

    def add_line(self, line: str) -> None:
        """Queue a line that the user typed."""
        self._lines.put_nowait(line)

    def print(self, *lines: str) -> None:
        """Print lines."""
        self._console.print(*lines)

    async def show(self, lines: Sequence[str]) -> None:
        """Print lines; if they fill more than one page, wait for Enter before each further page."""
        pages = self._pages([line for text in lines for line in text.split("\n")])
        for number, page in enumerate(pages, 1):
            self._console.print(*page)
            self._quiet_since = self._clock()
            if number < len(pages):
                await self.answer(f"Part {number} of {len(pages)}; Enter for the next: ")
        self._quiet_since = self._clock()

    async def answer(self, prompt: str) -> str:
        """Show the prompt until the user types an acceptable line, and return that line.

        A line that is typed too soon after output, or together with other lines, is not accepted.
        """
        while True:
            self._console.ask(prompt)
            line, is_alone = await self._next()
            self._quiet_since = self._clock()
            if is_alone:
                return line
            if self._lines.empty():
                self._console.print(_TOO_SOON)

    async def _next(self) -> tuple[str, bool]:
        """Return the next line, and whether it may be an answer: typed after a pause, and alone.

        The pause must be observed before the line arrives, because this process may be slow to read lines.
        """
        while not self._was_quiet():
            try:
                return await asyncio.wait_for(self._lines.get(), _CHECK_INTERVAL), False
            except TimeoutError:
                continue
        line = await self._lines.get()
        return line, self._lines.empty() and self._console.is_idle()

    def _was_quiet(self) -> bool:
        return self._clock() - self._quiet_since >= QUIET and self._lines.empty() and self._console.is_idle()

    def _pages(self, lines: Sequence[str]) -> list[list[str]]:
        most = self._console.page()
        pages: list[list[str]] = [[]]
        for line in lines:
            if pages[-1] and self._console.rows_of([*pages[-1], line]) > most:
                pages.append([])
            pages[-1].append(line)
        return pages
