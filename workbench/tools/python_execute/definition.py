"""The tool `python_execute` as model and session see it: a piece of Python, and what it prints."""

from __future__ import annotations

import codecs
import os
import re
import selectors
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from workbench.processes.supervised import SupervisedProcess
from workbench.text import first_line, well_formed
from workbench.tools.context import ConversationState
from workbench.tools.effects import AssessmentContext, Effect, RunsPython
from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import DeclaredTool, ToolAnnotations, ToolDefinition


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


_DESCRIPTION = """Run a piece of Python in a fresh interpreter of the workspace; the result is what it prints.

* Every call begins anew: nothing stays from the call before. Print what you want to see; values are not shown by themselves.
* It runs in the workspace folder, with the packages of its .venv where there is one. There is no input: `input()` fails.
* After `timeout` seconds it is ended with all processes it started; what was printed until then comes back.

Use it for calculations and checks. Use execute_bash for what has to go on, and str_replace_editor to change files."""  # noqa: E501
_SHORT = "Run Python in a fresh interpreter; the result is what it prints. Nothing stays between calls."


class PythonExecuteAction(Action):
    """A piece of Python."""

    code: str = Field(description="The Python code; print the results.")
    timeout: float = Field(5.0, gt=0, le=600, description="Seconds after which it is ended.")


class PythonExecuteObservation(Observation):
    """What the code printed; `exit_code` is negative when it was ended by that signal."""

    output: str = ""
    exit_code: int = 0
    timed_out: bool = False


class PythonExecuteTool(DeclaredTool[PythonExecuteAction, PythonExecuteObservation]):
    """Running Python, ready to use."""

    name = "python_execute"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = PythonExecuteAction
    observation_type = PythonExecuteObservation
    annotations = ToolAnnotations.writing("Run Python", open_world=True)

    def __init__(self, workspace: str | Path | None = None, *, hidden_env: Collection[str] = ()) -> None:
        super().__init__(PythonExecutor(Path(workspace or ".").absolute(), hidden_env))

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the code, and the interpreter that it is run with."""
        starts = getattr(self.executor, "starts", None)
        return (RunsPython(str(arguments.get("code", "")), starts=starts(restart=False) if starts else ""),)

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Running Python in a session's workspace."""
        return (cls(**{"workspace": conv_state.workspace, **params}),)


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
