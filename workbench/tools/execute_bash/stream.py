"""The output of one command: cleaned, buffered with bounded memory, and passed on live."""

from __future__ import annotations

import os
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from workbench.files.root_directory import Root
from workbench.tools.execute_bash.output import Cleaner

LIMIT = 30_000
"""The most characters of an output that are returned."""
LARGEST_FILE = 2 << 30
"""The most characters of an output that are written to its file."""


@dataclass(frozen=True)
class OutputText:
    """An output as it is returned; `file` is the path of the whole output if `text` lacks its middle."""

    text: str
    file: str | None = None


class OutputBuffer:
    """Collects text piece by piece, in at most a few times `limit` of memory."""

    def __init__(self, directory: Path, limit: int = LIMIT, largest: int = LARGEST_FILE) -> None:
        self._directory = directory
        self._limit = limit
        self._largest = largest
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._in_head = self._in_tail = self._chars = self._lines = 0
        self._file: TextIO | None = None
        self._trouble = ""

    @property
    def is_empty(self) -> bool:
        """Whether no text was added yet."""
        return not self._chars

    @property
    def overflowed(self) -> bool:
        """Whether more was added than the file may contain."""
        return self._chars > self._largest

    def add(self, text: str) -> None:
        """Add a piece of text."""
        if not text:
            return
        if self._chars + len(text) > self._limit and not self._file and not self._trouble:
            self._open()
        self._write(text)
        self._chars += len(text)
        if self.overflowed and not self._trouble:
            self._trouble = f"only its first {self._chars} characters are there"
        self._lines += text.count("\n")
        if self._in_head < self._limit:
            free = self._limit - self._in_head
            self._head.append(text[:free])
            self._in_head += len(text[:free])
        self._push(text[-self._limit :])

    def _push(self, text: str) -> None:
        self._tail.append(text)
        self._in_tail += len(text)
        while self._in_tail - len(self._tail[0]) >= self._limit:
            self._in_tail -= len(self._tail.popleft())
        if len(self._tail) > 2000:  # many tiny pieces
            whole = "".join(self._tail)[-self._limit :]
            self._tail = deque((whole,))
            self._in_tail = len(whole)

    def _open(self) -> None:
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._directory / f"output-{secrets.token_hex(4)}.txt"
            # A command can replace the directory with a link.
            with Root(self._directory).entry(path) as entry:
                handle = entry.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            self._file = open(handle, "w", encoding="utf-8", errors="replace")  # noqa: SIM115, PTH123 - closed below
            self._file_name = str(path)
        except OSError as error:
            self._trouble = f"it could not be saved in a file: {error.strerror}"
            return
        self._write("".join(self._head))

    def _write(self, text: str) -> None:
        if self._file is None or self._trouble:
            return
        try:
            self._file.write(text)
        except OSError as error:
            self._trouble = f"only its first part is there: {error.strerror}"

    def collect(self) -> OutputText:
        """Close the file; return the whole text, or its head and tail with a notice between them."""
        self._close_file()
        if self._chars <= self._limit:
            return OutputText("".join(self._head))
        head = _head_lines("".join(self._head), self._limit // 2)
        tail = _tail_lines("".join(self._tail), self._limit // 2)
        lost = self._lines - head.count("\n") - tail.count("\n")
        chars = self._chars - len(head) - len(tail)
        gap = "" if head.endswith("\n") else "\n"
        return OutputText(f"{head}{gap}[… {self._notice(lost, chars)} …]\n{tail}", self._name())

    def _notice(self, lost: int, chars: int) -> str:
        what = f"{lost} lines" if lost > 0 else "a part of a line"
        where = f"; the full output is in {self._name()}" if self._name() else ""
        why = f"; {self._trouble}" if self._trouble else ""
        return f"{what} ({chars} characters) omitted{where}{why}"

    def _name(self) -> str | None:
        return self._file_name if self._file is not None else None

    def _close_file(self) -> None:
        if self._file is not None and not self._file.closed:
            try:
                self._file.close()
            except OSError as error:
                self._trouble = f"only its first part is there: {error.strerror}"

    def drop(self) -> None:
        """Close the file of an output that is not needed."""
        self._close_file()


def _head_lines(text: str, limit: int) -> str:
    cut = text.rfind("\n", limit // 2, limit)
    return text[: cut + 1] if cut >= 0 else text[:limit]


def _tail_lines(text: str, limit: int) -> str:
    text = text[-limit:]
    cut = text.find("\n", 0, limit // 2)
    return text[cut + 1 :] if cut >= 0 else text


_EVERY = 0.05
_AT_MOST = 1 << 16
_LONGEST_PROMPT = 1000


class Stream:
    """Collects the output of a command; `collect` returns the output since it was last called."""

    def __init__(self, directory: Path, largest: int = LARGEST_FILE) -> None:
        self._directory = directory
        self._largest = largest
        self._cleaner = Cleaner()
        self._buffer = OutputBuffer(directory, largest=largest)
        self._live: list[str] = []
        self._waiting = 0
        self._passed = 0.0
        self._sent = ""  # the part of the open line that was passed on
        self._taken = ""  # the part of the open line that was returned

    def feed(self, data: bytes, on_output: Callable[[str], None] | None) -> None:
        """Add bytes to the output, and pass new text to `on_output` now and then.

        Without a listener, the live text is held for the next one, and discarded once it reaches `_AT_MOST`
        characters; `collect` is not affected.
        """
        text = self._cleaner.feed(data)
        self._buffer.add(text)
        if not text:
            return
        self._taken = ""
        self._live.append(self._unsent(text))
        self._waiting += len(text)
        if on_output is None:
            if self._waiting >= _AT_MOST:
                self._forget()
        elif self._waiting >= _AT_MOST or time.monotonic() - self._passed >= _EVERY:
            self._pass_on(on_output)

    def rest(self, on_output: Callable[[str], None] | None) -> None:
        """Pass the held live text and the unfinished line to `on_output`; to be called while nothing arrives."""
        if on_output is None:
            return
        line = self._cleaner.open_line
        if line != self._sent:
            self._live.append(self._unsent(line))
            self._sent = line
        if self._live:
            self._pass_on(on_output)

    def _unsent(self, text: str) -> str:
        sent, self._sent = self._sent, ""
        if text.startswith(sent):
            return text[len(sent) :]
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
        """The unfinished line, including the part that `collect` already returned."""
        return self._taken + self._cleaner.open_line

    @property
    def overflowed(self) -> bool:
        """Whether there was more output than is stored anywhere."""
        return self._buffer.overflowed

    @property
    def full_screen(self) -> bool:
        """Whether a program uses the full screen."""
        return self._cleaner.full_screen

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to collect."""
        return self._buffer.is_empty and not self._cleaner.open_line

    def collect(self) -> OutputText:
        """Return the output since the last call."""
        self._taken = self.prompt[-_LONGEST_PROMPT:]
        self._buffer.add(self._cleaner.flush())
        self._sent = ""
        self._forget()
        self._cleaner.full_screen = False
        result = self._buffer.collect()
        self._buffer = OutputBuffer(self._directory, largest=self._largest)
        return result

    def close(self) -> None:
        """Discard the output."""
        self._buffer.drop()
