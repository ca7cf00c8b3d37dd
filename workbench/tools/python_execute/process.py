"""One piece of Python in an interpreter of its own, from its start to the end of everything it started; for `impl`."""

from __future__ import annotations

import codecs
import os
import secrets
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from workbench.tools.execute_bash.environment import shell_environment
from workbench.tools.execute_bash.sweep import sweep
from workbench.tools.python_execute.capture import Capture

_KEEPER = Path(__file__).with_name("keeper.py")
_OUTPUT, _ERRORS = 30_000, 8_000
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
        self._nonce = secrets.token_hex(16)
        self._ours, theirs = socket.socketpair()
        self._lock = threading.Lock()
        self._why = ""
        env = shell_environment(os.environ, self._nonce, hidden_env) | {"PYTHONIOENCODING": "utf-8:backslashreplace"}
        try:
            with theirs, tempfile.TemporaryFile() as source:
                source.write(code.encode(errors="surrogatepass"))
                source.seek(0)
                self._keeper = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_KEEPER), str(theirs.fileno()), str(source.fileno()), python],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=folder,
                    env=env,
                    pass_fds=(theirs.fileno(), source.fileno()),
                    start_new_session=True,
                )
        except BaseException:
            self._ours.close()
            raise

    def end(self, why: str) -> None:
        """End it with all it started; returns at once."""
        with self._lock:
            if self._ours.fileno() >= 0 and not self._why:
                self._why = why
                self._ours.shutdown(socket.SHUT_WR)

    def run(self, seconds: float, on_output: Callable[[str], None] | None = None) -> Ended:
        """Read what it prints until it ended, at the latest after `seconds`; call it once."""
        output, errors, said = Capture(_OUTPUT), Capture(_ERRORS), Capture(64)
        live = codecs.getincrementaldecoder("utf-8")("replace")

        def take_output(data: bytes) -> None:
            output.add(data)
            if on_output and (text := live.decode(data)):
                on_output(text)

        assert self._keeper.stdout is not None
        assert self._keeper.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._keeper.stdout, selectors.EVENT_READ, take_output)
            selector.register(self._keeper.stderr, selectors.EVENT_READ, errors.add)
            selector.register(self._ours, selectors.EVENT_READ, said.add)
            try:
                self._read(selector, time.monotonic() + seconds)
            finally:
                self._bury()
        status = said.text().removeprefix("E ").strip()
        return Ended(output.text(), errors.text(), int(status) if status else None, self._why)

    def _read(self, selector: selectors.BaseSelector, until: float) -> None:
        while selector.get_map():
            if not self._why and time.monotonic() >= until:
                self.end("time")
            late = time.monotonic() - until > _PATIENCE
            if late:
                return
            for key, _ in selector.select(0.5 if self._why else min(0.5, max(0.0, until - time.monotonic()))):
                data = os.read(key.fd, _CHUNK)
                key.data(data)
                if not data:
                    selector.unregister(key.fileobj)
                    if key.fileobj is self._ours:
                        self._keeper_is_gone()

    def _keeper_is_gone(self) -> None:
        """It has cleaned up, unless the code killed it: then what carries the nonce is ended here."""
        if self._keeper.wait() != 0:
            sweep([self._nonce])

    def _bury(self) -> None:
        with self._lock:
            self._ours.close()
        try:
            self._keeper.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
            sweep([self._nonce])
        for pipe in (self._keeper.stdout, self._keeper.stderr):
            if pipe:
                pipe.close()
