"""Handles signals: they end the app cleanly, restore the terminal, and set the exit code to 128 + the signal number."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import threading
from collections.abc import Callable
from typing import Any

from workbench.processes.spawn import end_running

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
PATIENCE = 1.5
"""Seconds that an orderly end may take before the process is ended by force."""
_RESTORE_TERMINAL = (
    b"\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1004l\x1b[<u\x1b[?1049l\x1b[?25h"
)


def is_under_a_shell() -> bool:
    """Return whether a shell controls this process as a job, so that it can continue it after a stop.

    A program that a terminal, a multiplexer or `ssh -t` starts by itself leads its session: nobody would continue it.
    """
    session = os.getsid(0)
    return os.getpgrp() != session and os.getsid(os.getppid()) == session


class Signals:
    """The signal handlers of a running app; the first SIGINT only warns, like ctrl+c, and the second ends the app."""

    def __init__(
        self,
        leave: Callable[[int], None],
        warn: Callable[[], None],
        ending: str = "",
        step_back: Callable[[], None] = lambda: None,
    ) -> None:
        """`leave` ends the app with an exit code, and `warn` informs the user that another ctrl+c does so.

        `ending` holds further sequences that restore the terminal if the process must be ended by force; `step_back` is
        called before the process is stopped.
        """
        self._leave = leave
        self._warn = warn
        self._ending = ending.encode()
        self._step_back = step_back
        self._interrupted = False
        self._is_stopped = False
        self._terminal = _terminal_state()

    def install(self, loop: asyncio.AbstractEventLoop) -> None:
        """Handle the signals that end the app; call this in the main thread, before the driver starts."""
        for number in ENDING:
            loop.add_signal_handler(number, self._end, number)
        loop.add_signal_handler(signal.SIGINT, self._interrupt)

    def install_stops(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run the driver's handlers for stopping and continuing in the event loop; call this once there is a driver.

        As signal handlers they could deadlock on the writer queue's lock, which the interrupted code may hold.
        """
        go_on = signal.getsignal(signal.SIGCONT)
        if callable(go_on):
            loop.add_signal_handler(signal.SIGCONT, self._go_on, go_on)
        stop = signal.getsignal(signal.SIGTSTP)  # the driver's handler, which restores the terminal and stops
        if callable(stop):
            loop.add_signal_handler(signal.SIGTSTP, self._stop, stop)

    def _stop(self, stop: Callable[[int, None], object]) -> None:
        """Prepare the app and stop it: unlike the key ctrl+z, a SIGTSTP from outside does not pass through the app."""
        if self._is_stopped:
            return  # a second SIGTSTP, sent before the process had stopped: `fg` must not be followed by another stop
        self._is_stopped = True
        self._step_back()
        stop(signal.SIGTSTP, None)

    def _go_on(self, go_on: Callable[[int, None], object]) -> None:
        """Continue; the event loop calls this after any signals sent before the process stopped."""
        self._is_stopped = False
        go_on(signal.SIGCONT, None)

    def _interrupt(self) -> None:
        if self._interrupted:
            self._end(signal.SIGINT)
        self._interrupted = True
        self._warn()

    def _end(self, number: int) -> None:
        code = 128 + number
        threading.Thread(target=self._insist, args=(code,), daemon=True, name="ohw-end").start()
        self._leave(code)

    def _insist(self, code: int) -> None:
        """End the process by force after `PATIENCE`, even if the terminal is gone or the screen hangs."""
        threading.Event().wait(PATIENCE)
        if self._terminal is not None:
            try:
                termios.tcsetattr(0, termios.TCSANOW, self._terminal)
                os.set_blocking(1, False)
                os.write(1, _RESTORE_TERMINAL + self._ending)
            except (OSError, termios.error):
                pass  # nobody is left to see it
        end_running()
        os._exit(code)


def _terminal_state() -> list[Any] | None:
    """Return the terminal's modes before the app changes them, or None if there is no terminal."""
    if not sys.__stdin__ or not sys.__stdin__.isatty():
        return None
    try:
        return termios.tcgetattr(0)
    except termios.error:
        return None
