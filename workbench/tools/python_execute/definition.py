"""The tool `python_execute`: its action, observation and description, and the executor that runs the code."""

from __future__ import annotations

import codecs
import os
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

from workbench.lazy_pattern import lazy_pattern
from workbench.processes.launch import Launcher
from workbench.processes.supervised_process import SupervisedProcess
from workbench.text import first_line, well_formed
from workbench.tools.context import ConversationState, sandbox_of, workspace_of
from workbench.tools.effects import AssessmentContext, Effect, RunsPython
from workbench.tools.executor import ToolExecutor
from workbench.tools.sandbox_notes import BEYOND_FOR_CODE, SandboxWatch
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import DeclaredTool, ToolAnnotations, ToolDefinition


class Capture:
    """Collects output; stores about `limit` bytes, half from the beginning and half from the end."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = b""
        self._tail = b""
        self._lost = 0

    def add(self, data: bytes) -> None:
        """Add bytes."""
        free = self._half - len(self._head)
        if free > 0:
            self._head += data[:free]
            data = data[free:]
        self._tail += data
        if len(self._tail) > 4 * self._half:
            self._shorten()

    def _shorten(self) -> None:
        extra = max(0, len(self._tail) - self._half)
        self._lost += extra
        self._tail = self._tail[extra:]

    def text(self) -> str:
        """Return the stored text, with a notice in place of the omitted bytes."""
        self._shorten()
        if not self._lost:
            return well_formed((self._head + self._tail).decode(errors="replace"))
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        return well_formed(f"{head}\n[… {self._lost} bytes omitted …]\n{tail}")


_RUN = "exec(compile(__import__('os').fdopen({code}, 'rb').read(), '<code>', 'exec'))"
_OUTPUT, _ERRORS = 30_000, 8_000
_MEMORY = 4 << 30
_PATIENCE = 15.0
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Ended:
    """The result of a process: its `status` is negative for a signal, and None if the process was ended from outside.

    `why` is the reason that was given to `Process.end`, such as "time"; empty if there was none.
    """

    output: str
    errors: str
    status: int | None
    why: str


class Process:
    """A process that runs code; `end()` may be called from another thread."""

    def __init__(
        self,
        code: str,
        python: str,
        directory: Path,
        hidden_env: Collection[str] = (),
        sandbox: Launcher | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._why = ""
        with tempfile.TemporaryFile() as source:
            source.write(code.encode(errors="surrogatepass"))
            source.seek(0)
            self._process = SupervisedProcess(
                [python, "-u", "-c", _RUN.format(code=source.fileno())],
                directory,
                hidden_env=hidden_env,
                env={"PYTHONIOENCODING": "utf-8:backslashreplace"},
                passed=(source.fileno(),),
                memory=_MEMORY,
                sandbox=sandbox,
            )

    def end(self, why: str) -> None:
        """End the process and all its children; does not wait."""
        with self._lock:
            if not self._why:
                self._why = why
                self._process.hang_up()

    def run(
        self,
        seconds: float,
        on_output: Callable[[str], None] | None = None,
        is_held: Callable[[], bool] = lambda: False,
    ) -> Ended:
        """Read the output until the process ends, at most `seconds`; return the result. Must be called only once.

        The time starts again whenever `is_held` returns True.
        """
        output, errors = Capture(_OUTPUT), Capture(_ERRORS)
        live = codecs.getincrementaldecoder("utf-8")("replace")

        def add_output(data: bytes) -> None:
            output.add(data)
            if on_output and (text := live.decode(data)):
                on_output(text)

        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ, add_output)
            selector.register(self._process.stderr, selectors.EVENT_READ, errors.add)
            selector.register(self._process, selectors.EVENT_READ)
            try:
                self._read(selector, seconds, is_held)
            finally:
                self._process.close()
        return Ended(output.text(), errors.text(), self._process.status, self._why)

    def _read(self, selector: selectors.BaseSelector, seconds: float, is_held: Callable[[], bool]) -> None:
        until = time.monotonic() + seconds
        while selector.get_map():
            if not self._why and is_held():
                until = time.monotonic() + seconds
            if not self._why and time.monotonic() >= until:
                self.end("time")
            late = time.monotonic() - until > _PATIENCE
            if late:
                return
            for key, _ in selector.select(0.5 if self._why else min(0.5, max(0.0, until - time.monotonic()))):
                if not self._receive(key):
                    selector.unregister(key.fileobj)

    def _receive(self, key: selectors.SelectorKey) -> bool:
        """Read the next chunk of a ready stream; return False at its end."""
        if key.fileobj is self._process:
            return self._process.hear()
        data = os.read(key.fd, _CHUNK)
        key.data(data)
        return bool(data)


_DESCRIPTION = """Run a piece of Python in a fresh interpreter of the workspace; the result is what it prints.

* Every call starts a new process: nothing stays from the call before. Print what you want to see; values are not shown by themselves.
* It runs in the workspace directory, with the packages of its .venv where there is one. There is no input: `input()` fails.
* After `timeout` seconds it is ended with all processes it started; what was printed until then comes back.

