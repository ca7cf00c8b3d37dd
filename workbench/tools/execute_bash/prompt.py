"""Detects that a command has ended, and its exit code, in a way that no command can forge; used by `shell`.

A command runs in the shell itself and can read everything that bash code can read: variables, functions, files,
`$BASH_COMMAND` in a trap, and pending input in the terminal. So nothing is secret while it runs. Its end is confirmed
in two steps:

1. The kernel shows that bash is waiting at its own prompt: the shell is in the terminal's foreground, it has read the
   bytes of the typed line (`/proc/PID/task/PID/io`), and it sleeps in the same system call, with the same buffer and
   the same stack, as at its first prompt (`/proc/PID/syscall`). `read`, `select`, `. /dev/tty`, an unfinished line, or
   a program that replaced the shell (`exec`) reads into other memory. A hint in the output only says when to check.
2. Only then is an unused nonce typed, in a line of assignments that runs none of the agent's code. The prompt after
   that line prints the exit code with the nonce. The answer is accepted once bash has read that line and waits again.
   Two different answers to one nonce mean that one of them is forged, so the shell is asked again with a new nonce.

Our own lines use no function, alias or variable of the agent's (see `rc`). An answer that was not printed in POSIX mode
is ignored; a shell that gives no valid answer is replaced.

A nonce is worthless once it has been answered. A trap for a signal that arrives while our lines run, or a DEBUG trap
that skips every command with `extdebug`, can still change the exit code, as it can change `$?`, but cannot forge the
end of a command. A process that attaches to bash as a debugger can do anything. Without `/proc`, step 1 only checks
that the shell is in the foreground: a command that prints a hint and reads the terminal with builtins can then learn
its nonce.
"""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from workbench.tools.execute_bash import rc
from workbench.tools.execute_bash.terminal import Terminal

_PREFIX = b"\x1b]133;"
_HINTS = {_PREFIX + b"A\x07": True, _PREFIX + b"AE\x07": False}
FIRST_PROMPT = tuple(_HINTS)
"""The text that the shell prints when it has read its startup file."""
# A directory and a PATH are shorter than this.
_LONGEST = 1 << 17


@dataclass(frozen=True)
class Hint:
    """A hint that the shell may be at its prompt: any program can print it, so it only triggers a check."""

    abandoned: bool


@dataclass(frozen=True)
class Mark:
    """The prompt's report: exit code, whether the line was abandoned, directory and PATH."""

    code: int
    abandoned: bool
    directory: str
    path: str
    is_sound: bool = True
    """Whether it was printed in POSIX mode, in which functions cannot replace special builtins."""


class MarkScanner:
    """Splits a byte stream into output, hints and marks; a mark with another nonce than `nonce` is output."""

    def __init__(self, nonce: str = "") -> None:
        self.nonce = nonce
        self._held = b""

    def feed(self, data: bytes) -> list[bytes | Hint | Mark]:
        """Return the parts in order; a possible beginning of a hint or mark is held for the next call."""
        data = self._held + data if self._held else data
        parts: list[bytes | Hint | Mark] = []
        emitted = at = 0
        while (start := data.find(_PREFIX, at)) >= 0:
            item, end = self._read(data, start)
            if end < 0:
                break
            if item:
                self._add(parts, data[emitted:start])
                parts.append(item)
                emitted = end
            at = end
        keep = start if start >= 0 else _partial(data, at)
        self._add(parts, data[emitted:keep])
        self._held = data[keep:]
        return parts

    def flush(self) -> bytes:
        """Return the held bytes as output, at the end of the stream."""
        held, self._held = self._held, b""
        return held

    @staticmethod
    def _add(parts: list[bytes | Hint | Mark], output: bytes) -> None:
        if output:
            parts.append(output)

    def _read(self, data: bytes, start: int) -> tuple[Hint | Mark | None, int]:
        """Return the hint or mark at `start` and its end; None if it is output; the end is -1 while that is
        undecided.
        """
        for hint, abandoned in _HINTS.items():
            if data.startswith(hint, start):
                return Hint(abandoned), start + len(hint)
        opening = f"\x1b]133;D;{self.nonce};".encode() if self.nonce else b""
        if not (opening and data.startswith(opening, start)):
            rest = data[start : start + len(opening) + len(_PREFIX) + 3]
            is_open = any(whole.startswith(rest) for whole in (opening, *_HINTS))
            return None, -1 if is_open else start + len(_PREFIX)
        body = start + len(opening)
        closing = f";{self.nonce}\x07".encode()
        end = data.find(closing, body - 1)
        if end < 0 and len(data) - start < _LONGEST:
            return None, -1
        mark = _parse(data[body:end]) if end >= 0 else None
        return mark, end + len(closing) if mark else body


