"""The thread that drives a session: it performs steps until the user is needed, then waits for the next command.

This module also ends the process if a thread fails for lack of memory.
"""

from __future__ import annotations

import logging
import os
import resource
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from workbench.errors import describe_fault, exhaustion, is_out_of_memory

logger = logging.getLogger(__name__)
_NO_MEMORY: Final = (
    b"ohw: the system refused more memory; close other programs or raise the limit (ulimit -v, ulimit -u)\n"
)
_RESERVE: Final = 4_000_000
_M_ARENA_MAX: Final = -8
"""The number of this parameter in glibc's malloc.h."""
_reserve = bytearray()


def end_without_memory() -> None:
    """From now on, end this process with one line on stderr whenever a thread fails for lack of memory.

    Other threads could otherwise wait forever for the failed one: for a lock, a result or an import. Nothing committed
    is lost, because it is in the session file, and supervisors end the running commands. Some memory is reserved for
    this.
    """
    global _reserve
    _reserve = bytearray(_RESERVE)
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        _share_arenas()
    threading.excepthook = _end_or_report
    sys.unraisablehook = _be_silent_or_report


def _share_arenas() -> None:
    """Let all threads allocate from two arenas of the C library, which reserves 64 MB of addresses for each."""
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def _end_or_report(failed: threading.ExceptHookArgs) -> None:
    global _reserve
    if failed.exc_value is not None and is_out_of_memory(failed.exc_value):
        _reserve = bytearray()
        os.write(2, _NO_MEMORY)
        os._exit(1)
    if failed.exc_value is None or not (reason := exhaustion(failed.exc_value)):
        threading.__excepthook__(failed)
        return
    logger.error("a thread ended: %s", reason, exc_info=failed.exc_value)
    with suppress(OSError):
        os.write(2, f"ohw: {reason}\n".encode())


def _be_silent_or_report(failed: sys.UnraisableHookArgs) -> None:
    """Report an exception in a finalizer, unless memory was lacking: the code that needed the memory reports that
    itself.
    """
    if failed.exc_value is None or not exhaustion(failed.exc_value):
        sys.__unraisablehook__(failed)


class Steps(Protocol):
    """The part of a session that the worker uses."""

    def step(self) -> bool:
        """Perform one unit of work; return False if nothing can be done without the user."""


class Worker(threading.Thread):
    """Calls `session.step()` whenever it is woken, and `on_rest`, in this thread, each time no work is left.

    An exception in a step is logged with its traceback and passed to `on_fault` as one line, created by `describe`; the
    thread continues.
    """

    def __init__(
        self,
        session: Steps,
        on_rest: Callable[[], None],
        on_fault: Callable[[str], None],
        describe: Callable[[BaseException], str] = describe_fault,
    ) -> None:
        super().__init__(name="session-worker", daemon=True)
        self._session = session
        self._on_rest = on_rest
        self._on_fault = on_fault
        self._describe = describe
        self._changed = threading.Condition()
        # A session that was reopened may have work left.
        self._woken = True
        self._stopping = False
        self._busy = True

    @property
    def is_busy(self) -> bool:
        """Whether a step is running or about to run."""
        with self._changed:
            return self._busy or self._woken

    def wake(self) -> None:
        """Signal that there may be work to do."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def stop(self) -> None:
        """End the thread after the current step."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def run(self) -> None:
        """Drive the session each time the thread is woken, until stopped; call `on_rest` even if this thread fails."""
        try:
            while self._wait():
                self._drive()
                self._rest()
        except BaseException:
            self._rest()
            raise

    def _rest(self) -> None:
        with self._changed:
            self._busy = False
        self._on_rest()

    def _wait(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._woken or self._stopping)
            self._woken = False
            self._busy = not self._stopping
            return self._busy

    def _drive(self) -> None:
        try:
            while self._session.step():
                if self._stopping:
                    return
        except Exception as error:
            logger.exception("a step failed")
            self._on_fault(self._describe(error))
