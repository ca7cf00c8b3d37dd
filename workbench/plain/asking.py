"""How plain mode asks: only a line typed slowly, after all of the question was shown, is an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from workbench.plain.console import Console
from workbench.view.approval.questions import QUIET

_LOOK = 0.1
"""Seconds between two looks whether nobody types."""
_TOO_SOON = "That came too soon after what was shown; it answers nothing."


class LineAsker:
    """Asks on the console; `take` gets the person's lines while a question is open."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._quiet_since = 0.0

    def begin(self) -> None:
        """A question opens: what was typed before is meant for something else."""
        typed = self._console.drain()
        while not self._lines.empty():
            typed = f"{self._lines.get_nowait()} {typed}".strip()
        if typed:
            self._console.say(f"Typed before the question, and not taken for an answer: {typed}")

    def take(self, line: str) -> None:
        """A line of the person's."""
        self._lines.put_nowait(line)

    def say(self, *lines: str) -> None:
        """Tell lines."""
        self._console.say(*lines)

    async def show(self, lines: Sequence[str]) -> None:
        """Tell lines; what takes more than a page waits for an enter before each further one."""
        pages = self._pages([line for text in lines for line in text.split("\n")])
        for number, page in enumerate(pages, 1):
            self._console.say(*page)
            self._quiet_since = self._clock()
            if number < len(pages):
                await self.answer(f"Part {number} of {len(pages)}; enter for the next: ")
        self._quiet_since = self._clock()

    async def answer(self, prompt: str) -> str:
        """The next line that comes alone: not too soon after what was shown, nor together with other lines."""
        while True:
            self._console.ask(prompt)
            line, is_alone = await self._next()
            self._quiet_since = self._clock()
            if is_alone:
                return line
            if self._lines.empty():
                self._console.say(_TOO_SOON)

    async def _next(self) -> tuple[str, bool]:
        """A line, and whether it comes alone: the quiet before it must have been seen, as we may be slow to read."""
        while not self._was_quiet():
            try:
                return await asyncio.wait_for(self._lines.get(), _LOOK), False
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
