"""Runs hooks in a supervised process of their own, which is started with the first hook and ends with the session.

That process is in the session's sandbox; a second one, outside of it, runs the hooks that the user's settings exclude
from the sandbox. A hook that hangs or prints too much is ended, with everything that it has started.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from workbench.hooks.hook import Hook
from workbench.llm.model import Cancel
from workbench.processes.launch import Launcher
from workbench.processes.rpc import RpcWorker
from workbench.processes.spawn import small_python

_GRACE: Final = 10.0
"""How many seconds after a hook's timeout, at most, the process that runs hooks is considered hung."""
_NOTICEABLE: Final = 0.5
"""Seconds after which the user is shown which hook runs."""
_MOST_KB: Final = 1024
_INTERRUPTED: Final = "it was interrupted"


class HookRun(msgspec.Struct, frozen=True):
    """The result of one run: the exit status (negative for a signal, None if the hook did not exit by itself), what it
    printed to stdout and stderr, and its duration in seconds.
    """

    status: int | None
    output: str = ""
    errors: str = ""
    failure: str = ""
    """Why the hook did not start or was ended, as one line; empty if it exited by itself."""
    duration: float = 0.0


class _Delay:
    """An `is_held` for `RpcWorker.answer`: always False, so the timeout is not extended. Calls `on_delay` once, as soon
    as the hook has been running noticeably long.
    """

    def __init__(self, began: float, on_delay: Callable[[], None]) -> None:
        self._began = began
        self._on_delay = on_delay
        self._is_reported = False

    def __call__(self) -> bool:
        if not self._is_reported and time.monotonic() - self._began > _NOTICEABLE:
            self._is_reported = True
            self._on_delay()
        return False


class HookRunner:
    """The processes that run the hooks of one session; one thread at a time may use it."""

    def __init__(self, workspace: Path, sandbox: Launcher | None = None) -> None:
        self._workspace = workspace
        self._sandbox = sandbox
        self._workers: dict[bool, RpcWorker] = {}
        self._lock = threading.Lock()
        self._running: RpcWorker | None = None

    def run(
        self,
        hook: Hook,
        data: str,
        cancel: Cancel,
        env: Mapping[str, str],
        on_delay: Callable[[], None] = lambda: None,
    ) -> HookRun:
        """Run a hook with `data` as its input; `cancel` ends it. Calls `on_delay` if the hook runs noticeably long."""
        began = time.monotonic()
        try:
            worker = self._worker(hook.in_sandbox)
        except OSError as error:
            return HookRun(None, failure=f"it could not be started: {error.strerror or error}")
        seconds, directory = hook.timeout, str(self._workspace)
        self._begin(worker)
        cancel.on_set(self._stop)
        request = {"command": hook.command, "directory": directory, "env": dict(env), "input": data}
        worker.ask({**request, "seconds": seconds})
        end, answer = worker.answer(seconds + min(_GRACE, 1 + seconds), lambda _: None, is_held=_Delay(began, on_delay))
        self._begin(None)
        duration = time.monotonic() - began
        if end != "answer":
            self._discard(hook.in_sandbox)
            why = {"stop": _INTERRUPTED, "time": _hung(seconds)}.get(end, "the process that runs hooks ended")
            return HookRun(None, failure=why, duration=duration)
        ended = {"time": _hung(seconds), "size": f"it printed more than {_MOST_KB} kB and was ended"}
        failure = ended.get(answer["end"], "")
        return HookRun(answer["status"], answer["output"], answer["errors"], failure, duration)

    def _begin(self, worker: RpcWorker | None) -> None:
        """Set the process that an interrupt stops; None if no hook runs."""
        with self._lock:
            self._running = worker
            if worker is not None:
                worker.forget_stop()

    def _stop(self) -> None:
        with self._lock:
            if self._running is not None:
                self._running.stop()

    def _worker(self, in_sandbox: bool) -> RpcWorker:
        """Return the process for hooks in or outside the sandbox, which is started if necessary. Raises OSError."""
        worker = self._workers.get(in_sandbox)
        if worker is not None and not worker.is_gone:
            return worker
        self._discard(in_sandbox)
        self._workers[in_sandbox] = RpcWorker(
            lambda number: small_python("workbench.processes.hook_server", str(number)),
            self._workspace,
            sandbox=self._sandbox if in_sandbox else None,
        )
        return self._workers[in_sandbox]

    def _discard(self, in_sandbox: bool) -> None:
        worker = self._workers.pop(in_sandbox, None)
        if worker is not None:
            worker.close()

    def close(self) -> None:
        """End the processes, with everything that hooks have started."""
        for in_sandbox in list(self._workers):
            self._discard(in_sandbox)


def _hung(seconds: float) -> str:
    return f"it was ended after its timeout of {round(seconds, 1):g} s"