def _partial(data: bytes, at: int) -> int:
    """Return where a partial prefix at the end of `data` starts, else the length of `data`."""
    esc = data.rfind(b"\x1b", max(at, len(data) - len(_PREFIX) + 1))
    return esc if esc >= 0 and _PREFIX.startswith(data[esc:]) else len(data)


def _parse(body: bytes) -> Mark | None:
    try:
        code, rest = body.split(b";", 1)
        where, _, options = rest.rpartition(b"\x1f")
        directory, _, path = where.rpartition(b"\x1f")
        number = int(code)
        return Mark(number % 1000, number >= 1000, os.fsdecode(directory), os.fsdecode(path), b":posix:" in options)
    except ValueError:
        return None


_ENTERS = 0.001
"""Seconds from printing a prompt to waiting for a line, on an idle machine."""
_POLL_INTERVAL = 0.00005
_RECHECK = 0.02
"""Seconds between checks while output keeps arriving."""
_ANSWERS = 0.05
"""Seconds after which an unanswered question counts as lost (C-c discards typed input), unless bash is
working on it.
"""
_QUESTIONS = 12


class PromptReader:
    """Determines from the kernel whether bash waits at its own prompt and has read the input typed before."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._prompt_location: tuple[str, ...] = ()
        self._expected = 0

    @property
    def is_available(self) -> bool:
        """Whether the kernel shows where bash sleeps; if not, only the terminal's foreground group is known."""
        return bool(self._prompt_location)

    def learn(self, seconds: float) -> None:
        """Record where bash sleeps at its first prompt, before any command ran; waits up to `seconds` for it."""
        until = time.monotonic() + seconds
        while self._terminal.shows_shell and not self._prompt_location and time.monotonic() < until:
            location = self._sleeps_in()
            if location[1:2] == ("0x0",):  # reads its standard input
                self._prompt_location = location
            elif not location:
                return
            else:
                time.sleep(_POLL_INTERVAL)

    def expect(self, count: int) -> None:
        """Consider bash to be waiting only once it has read `count` more bytes."""
        self._expected = self._bytes_read() + count

    def waits(self, *, has_read: bool = True) -> bool:
        """Return whether bash waits at its prompt, and (with `has_read`) has read the expected input."""
        if not self._terminal.is_shells():
            return False
        if not self._prompt_location:
            return True
        # The bytes are counted before the sleep is checked, so the sleep is known to follow them.
        return (not has_read or self._bytes_read() >= self._expected) and self._sleeps_in() == self._prompt_location

    def _sleeps_in(self) -> tuple[str, ...]:
        """Return the system call, its first three arguments, stack and code address; empty if not available."""
        try:
            words = Path(f"/proc/{self._terminal.pid}/syscall").read_text().split()
        except OSError:
            return ()
        return (*words[:4], *words[-2:])

    def _bytes_read(self) -> int:
        """Return the total number of bytes that bash itself has read; the expected number if not available."""
        pid = self._terminal.pid
        try:
            return int(Path(f"/proc/{pid}/task/{pid}/io").read_text().split(maxsplit=2)[1])
        except (OSError, ValueError, IndexError):
            return self._expected


