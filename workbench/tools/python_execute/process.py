"""One piece of Python in an interpreter of its own, from its start to the end of everything it started; for `impl`."""

from __future__ import annotations

import codecs
import os
import selectors
import tempfile
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from workbench.processes.supervised import SupervisedProcess
from workbench.text import well_formed


class Capture:
    """Takes bytes as they come; keeps about `limit` of them, half from the beginning and half from the end."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = b""
        self._tail = b""
        self._lost = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 4 * self._half:
            self._shorten()

    def _shorten(self) -> None:
        extra = max(0, len(self._tail) - self._half)
        self._lost += extra
        self._tail = self._tail[extra:]

    def text(self) -> str:
        """What was kept, with a notice where something is missing."""
        self._shorten()
        if not self._lost:
            return well_formed((self._head + self._tail).decode(errors="replace"))
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        return well_formed(f"{head}\n[… {self._lost} bytes left out …]\n{tail}")


_RUN = "exec(compile(__import__('os').fdopen({code}, 'rb').read(), '<code>', 'exec'))"
_OUTPUT, _ERRORS = 30_000, 8_000
_MEMORY = 4 << 30
_PATIENCE = 15.0
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Ended:
    """How it ended; `status` is None when it was ended from here."""

    output: str
    errors: str
    status: int | None
    why: str


class Process:
    """The process; `end()` may come from another thread."""

    def __init__(self, code: str, python: str, folder: Path, hidden_env: Collection[str] = ()) -> None:
        self._lock = threading.Lock()
        self._why = ""
        with tempfile.TemporaryFile() as source:
            source.write(code.encode(errors="surrogatepass"))
            source.seek(0)
            self._kept = SupervisedProcess(
                [python, "-u", "-c", _RUN.format(code=source.fileno())],
                folder,
                hidden_env=hidden_env,
                env={"PYTHONIOENCODING": "utf-8:backslashreplace"},
                passed=(source.fileno(),),
                memory=_MEMORY,
            )

    def end(self, why: str) -> None:
        """End it with all it started; returns at once."""
        with self._lock:
            if not self._why:
                self._why = why
                self._kept.hang_up()

    def run(self, seconds: float, on_output: Callable[[str], None] | None = None) -> Ended:
        """Read what it prints until it ended, at the latest after `seconds`; call it once."""
        output, errors = Capture(_OUTPUT), Capture(_ERRORS)
        live = codecs.getincrementaldecoder("utf-8")("replace")

        def take_output(data: bytes) -> None:
            output.add(data)
            if on_output and (text := live.decode(data)):
                on_output(text)

        with selectors.DefaultSelector() as selector:
            selector.register(self._kept.stdout, selectors.EVENT_READ, take_output)
            selector.register(self._kept.stderr, selectors.EVENT_READ, errors.add)
            selector.register(self._kept, selectors.EVENT_READ)
            try:
                self._read(selector, time.monotonic() + seconds)
            finally:
                self._kept.close()
        return Ended(output.text(), errors.text(), self._kept.status, self._why)

    def _read(self, selector: selectors.BaseSelector, until: float) -> None:
        while selector.get_map():
            if not self._why and time.monotonic() >= until:
                self.end("time")
            late = time.monotonic() - until > _PATIENCE
            if late:
                return
            for key, _ in selector.select(0.5 if self._why else min(0.5, max(0.0, until - time.monotonic()))):
                if not self._take(key):
                    selector.unregister(key.fileobj)

    def _take(self, key: selectors.SelectorKey) -> bool:
        """The next piece of what is ready; False at its end."""
        if key.fileobj is self._kept:
            return self._kept.hear()
        data = os.read(key.fd, _CHUNK)
        key.data(data)
        return bool(data)
