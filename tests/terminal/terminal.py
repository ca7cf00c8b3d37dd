"""The real `ohw` in a pseudo terminal: keys in, the picture of the terminal out."""

from __future__ import annotations

import codecs
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pexpect

from tests.terminal.screen import Screen

KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "backspace": "\x7f",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "page_up": "\x1b[5~",
    "page_down": "\x1b[6~",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "f1": "\x1bOP",
    "f2": "\x1bOQ",
    "f3": "\x1bOR",
    "f4": "\x1bOS",
    "f5": "\x1b[15~",
    "f8": "\x1b[19~",
    "f9": "\x1b[20~",
}


PATIENCE = 60.0
"""Seconds until a test gives up: on a busy machine, importing a model's library alone may take half of that."""


class Terminal:
    """One run of `ohw` with arguments; a context manager that ends the processes it started."""

    def __init__(
        self,
        args: Sequence[str],
        columns: int,
        rows: int,
        env: Mapping[str, str],
        *,
        cwd: Path | None = None,
        program: Sequence[str] = ("-m", "workbench"),
        python: str | Path = sys.executable,
    ) -> None:
        self.screen = Screen(columns, rows)
        self.raw = b""
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self.process = pexpect.spawn(
            str(python),
            [*program, *args],
            cwd=cwd,
            env=dict(env),
            dimensions=(rows, columns),
            timeout=None,
            maxread=65536,
        )
        self.process.delaybeforesend = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Return the process id of the screen."""
        return int(self.process.pid)

    def text(self) -> str:
        """Return what the terminal shows now."""
        while self._read(0):
            pass
        return self.screen.text

    def wait_for(self, text: str, seconds: float = PATIENCE) -> str:
        """Wait until the terminal shows this text; return the whole picture."""
        return self.wait_until(lambda screen: text in screen, f"{text!r} to be shown", seconds)

    def wait_until(self, is_so: Callable[[str], object], what: str, seconds: float = PATIENCE) -> str:
        """Wait until the condition holds for the picture; return the picture."""
        until = time.monotonic() + seconds
        while not is_so(shown := self.text()):
            if time.monotonic() > until:
                raise AssertionError(f"waited {seconds} s for {what}; the terminal shows:\n{shown}")
            if not self._read(0.1) and not self.process.isalive():
                time.sleep(0.05)  # it has ended: only the last bytes may still come
        return shown

    def press(self, *keys: str) -> None:
        """Press keys by name (`enter`, `f1`, `ctrl+q`) or single characters."""
        for key in keys:
            self.process.send(_bytes(key))

    def never_ask(self) -> None:
        """Confirm the mode that never asks, like a user who has read its meaning."""
        self.wait_for("y Don't ask")
        self.press("y")
        self.wait_until(lambda screen: "y Don't ask" not in screen, "the mode to be confirmed")

    def type(self, text: str) -> None:
        """Type text as it is."""
        self.process.send(text)

    def paste(self, text: str) -> None:
        """Paste text, bracketed as terminals do it."""
        self.process.send(f"\x1b[200~{text}\x1b[201~")

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        self.screen = Screen(columns, rows)
        self.process.setwinsize(rows, columns)

    def resize_often(self, sizes: Sequence[tuple[int, int]], seconds: float) -> float:
        """Resize through these sizes, evenly over that time; return the time it took. Output is only stored."""
        start = time.monotonic()
        for number, (columns, rows) in enumerate(sizes, 1):
            self.process.setwinsize(rows, columns)
            while (left := start + seconds * number / len(sizes) - time.monotonic()) > 0:
                self._keep(left)
        return time.monotonic() - start

    def hang_up(self) -> None:
        """Close the terminal's window: this end of the pseudo terminal is closed."""
        self.process.ptyproc.fileobj.close()  # type: ignore[attr-defined]

    def wait_exit(self, seconds: float = 30.0) -> int:
        """Wait for the end of the process; return its exit code, or 128 + the signal that ended it."""
        until = time.monotonic() + seconds
        while self.process.isalive():
            if time.monotonic() > until:
                raise AssertionError(f"it still runs after {seconds} s; the terminal shows:\n{self.text()}")
            self._read(0.1)
        self.text()
        if self.process.signalstatus is not None:
            return 128 + int(self.process.signalstatus)
        return int(self.process.exitstatus)

    def close(self) -> None:
        """End the process, in an orderly way if possible."""
        if self.process.isalive():
            self.process.kill(signal.SIGTERM)
            try:
                self.wait_exit(10)
            except AssertionError:
                self.process.kill(signal.SIGKILL)
                self.process.wait()
        self.process.close(force=True)

    def _read(self, seconds: float) -> bool:
        data = self._keep(seconds)
        self.screen.feed(self._decode(data))
        return bool(data)

    def _keep(self, seconds: float) -> bytes:
        try:
            data = self.process.read_nonblocking(65536, timeout=seconds)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return b""
        self.raw += data
        return bytes(data)


def _bytes(key: str) -> str:
    if key.startswith("alt+") and len(key) == 5:
        return f"\x1b{key[-1]}"
    if key.startswith("ctrl+") and len(key) == 6:
        return chr(ord(key[-1]) & 0x1F)
    return KEYS.get(key, key)
