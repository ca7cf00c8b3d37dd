"""Runs `execute_ipython_cell`: finds and starts the session's interpreter, sends it cells, and reports the results."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.processes.launch import Launcher
from workbench.processes.leftovers import prefix
from workbench.processes.rpc import End, RpcWorker
from workbench.processes.spawn import absolute_path
from workbench.tools.execute_bash.output import Cleaner
from workbench.tools.execute_bash.stream import OutputBuffer, OutputText
from workbench.tools.execute_ipython_cell.definition import ExecuteIPythonCellAction, ExecuteIPythonCellObservation
from workbench.tools.executor import ToolExecutor
from workbench.tools.sandbox_notes import BEYOND_FOR_CODE, SandboxWatch
from workbench.tools.schema import ImageContent, TextContent


@dataclass(frozen=True)
class Interpreter:
    """A Python with IPython; `is_own` means that it is the workspace's or the configured one.

    `is_brought` means that it came with the workspace and the user did not configure it.
    """

    python: str
    is_own: bool
    is_brought: bool = False


class NoIPython(Exception):
    """There is no interpreter with IPython; the message says what to do."""


def find_interpreter(workspace: Path, named: str = "") -> Interpreter:
    """Return the interpreter for a workspace: the configured one, its .venv, or ours. Raises NoIPython."""
    if named:
        return Interpreter(str(Path(named).expanduser()), True)
    venv = workspace / ".venv"
    python = venv / "bin" / "python"
    if os.access(python, os.X_OK) and any(venv.glob("lib/python3*/site-packages/IPython/__init__.py")):
        return Interpreter(str(python), True, is_brought=str(python) != sys.executable)
    if importlib.util.find_spec("IPython") is not None:
        return Interpreter(sys.executable, False)
    raise NoIPython(
        f"There is no IPython: neither in {venv} nor in the environment of ohw. Install it in the workspace "
        "(`.venv/bin/python -m pip install ipython`, or `uv pip install ipython`)."
    )


_KERNEL = Path(__file__).with_name("kernel.py")
_START = 60.0
_NO_PIP = "this interpreter has no pip and there is no uv"  # the kernel's own words
_MOST_OUTPUT = 2_000


class KernelError(Exception):
    """The interpreter could not be started; the message says why."""


class Kernels:
    """Starts and ends the interpreter of a session, at most one at a time; owns its private directory."""

    def __init__(
        self,
        workspace: Path,
        state_dir: Path | None,
        python: str,
        hidden_env: Collection[str],
        sandbox: Launcher | None = None,
    ) -> None:
        self._workspace = workspace
        self._state_dir = state_dir
        self._named = python
        self._hidden = hidden_env
        self._sandbox = sandbox
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._granted: Sequence[str] = ()
        self.current: RpcWorker | None = None
        self.interpreter = Interpreter("", True)
        self.working_directory = str(workspace)
        """The current working directory of the cells."""

    @property
    def private_directory(self) -> Path:
        """The directory for packages that `%pip` installs and for long outputs."""
        if self._state_dir is not None:
            return self._state_dir / "cells"
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix=prefix("cells"))
        return Path(self._temporary.name)

    def brought(self) -> str:
        """Return the path of the interpreter that would be started, if it came with the workspace; else an empty
        string.
        """
        try:
            interpreter = find_interpreter(self._workspace, self._named)
        except NoIPython:
            return ""
        return interpreter.python if interpreter.is_brought else ""

    def start(self, on_start: Callable[[RpcWorker], None]) -> RpcWorker:
        """Start a new interpreter and wait until it is ready. Raises KernelError or NoIPython."""
        self.end()
        self._granted = self._sandbox.granted if self._sandbox is not None else ()
        self.interpreter = interpreter = find_interpreter(self._workspace, self._named)
        private_directory = self.private_directory
        try:
            private_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.current = worker = RpcWorker(
                lambda number: [interpreter.python, "-u", str(_KERNEL), str(number)],
                self._workspace,
                hidden_env=self._hidden,
                env=_environment(private_directory, private=not interpreter.is_own),
                sandbox=self._sandbox,
                writable=[private_directory],
            )
        except OSError as error:
            raise KernelError(
                f"{interpreter.python} could not be started in {self._workspace}: {error.strerror}."
            ) from error
        on_start(worker)
        output = bytearray()
        end, _ = worker.answer(_START, output.extend)
        if end != "answer":
            self.end()
            excerpt = output.decode(errors="replace").strip()[-_MOST_OUTPUT:]
            why = {"time": "it was not ready in time", "stop": "it was interrupted while it started"}.get(
                end, "it ended"
            )
            raise KernelError(
                f"IPython could not be started with {interpreter.python}: {why}.{f' {excerpt}' if excerpt else ''}"
            )
        self.working_directory = str(self._workspace)
        return worker

    @property
    def writes_too_much(self) -> bool:
        """Whether the current interpreter can write a directory that the user no longer allows."""
        now = self._sandbox.granted if self._sandbox is not None else ()
        return not set(self._granted).issubset(now)

    def end(self) -> None:
        """End the current interpreter, if there is one."""
        if self.current is not None:
            self.current.close()
            self.current = None

    def close(self) -> None:
        """End the interpreter and remove its temporary directory."""
        self.end()
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None


def _environment(private_directory: Path, *, private: bool) -> dict[str, str]:
    """Return the environment variables; with `private`, `%pip` installs into the private directory."""
    searched = os.environ.get("PYTHONPATH")
    return {
        # With a relative entry the interpreter would import from the workspace at its start, before any cell.
        **({"PYTHONPATH": absolute_path(searched)} if searched else {}),
        "PYTHONIOENCODING": "utf-8:backslashreplace",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "IPYTHONDIR": str(private_directory / "ipython"),
        **({"OHW_CELL_PACKAGES": str(private_directory / "packages")} if private else {}),
    }


_PICTURES, _MOST_PICTURES = ("image/png", "image/jpeg"), 8
_AFTER_INTERRUPT = 0.15
_AFTER_TIME = 2.0
_GONE = "All variables are gone; the next cell starts a new interpreter."
_STAYS = "The interpreter and its variables are still there."
_MISSING = (
    "[This is the workbench's own interpreter, {python}: the packages of the workspace are not there. `%pip install` "
    "adds one for this session; with ipython installed in the workspace's .venv and `restart`, that one is used.]"
)


class _Cell:
    """One running cell: collects its output and its pictures."""

    def __init__(
        self,
        worker: RpcWorker,
        private_directory: Path,
        on_output: Callable[[str], None] | None,
        watch: SandboxWatch,
    ) -> None:
        self.worker = worker
        self.watch = watch
        self.pictures: list[ImageContent] = []
        self.is_late = False
        self.was_stopped = False
        self._on_output = on_output
        self._buffer = OutputBuffer(private_directory)
        self._cleaner = Cleaner()

    def wait(self, seconds: float) -> tuple[End, dict[str, Any]]:
        """Wait for the answer, at most `seconds`; return how the wait ended, and the answer.

        The time in which the user decides about a host does not count.
        """
        is_held = (lambda: False) if self.was_stopped else self.watch.is_held
        return self.worker.answer(seconds, self._print, self._show, is_held)

    def _print(self, data: bytes) -> None:
        self._add(self._cleaner.feed(data))

    def _add(self, text: str) -> None:
        self._buffer.add(text)
        if text and self._on_output:
            self._on_output(text)

    def _show(self, message: dict[str, Any]) -> None:
        data, kind = message.get("image"), message.get("type")
        if isinstance(data, str) and kind in _PICTURES and len(self.pictures) < _MOST_PICTURES:
            self.pictures.append(ImageContent(data=data, mime_type=kind))

    def collect(self) -> OutputText:
        """Return everything that the cell printed."""
        self._add(self._cleaner.flush())
        return self._buffer.collect()


_REWOUND = 2.0
"""Seconds that a rewind waits for an interrupted cell to end; if it does not end, the interpreter is kept."""


class IPythonExecutor(ToolExecutor[ExecuteIPythonCellAction, ExecuteIPythonCellObservation]):
    """Owns the interpreter of one session; cells run one after the other."""

    recalls_last = True

    def __init__(
        self,
        working_dir: str | Path = ".",
        state_dir: Path | None = None,
        *,
        python: str = "",
        hidden_env: Collection[str] = (),
        sandbox: Launcher | None = None,
    ) -> None:
        self._kernels = Kernels(Path(working_dir).absolute(), state_dir, python, hidden_env, sandbox)
        self.sandbox = sandbox
        self._one_cell = threading.Lock()
        self._stop = threading.Event()
        self._running: RpcWorker | None = None
        self._later: threading.Timer | None = None
        self._ran_before = False

    def __call__(self, action: ExecuteIPythonCellAction) -> ExecuteIPythonCellObservation:
        """Run the cell and wait for its end, its time limit or an interruption."""
        with self._one_cell:
            self._stop.clear()
            try:
                return self._run(action)
            except (KernelError, NoIPython) as error:
                failed = ExecuteIPythonCellObservation.from_text(f"{error} Nothing was run.", is_error=True)
                return failed.lacking("ipython") if isinstance(error, NoIPython) else failed
            finally:
                self._running = None

    def _run(self, action: ExecuteIPythonCellAction) -> ExecuteIPythonCellObservation:
        lead: list[str] = []
        worker = self._ready(action, lead)
        if not action.code.strip():
            return self._observed([*lead, "[There was no code to run.]"], restarted=bool(lead))
        if self._stop.is_set():
            raise KernelError("Interrupted.")
        watch = SandboxWatch(self.sandbox, Path(self._kernels.interpreter.python).name)
        cell = _Cell(worker, self._kernels.private_directory, self.on_output, watch)
        worker.ask({"code": action.code})
        end, answer = cell.wait(action.timeout)
        if end in ("time", "stop"):
            end, answer = self._interrupt(worker, cell, end)
            lead += [self._stopped(action, end, is_late=cell.is_late)]
        return self._report(cell, end, answer, lead)

    def _ready(self, action: ExecuteIPythonCellAction, lead: list[str]) -> RpcWorker:
        """Return the running interpreter, or start a new one and add a line about that to `lead`."""
        worker = self._kernels.current
        if self._later is not None:
            self._await_interrupted(worker)
            worker = self._kernels.current
        if worker is not None and not action.restart and not self._kernels.writes_too_much:
            worker.forget_stop()
            self._running = worker
            return worker
        if worker is not None or action.restart or self._ran_before:
            lead.append("[A new interpreter was started; variables of before are gone.]")
        self._ran_before = False
        return self._kernels.start(self._begins)

    def _begins(self, worker: RpcWorker) -> None:
        self._running = worker

    def _await_interrupted(self, worker: RpcWorker | None) -> None:
        """Wait until an interrupted cell has ended, or end its interpreter."""
        assert self._later is not None
        if worker is not None and worker.answer(_AFTER_TIME + 1, lambda data: None)[0] != "answer":
            self._kernels.end()
        self._later.cancel()
        self._later = None

    def _interrupt(self, worker: RpcWorker, cell: _Cell, why: End) -> tuple[End, dict[str, Any]]:
        """Send C-c; if the cell ignores it, end its interpreter: at once after a timeout, else in the background."""
        cell.was_stopped, cell.is_late = True, why == "time"
        worker.press_interrupt()
        end, answer = cell.wait(_AFTER_TIME if cell.is_late else _AFTER_INTERRUPT)
        if end in ("answer", "gone"):
            return end, answer
        if cell.is_late:
            worker.hang_up()
            return cell.wait(_AFTER_TIME)[0], {}
        self._later = threading.Timer(_AFTER_TIME, worker.hang_up)
        self._later.daemon = True
        self._later.start()
        return "stop", {}

    def _stopped(self, action: ExecuteIPythonCellAction, end: End, *, is_late: bool) -> str:
        why = f"Interrupted after {action.timeout:g} s" if is_late else "Interrupted"
        if end == "answer":
            return f"[{why}. {_STAYS}]"
        if end == "stop":
            return f"[{why}. The cell has not reacted yet; in {_AFTER_TIME:g} seconds its interpreter is ended.]"
        return f"[{why}, and ended because it did not react. {_GONE}]"

    def _report(self, cell: _Cell, end: End, answer: dict[str, Any], lead: list[str]) -> ExecuteIPythonCellObservation:
        was_stopped = cell.was_stopped
        error = str(answer.get("error", ""))
        self._kernels.working_directory = str(answer.get("folder") or self._kernels.working_directory)
        output = cell.collect()
        parts = [output.text.rstrip("\n")] if output.text.strip() else []
        if error and not was_stopped:
            parts.append(error)
        if "ModuleNotFoundError" in error and not self._kernels.interpreter.is_own:
            parts.append(_MISSING.format(python=self._kernels.interpreter.python))
        if end not in ("answer", "stop"):
            if not was_stopped:
                parts.append(f"[The interpreter ended{_how(cell.worker.status)}. {_GONE}]")
            self._kernels.end()
        elif not (parts or cell.pictures or was_stopped):
            parts.append("[The cell ran to its end and showed nothing.]")
        parts += cell.watch.notes(output.text + error, BEYOND_FOR_CODE, has_failed=bool(error))
        first, last = ([], lead) if was_stopped else (lead, [])
        observed = self._observed(
            [*first, *filter(None, parts), *last],
            cell.pictures,
            is_error=bool(error) or was_stopped or end != "answer",
            output=output.text,
            error=error,
            count=int(answer.get("count", 0)),
            timed_out=cell.is_late,
            restarted=any("new interpreter was started" in line for line in lead),
            output_file=output.file,
        )
        return observed.lacking("pip") if _NO_PIP in error else observed

    def _observed(
        self, lines: list[str], pictures: list[ImageContent] | None = None, **fields: Any
    ) -> ExecuteIPythonCellObservation:
        content = (TextContent(text="\n".join(lines)), *(pictures or ()))
        return ExecuteIPythonCellObservation(content=content, interpreter=self._kernels.interpreter.python, **fields)

    def starts(self, *, restart: bool) -> str:
        """Return the workspace's interpreter if the next cell would start it, else an empty string."""
        is_ready = self._kernels.current is not None and self._later is None
        return "" if is_ready and not restart else self._kernels.brought()

    def recall(self, observation: dict[str, Any]) -> None:
        """Note that cells ran before a restart of the workbench, so their variables are lost."""
        self._ran_before = True

    def rewound(self, *, files: bool) -> None:
        """End the interpreter if files have changed, since its modules may no longer fit; the next cell starts one."""
        if files and self._one_cell.acquire(timeout=_REWOUND):
            try:
                self._ran_before |= self._kernels.current is not None
                self._kernels.end()
            finally:
                self._one_cell.release()

    def working_dir(self) -> str | None:
        """Return the working directory of the cells; before the first cell, the one they will start in."""
        return self._kernels.working_directory

    def interrupt(self) -> None:
        """Interrupt the running cell."""
        self._stop.set()
        running = self._running
        if running is not None:
            running.stop()

    def close(self) -> None:
        """End the interpreter and all its processes."""
        running = self._running
        if running is not None:
            running.hang_up()
        with self._one_cell:
            if self._later is not None:
                self._later.cancel()
            self._kernels.close()


def _how(status: int | None) -> str:
    if status is None:
        return ""
    if status >= 0:
        return f" with exit code {status}"
    name = signal.Signals(-status).name if -status in signal.valid_signals() else str(-status)
    return f" by the signal {name}{'; perhaps it used more memory than there is' if status == -signal.SIGKILL else ''}"
