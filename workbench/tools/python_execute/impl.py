"""Runs `python_execute`: each call an interpreter of its own, of which nothing is left afterwards."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Collection
from pathlib import Path

from workbench.text import first_line
from workbench.tools.executor import ToolExecutor
from workbench.tools.python_execute.definition import PythonExecuteAction, PythonExecuteObservation
from workbench.tools.python_execute.process import Ended, Process

_STOPPED = {
    "time": "Ended after {seconds:g} seconds, with all it started. A larger `timeout` gives it longer.",
    "interrupt": "Interrupted; it was ended with all it started.",
    "": "Error: the process that watches over the code was ended, and the code with it.",
}
"""Why code did not come to its own end, by the reason."""
_PLACE = re.compile(r'File "<code>", line (\d+)')


class PythonExecutor(ToolExecutor[PythonExecuteAction, PythonExecuteObservation]):
    """Runs code in one workspace; calls may run side by side."""

    def __init__(self, workspace: Path, hidden_env: Collection[str] = ()) -> None:
        self._workspace = workspace
        self._hidden = frozenset(hidden_env)
        self._lock = threading.Lock()
        self._running: set[Process] = set()

    def __call__(self, action: PythonExecuteAction) -> PythonExecuteObservation:
        """Run the code to its end."""
        try:
            process = Process(action.code, interpreter(self._workspace), self._workspace, self._hidden)
        except OSError as error:
            said = f"Python could not be started in {self._workspace}: {error.strerror}. Nothing was run."
            return PythonExecuteObservation.from_text(said, is_error=True, exit_code=-1)
        with self._lock:
            self._running.add(process)
        try:
            ended = process.run(action.timeout, self.on_output)
        finally:
            with self._lock:
                self._running.discard(process)
        return _report(action, ended)

    def starts(self, *, restart: bool) -> str:
        """The program of the workspace that each call starts; empty where it is the workbench's own."""
        found = interpreter(self._workspace)
        return "" if found == sys.executable else found

    def interrupt(self) -> None:
        """End the code that runs, with all it started."""
        with self._lock:
            running = tuple(self._running)
        for process in running:
            process.end("interrupt")

    def close(self) -> None:
        """End the code that runs, with all it started."""
        self.interrupt()


def interpreter(workspace: Path) -> str:
    """The Python of the workspace's .venv where there is one, else the one that runs this."""
    own = workspace / ".venv" / "bin" / "python"
    return str(own) if os.access(own, os.X_OK) else sys.executable


def _report(action: PythonExecuteAction, ended: Ended) -> PythonExecuteObservation:
    trouble = _trouble(action, ended)
    said = [ended.output.rstrip("\n")] if ended.output.strip() else []
    if trouble:
        said.append(f"[{trouble}]")
    elif not said:
        said.append("[The code ran to its end and printed nothing. Use print() to see values.]")
    return PythonExecuteObservation.from_text(
        "\n".join(said),
        is_error=bool(trouble),
        output=ended.output,
        exit_code=-1 if ended.status is None else ended.status,
        timed_out=ended.why == "time" and ended.status is None,
    )


def _trouble(action: PythonExecuteAction, ended: Ended) -> str:
    """What went wrong, in a line; empty when nothing did."""
    if ended.status == 0:
        return ""
    if ended.status is None:
        return _STOPPED[ended.why].format(seconds=action.timeout)
    if ended.status < 0:
        return _killed(-ended.status)
    lines = [line for line in ended.errors.splitlines() if line.strip() and not line.startswith(" ")]
    places = _PLACE.findall(ended.errors)
    where = f" (line {places[-1]} of the code)" if places else ""
    return f"Error: {first_line(lines[-1], 500)}{where}" if lines else f"It ended with exit code {ended.status}."


def _killed(number: int) -> str:
    name = signal.Signals(number).name if number in signal.valid_signals() else str(number)
    why = "; perhaps it used more memory than there is" if number == signal.SIGKILL else ""
    return f"Error: it was ended by the signal {name}{why}."