Use it for calculations and checks. Use execute_bash for what has to keep running, and str_replace_editor to change files."""  # noqa: E501
_SHORT = "Run Python in a fresh interpreter; the result is what it prints. Nothing stays between calls."


class PythonExecuteAction(Action):
    """Python code to run."""

    code: str = Field(description="The Python code; print the results.")
    timeout: float = Field(5.0, gt=0, le=600, description="Seconds after which it is ended.")


class PythonExecuteObservation(Observation):
    """The output of the code; `exit_code` is negative if a signal or the workbench ended it."""

    output: str = ""
    exit_code: int = 0
    timed_out: bool = False


class PythonExecuteTool(DeclaredTool[PythonExecuteAction, PythonExecuteObservation]):
    """Runs Python code in the workspace."""

    name = "python_execute"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = PythonExecuteAction
    observation_type = PythonExecuteObservation
    annotations = ToolAnnotations.writing("Run Python", open_world=True)

    def __init__(
        self,
        workspace: str | Path | None = None,
        *,
        hidden_env: Collection[str] = (),
        sandbox: Launcher | None = None,
    ) -> None:
        super().__init__(PythonExecutor(workspace or ".", hidden_env, sandbox))

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the effect of running the code; it names the workspace's interpreter if there is one."""
        starts = getattr(self.executor, "starts", None)
        return (RunsPython(str(arguments.get("code", "")), starts=starts(restart=False) if starts else ""),)

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Return the tool for a session, in its workspace."""
        return (cls(**{"workspace": workspace_of(conv_state), "sandbox": sandbox_of(conv_state), **params}),)


_STOPPED = {
    "time": "Ended after {seconds:g} seconds, with all it started. A larger `timeout` gives it longer.",
    "interrupt": "Interrupted; it was ended with all it started.",
    "": "Error: the process that watches over the code was ended, and the code with it.",
}
"""Messages for code that was ended from outside, by reason."""
_LINE_NUMBER = lazy_pattern(r'File "<code>", line (\d+)')


class PythonExecutor(ToolExecutor[PythonExecuteAction, PythonExecuteObservation]):
    """Runs code in one workspace; calls may run concurrently."""

    def __init__(
        self, working_dir: str | Path = ".", hidden_env: Collection[str] = (), sandbox: Launcher | None = None
    ) -> None:
        self._workspace = Path(working_dir).absolute()
        self._hidden = frozenset(hidden_env)
        self.sandbox = sandbox
        self._lock = threading.Lock()
        self._running: set[Process] = set()

    def __call__(self, action: PythonExecuteAction) -> PythonExecuteObservation:
        """Run the code and wait for its end."""
        python = interpreter(self._workspace)
        watch = SandboxWatch(self.sandbox, Path(python).name)
        try:
            process = Process(action.code, python, self._workspace, self._hidden, self.sandbox)
        except OSError as error:
            message = f"Python could not be started in {self._workspace}: {error.strerror}. Nothing was run."
            return PythonExecuteObservation.from_text(message, is_error=True, exit_code=-1)
        with self._lock:
            self._running.add(process)
        try:
            ended = process.run(action.timeout, self.on_output, watch.is_held)
        finally:
            with self._lock:
                self._running.discard(process)
        return _report(action, ended, watch)

    def starts(self, *, restart: bool) -> str:
        """Return the workspace's interpreter, which each call starts; empty if the workbench's own is used."""
        program = interpreter(self._workspace)
        return "" if program == sys.executable else program

    def interrupt(self) -> None:
        """End the running code with every process that it started."""
        with self._lock:
            running = tuple(self._running)
        for process in running:
            process.end("interrupt")

    def close(self) -> None:
        """End the running code with every process that it started."""
        self.interrupt()


def interpreter(workspace: Path) -> str:
    """Return the Python of the workspace's .venv if there is one, else our own."""
    own = workspace / ".venv" / "bin" / "python"
    return str(own) if os.access(own, os.X_OK) else sys.executable


def _report(action: PythonExecuteAction, ended: Ended, watch: SandboxWatch) -> PythonExecuteObservation:
    trouble = _trouble(action, ended)
    lines = [ended.output.rstrip("\n")] if ended.output.strip() else []
    if trouble:
        lines.append(f"[{trouble}]")
    elif not lines:
        lines.append("[The code ran to its end and printed nothing. Use print() to see values.]")
    lines += watch.notes(ended.output + ended.errors, BEYOND_FOR_CODE, has_failed=bool(trouble))
    return PythonExecuteObservation.from_text(
        "\n".join(lines),
        is_error=bool(trouble),
        output=ended.output,
        exit_code=-1 if ended.status is None else ended.status,
        timed_out=ended.why == "time" and ended.status is None,
    )


def _trouble(action: PythonExecuteAction, ended: Ended) -> str:
    """Return a line that says what went wrong; empty if nothing did."""
    if ended.status == 0:
        return ""
    if ended.status is None:
        return _STOPPED[ended.why].format(seconds=action.timeout)
    if ended.status < 0:
        return _killed(-ended.status)
    lines = [line for line in ended.errors.splitlines() if line.strip() and not line.startswith(" ")]
    line_numbers = _LINE_NUMBER.findall(ended.errors)
    where = f" (line {line_numbers[-1]} of the code)" if line_numbers else ""
    return f"Error: {first_line(lines[-1], 500)}{where}" if lines else f"It ended with exit code {ended.status}."


def _killed(number: int) -> str:
    name = signal.Signals(number).name if number in signal.valid_signals() else str(number)
    why = "; perhaps it used more memory than there is" if number == signal.SIGKILL else ""
    return f"Error: it was ended by the signal {name}{why}."
