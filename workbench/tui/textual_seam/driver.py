"""Textual's terminal driver, which owns the terminal exactly once and reads on whatever bytes arrive."""

from __future__ import annotations

import codecs
import signal
import termios
from functools import partial
from typing import Any, Protocol, runtime_checkable

from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver


@runtime_checkable
class TakesSignals(Protocol):
    """An app that ends in order when a signal ends the process."""

    def take_signals(self) -> None:
        """Install the handlers."""


class TerminalDriver(LinuxDriver):
    """Differs from Textual's own (8.2.8) where a byte, a signal or a stop would cost the user the screen."""

    _owned: list[Any] | None = None
    """The modes of the terminal while it is ours; None while it is not."""

    def run_input_thread(self) -> None:
        """Read keys until the driver stops; a byte that is not UTF-8 arrives as U+FFFD."""
        # Textual decodes strictly: one such byte, as in a paste from a Latin-1 program, would end thread and app.
        lenient = partial(codecs.getincrementaldecoder("utf-8"), errors="replace")
        linux_driver.__dict__["getincrementaldecoder"] = lambda _encoding: lenient
        super().run_input_thread()

    def start_application_mode(self) -> None:
        """Take the terminal; one that is ours already only gets its modes again."""
        if self._owned is None:
            if isinstance(self._app, TakesSignals):
                self._app.take_signals()
            super().start_application_mode()  # type: ignore[no-untyped-call]
            self._owned = _modes(self.fileno)
        else:
            self._set_modes(self._owned)

    def stop_application_mode(self) -> None:
        """Give the terminal back; nothing where it is not ours."""
        if self._owned is not None:
            self._owned = None
            super().stop_application_mode()

    def close(self) -> None:
        """End the writer; once."""
        super().close()
        self._writer_thread = None

    def _sigcont_application(self, *_: object) -> None:
        """Take the terminal again after a stop, also after one by SIGSTOP, which nobody can prepare for.

        A second start in a process that was not stopped would leave two threads that share the keys between them, and
        remember our own modes as those to restore.
        """
        if self._auto_restart:
            self.start_application_mode()
            self._app.call_later(self._paint)

    def _set_modes(self, modes: list[Any]) -> None:
        """What the shell may have changed meanwhile: line discipline, alternate screen, cursor, reports."""
        try:
            termios.tcsetattr(self.fileno, termios.TCSANOW, modes)
        except termios.error:
            return
        self.write("\x1b[?1049h\x1b[?25l\x1b[?1004h")
        self._enable_mouse_support()
        self._enable_bracketed_paste()
        self._disable_line_wrap()

    def _paint(self) -> None:
        """Draw all of it, at the size there is now: nothing on the terminal is ours any more."""
        signal.raise_signal(signal.SIGWINCH)
        screen = self._app.screen
        screen._compositor._dirty_regions.add(screen._compositor.size.region)
        screen._compositor_refresh()


def _modes(descriptor: int) -> list[Any] | None:
    try:
        return termios.tcgetattr(descriptor)
    except termios.error:
        return None