class PromptDetector:
    """Asks a shell for the mark of the command that ended; see the module docstring."""

    def __init__(self, terminal: Terminal) -> None:
        self.scanner = MarkScanner()
        self.reader = PromptReader(terminal)
        self._terminal = terminal
        self._marks: set[Mark] = set()
        self._asked = 0.0
        self._questions = 0
        self._first = ""
        self._is_cleared = False
        self._is_abandoned = False
        self._checked = 0.0

    @property
    def is_asked(self) -> bool:
        """Whether an answer is pending; output after the question does not belong to the command."""
        return bool(self._asked)

    @property
    def is_answered(self) -> bool:
        """Whether the output of the command is complete."""
        return bool(self._marks)

    @property
    def is_due(self) -> bool:
        """Whether to check although output keeps arriving, because a background process may never stop writing.

        Not while a question is unanswered: its answer may still follow in the output.
        """
        return (self.is_answered or not self.is_asked) and time.monotonic() - self._checked >= _RECHECK

    @property
    def is_broken(self) -> bool:
        """Whether bash waits at its prompt but gives no valid answer (for example because the command made `PS1`
        read-only).
        """
        return self._questions > _QUESTIONS

    def begin(self, line: bytes) -> None:
        """Prepare for typing a command's line, whose first byte only clears the terminal's input line."""
        self._forget()
        self._questions = 0
        self._first = ""
        self._is_cleared = False
        self._is_abandoned = False
        self.reader.expect(len(line) - 1)

    def interrupt(self) -> None:
        """Note that C-c was pressed: typed input may be discarded unread."""
        self._forget()
        self.reader.expect(0)

    def _forget(self) -> None:
        self._asked = 0.0
        self._marks.clear()
        self.scanner.nonce = ""

    def add(self, mark: Mark) -> None:
        """Add a mark with the current nonce."""
        self._marks.add(mark)

    def check(self, hint: Hint | None) -> Mark | None:
        """Return the mark of the command if it has ended; otherwise ask for it once bash waits at its prompt.

        All available output must have been fed before, unless the check is due.
        """
        self._checked = time.monotonic()
        if hint:
            # On a busy machine bash may wait for its line long after it has printed the hint: remember it.
            self._is_abandoned = hint.abandoned
        if not (hint or self._marks or self.reader.is_available):
            return None
        is_late = bool(self._asked) and time.monotonic() - self._asked > _ANSWERS
        if not self._comes(_ENTERS if hint or self._marks else 0.0, has_read=not is_late or bool(self._marks)):
            return None
        if len(self._marks) == 1:
            mark = next(iter(self._marks))
            self._forget()
            if mark.is_sound:
                return mark
            self._ask()
            return None
        if self._is_abandoned and not (self._marks or self._asked or self._is_cleared):
            self._is_cleared = True
            self.reader.expect(1)
            self._terminal.write(rc.EMPTY_LINE)
        elif self._marks or is_late or not self._asked:
            self._ask()
        return None

    def _comes(self, seconds: float, *, has_read: bool) -> bool:
        """Wait up to `seconds` until bash waits at its prompt; return whether it does."""
        until = time.monotonic() + seconds
        while not self.reader.waits(has_read=has_read):
            if time.monotonic() >= until:
                return False
            time.sleep(_POLL_INTERVAL)
        return True

    def _ask(self) -> None:
        """Ask for the mark: type a line with an unused nonce."""
        self._questions += 1
        self._forget()
        self._terminal.restore_modes()
        self.scanner.nonce = str(10**17 + secrets.randbelow(9 * 10**17))
        self._first = self._first or self.scanner.nonce
        line = rc.question_line(self.scanner.nonce, self._first)
        self.reader.expect(len(line) - 1)
        self._asked = time.monotonic()
        self._terminal.write(line)
