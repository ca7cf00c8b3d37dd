"""Waits for a command: until it ends, falls silent, asks for input, takes too long or is interrupted."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from enum import Enum, auto
from pathlib import Path

from workbench.lazy_pattern import lazy_pattern
from workbench.tools.execute_bash.shell import Shell

_SLICE = 0.025
_PASSWORD_QUIET = 0.4
_PROMPT_QUIET = 1.0
_KILL_AFTER = 0.09
_REPLACE_AFTER = 0.16
_ROUND = 0.01
_LAST_WORDS = 10.0

_PASSWORD = lazy_pattern(
    r"(?:pass(?:word|phrase|code)|\bPIN\b|verification code|username for '|\(yes/no(?:/\[fingerprint\])?\))"
    r"[^\n]{0,120}[:?]\s*$",
    re.IGNORECASE,
)
_WAITS = ("n_tty_read", "wait_woken", "do_select", "poll_schedule", "do_poll", "do_sys_poll")


class Outcome(Enum):
    """Why the wait ended."""

    ENDED = auto()
    SILENT = auto()
    LIMIT = auto()
    PASSWORD = auto()
    ASKS = auto()
    FULL_SCREEN = auto()
    FLOOD = auto()
    INTERRUPTED = auto()
    STUBBORN = auto()  # interrupted, but still running: the shell must be replaced
    BROKEN = auto()  # it ended, but the shell cannot say how: it must be replaced
    DIED = auto()


STILL_RUNNING = frozenset(
    {Outcome.SILENT, Outcome.LIMIT, Outcome.PASSWORD, Outcome.ASKS, Outcome.FULL_SCREEN, Outcome.FLOOD}
)


class Watch:
    """One wait for the running command of `shell`; set `interrupted` from another thread to end it."""

    def __init__(
        self,
        shell: Shell,
        silence: float,
        limit: float | None,
        interrupted: threading.Event,
        is_held: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_held` returns whether the command waits for a decision of the user; that time does not count."""
        self._is_held = is_held
        self._shell = shell
        self._silence = silence
        self._limit = limit
        self._interrupted = interrupted
        self._began = time.monotonic()
        self._looked = 0.0

    def wait(self) -> Outcome:
        """Read until there is an outcome."""
        shell = self._shell
        while True:
            quiet = not shell.pump(_SLICE)
            if not shell.running:
                return Outcome.ENDED if shell.terminal.guard.is_watching() else self._died()
            if shell.ended or shell.terminal.hung_up:
                return self._died()
            if self._interrupted.is_set():
                return self._interrupt()
            if shell.broken:
                return Outcome.BROKEN
            if quiet:
                shell.rest()
            outcome = self._due(time.monotonic())
            if outcome:
                return outcome

    def _died(self) -> Outcome:
        """Wait for the exit code and the last output of a shell that is ending."""
        shell = self._shell
        until = time.monotonic() + _LAST_WORDS
        while not shell.ended and time.monotonic() < until and not self._interrupted.is_set():
            shell.pump(0.02)
        shell.drain()
        return Outcome.DIED

    def _due(self, now: float) -> Outcome | None:
        if self._is_held():
            self._began = self._shell.heard = now
        if self._limit is not None and now - self._began >= self._limit:
            return Outcome.LIMIT
        if self._shell.stream.overflowed:
            return Outcome.FLOOD
        quiet = now - max(self._began, self._shell.heard)
        if self._limit is None and quiet >= self._silence:
            return Outcome.SILENT
        return self._asks(quiet) if quiet >= _PASSWORD_QUIET else None

    def _asks(self, quiet: float) -> Outcome | None:
        if asks_password(self._shell):
            return Outcome.PASSWORD
        stream = self._shell.stream
        if quiet < _PROMPT_QUIET or self._looked == self._shell.heard:
            return None
        self._looked = self._shell.heard
        if stream.full_screen:
            return Outcome.FULL_SCREEN
        is_open = bool(stream.open_line.strip())
        return Outcome.ASKS if is_open and reads_terminal(self._shell.terminal.foreground()) else None

    def _interrupt(self) -> Outcome:
        """Press C-c, then kill the foreground group, then give up: all before the user notices a delay."""
        shell, terminal = self._shell, self._shell.terminal
        began = time.monotonic()
        shell.interrupt()
        killed = False
        rounds = 0  # on a busy machine they take longer, and so do the events they wait for
        while (passed := time.monotonic() - began) < _REPLACE_AFTER or rounds < _REPLACE_AFTER / _ROUND:
            rounds += 1
            shell.pump(_ROUND)
            if not shell.running:
                return Outcome.INTERRUPTED
            if shell.ended:
                return self._died()
            if passed >= _KILL_AFTER and rounds >= _KILL_AFTER / _ROUND and not killed:
                killed = True
                terminal.signal_foreground(signal.SIGKILL)
                shell.interrupt()
        return Outcome.STUBBORN


def asks_password(shell: Shell) -> bool:
    """Return whether the last output of the command asks for a password or similar."""
    return bool(_PASSWORD.search(shell.stream.prompt))


def reads_terminal(group: int) -> bool:
    """Return whether a process of the group sleeps reading its terminal (Linux only; elsewhere False)."""
    for name in os.listdir("/proc") if Path("/proc/self/wchan").exists() else ():  # noqa: PTH208
        if not name.isdigit():
            continue
        try:
            fields = Path(f"/proc/{name}/stat").read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[2]) != group or fields[0] != "S":
                continue
            waits = Path(f"/proc/{name}/wchan").read_text().startswith(_WAITS)
            if waits and str(Path(f"/proc/{name}/fd/0").readlink()).startswith("/dev/pts"):
                return True
        except (OSError, IndexError, ValueError):
            continue
    return False
