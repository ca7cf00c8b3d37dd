"""A terminal driver that takes over the terminal only once and accepts any bytes as input."""

from __future__ import annotations

import asyncio
import codecs
import errno
import os
import selectors
import signal
import termios
from collections.abc import Callable
from functools import partial
from typing import IO, Any, Final, Protocol, runtime_checkable

from textual import events
from textual.app import App
from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size

from workbench.tui.textual_seam.screen import repaint

_CLOSED: Final = frozenset({errno.EIO, errno.EPIPE, errno.EBADF, errno.ENXIO})
"""The errors of a terminal that was closed."""


@runtime_checkable
class HandlesSignals(Protocol):
    """An app that handles the signals that end the process."""

    def install_signals(self) -> None:
        """Install the signal handlers."""


class TerminalDriver(LinuxDriver):
    """A driver that survives invalid input bytes, signals and stops without losing keys, sizes or the terminal's modes.

    Reason: in Textual 8.2.8 one byte that is not UTF-8 ends the input thread and the app. A SIGCONT that follows
    no stop starts a second input thread: both threads read keys, and our own modes are saved as the ones to restore.
    The size is read in the signal handler: a SIGWINCH that interrupts the handler of the one before it reports its
    size first, and the older size is the last one that the app gets. The input thread looks only every 0.1 s, and
    once more at its end, whether it should stop, and each end and each suspension of the app waits for it. A terminal
    that is closed while it reads nothing ends the thread that writes, and the app waits forever for room in its queue.
    Upstream: `LinuxDriver._sigcont_application`, `_auto_restart`, `_app`, `_file`, `_writer_thread`,
    `_enable_mouse_support`, `_enable_bracketed_paste`, `_disable_line_wrap`, `_get_terminal_size` and
    `_in_band_window_resize`; `getincrementaldecoder` and `selectors` in its module.
    Without it: `_sigcont_application` is not called, and Textual's handling applies; a missing helper raises in a
    signal callback after a stop. `tests/terminal` runs the driver in a pseudo terminal.
    """

    _owned_modes: list[Any] | None = None
    """The modes that we set on the terminal; None while we do not own it."""
    _wake_pipe: int | None = None
    """One end of a pipe; when it is closed, the input thread looks whether it should stop."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._file: Any = _UntilClosed(self._file)

    def run_input_thread(self) -> None:
        """Read keys until the driver stops; a byte that is not UTF-8 arrives as U+FFFD."""
        # Textual decodes strictly: one such byte, as in a paste from a Latin-1 program, would end the app.
        lenient = partial(codecs.getincrementaldecoder("utf-8"), errors="replace")
        linux_driver.__dict__["getincrementaldecoder"] = lambda _encoding: lenient
        woken, self._wake_pipe = os.pipe()
        linux_driver.__dict__["selectors"] = _Selectors(woken)
        try:
            super().run_input_thread()
        finally:
            os.close(woken)

    def disable_input(self) -> None:
        """Stop reading keys; return once the input thread has ended."""
        pipe, self._wake_pipe = self._wake_pipe, None
        if pipe is not None:
            os.close(pipe)
        super().disable_input()

    def start_application_mode(self) -> None:
        """Take over the terminal; if we own it already, only set its modes again."""
        if self._owned_modes is None:
            if isinstance(self._app, HandlesSignals):
                self._app.install_signals()
            super().start_application_mode()  # type: ignore[no-untyped-call]
            self._report_sizes_in_order()
            self._owned_modes = _modes(self.fileno)
        else:
            self._set_modes(self._owned_modes)

    def stop_application_mode(self) -> None:
        """Restore the terminal; do nothing if we do not own it."""
        if self._owned_modes is not None:
            self._owned_modes = None
            super().stop_application_mode()

    def close(self) -> None:
        """End the writer thread; a second call does nothing."""
        super().close()
        self._writer_thread = None

    def _sigcont_application(self, *_: object) -> None:
        """Take over the terminal again after a stop, even after a SIGSTOP, which no process can catch."""
        if self._auto_restart:
            self.start_application_mode()
            self._app.call_later(self._repaint_all)

    def _report_sizes_in_order(self) -> None:
        """Read the size in the event loop after each SIGWINCH: whoever reads last has the latest size."""
        loop = asyncio.get_running_loop()
        signal.signal(signal.SIGWINCH, lambda *_: loop.call_soon_threadsafe(self._report_size))

    def _report_size(self) -> None:
        if not self._in_band_window_resize:
            size = Size(*self._get_terminal_size())
            self._app.post_message(events.Resize(size, size))

    def _set_modes(self, modes: list[Any]) -> None:
        """Set everything that the shell may have changed during a stop: terminal modes, alternate screen, cursor,
        reports.
        """
        try:
            termios.tcsetattr(self.fileno, termios.TCSANOW, modes)
        except termios.error:
            return
        self.write("\x1b[?1049h\x1b[?25l\x1b[?1004h")
        self._enable_mouse_support()
        self._enable_bracketed_paste()
        self._disable_line_wrap()

    def _repaint_all(self) -> None:
        """Redraw the whole screen at its current size: after a stop, nothing of it is left on the terminal."""
        signal.raise_signal(signal.SIGWINCH)
        repaint(self._app.screen)


class _UntilClosed:
    """Stands for the terminal's file in Textual's driver: what is written after the terminal was closed is dropped."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> None:
        """Write text unless the terminal has been closed."""
        self._unless_closed(partial(self._file.write, text))

    def flush(self) -> None:
        """Send what has been written unless the terminal has been closed."""
        self._unless_closed(self._file.flush)

    def _unless_closed(self, send: Callable[[], object]) -> None:
        try:
            send()
        except OSError as error:
            if error.errno not in _CLOSED:
                raise


class _Selectors:
    """Stands for the module `selectors` in Textual's driver: its selector also waits for the end of the input."""

    EVENT_READ = selectors.EVENT_READ

    def __init__(self, woken: int) -> None:
        self._woken = woken

    def SelectSelector(self) -> selectors.SelectSelector:
        """Return a selector that returns at once, without this event, when the pipe is closed."""
        return _InputSelector(self._woken)


class _InputSelector(selectors.SelectSelector):
    def __init__(self, woken: int) -> None:
        super().__init__()
        self._woken = woken
        self.register(woken, selectors.EVENT_READ)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return the events of the input; none if the input ends first."""
        return [event for event in super().select(timeout) if event[0].fd != self._woken]


def _modes(descriptor: int) -> list[Any] | None:
    try:
        return termios.tcgetattr(descriptor)
    except termios.error:
        return None


def write_to_terminal(app: App[Any], sequence: str) -> None:
    """Write a control sequence to the terminal, in order with the frames; drop it while the app has no driver.

    Reason: Textual 8.2.8 writes frames in a thread of the driver, and only the driver keeps the order.
    Upstream: `App._driver`.
    Without it: the sequence is dropped.
    """
    driver = getattr(app, "_driver", None)
    if driver is not None:
        driver.write(sequence)
        driver.flush()
