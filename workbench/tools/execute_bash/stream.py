"""The output of one command: cleaned, buffered, and passed on live; used by `shell`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from workbench.tools.execute_bash.keep import LARGEST_FILE, Keep, Kept
from workbench.tools.execute_bash.output import Cleaner

_EVERY = 0.05
_AT_MOST = 1 << 16
_LONGEST_PROMPT = 1000


class Stream:
    """Collects bytes; `take()` returns the output since the last call."""

    def __init__(self, folder: Path, largest: int = LARGEST_FILE) -> None:
        self._folder = folder
        self._largest = largest
        self._cleaner = Cleaner()
        self._keep = Keep(folder, largest=largest)
        self._live: list[str] = []
        self._waiting = 0
        self._passed = 0.0
        self._shown = ""  # of the open line, already passed on
        self._taken = ""  # of the open line, already given back

    def feed(self, data: bytes, on_output: Callable[[str], None] | None) -> None:
        """Add bytes; without a listener, the last of them are held for one."""
        text = self._cleaner.feed(data)
        self._keep.add(text)
        if not text:
            return
        self._taken = ""
        self._live.append(self._unshown(text))
        self._waiting += len(text)
        if on_output is None:
            if self._waiting >= _AT_MOST:
                self._forget()
        elif self._waiting >= _AT_MOST or time.monotonic() - self._passed >= _EVERY:
            self._pass_on(on_output)

    def rest(self, on_output: Callable[[str], None] | None) -> None:
        """Pass on held output and the current unfinished line: nothing is arriving at the moment."""
        if on_output is None:
            return
        line = self._cleaner.open_line
        if line != self._shown:
            self._live.append(self._unshown(line))
            self._shown = line
        if self._live:
            self._pass_on(on_output)

    def _unshown(self, text: str) -> str:
        shown, self._shown = self._shown, ""
        if text.startswith(shown):
            return text[len(shown) :]
        return f"\n{text}"

    def _pass_on(self, on_output: Callable[[str], None]) -> None:
        text = "".join(self._live)
        self._forget()
        self._passed = time.monotonic()
        if text:
            on_output(text)

    def _forget(self) -> None:
        self._live.clear()
        self._waiting = 0

    @property
    def open_line(self) -> str:
        """The unfinished line."""
        return self._cleaner.open_line

    @property
    def prompt(self) -> str:
        """The unfinished line, including what `take()` already returned of it."""
        return self._taken + self._cleaner.open_line

    @property
    def overflowed(self) -> bool:
        """Whether there was more output than is stored anywhere."""
        return self._keep.overflowed

    @property
    def full_screen(self) -> bool:
        """Whether a program uses the full screen."""
        return self._cleaner.full_screen

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to take."""
        return self._keep.is_empty and not self._cleaner.open_line

    def take(self) -> Kept:
        """Return the output since the last call."""
        self._taken = self.prompt[-_LONGEST_PROMPT:]
        self._keep.add(self._cleaner.flush())
        self._shown = ""
        self._forget()
        self._cleaner.full_screen = False
        kept = self._keep.take()
        self._keep = Keep(self._folder, largest=self._largest)
        return kept

    def close(self) -> None:
        """Discard the output."""
        self._keep.drop()
