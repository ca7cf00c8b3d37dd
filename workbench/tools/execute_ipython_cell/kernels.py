"""The interpreter of one session: started with the first cell, again when it is gone; used by `impl`."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from workbench.processes.leftovers import prefix
from workbench.processes.rpc import RpcWorker
from workbench.processes.start import absolute_path


@dataclass(frozen=True)
class Interpreter:
    """A Python that has IPython; `is_own` says that it is the workspace's (or the one that the settings name).

    `is_brought`: it came with the workspace, and nobody but whoever made that chose it.
    """

    python: str
    is_own: bool
    is_brought: bool = False


class NoIPython(Exception):
    """There is no interpreter with IPython; the text says what to do."""


def find_interpreter(workspace: Path, named: str = "") -> Interpreter:
    """The interpreter for a workspace; raises NoIPython."""
    if named:
        return Interpreter(str(Path(named).expanduser()), True)
    venv = workspace / ".venv"
    python = venv / "bin" / "python"
    if os.access(python, os.X_OK) and any(venv.glob("lib/python3*/site-packages/IPython/__init__.py")):
        return Interpreter(str(python), True, is_brought=str(python) != sys.executable)
    if importlib.util.find_spec("IPython") is not None:
        return Interpreter(sys.executable, False)
    raise NoIPython(
        f"There is no IPython: neither in {venv} nor beside the workbench. Install it in the workspace "
        "(`.venv/bin/python -m pip install ipython`, or `uv pip install ipython`), or use execute_bash."
    )


_KERNEL = Path(__file__).with_name("kernel.py")
_START = 60.0
_SAID = 2_000


class KernelError(Exception):
    """The interpreter could not be started; the text says why."""


class Kernels:
    """One interpreter at a time, and the private folder it may write into."""

    def __init__(self, workspace: Path, state_dir: Path | None, python: str, hidden_env: Collection[str]) -> None:
        self._workspace = workspace
        self._state_dir = state_dir
        self._named = python
        self._hidden = hidden_env
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self.current: RpcWorker | None = None
        self.interpreter = Interpreter("", True)
        self.folder = str(workspace)
        """Where the cells are now."""

    @property
    def place(self) -> Path:
        """The private folder: packages that `%pip` installs, long outputs."""
        if self._state_dir is not None:
            return self._state_dir / "cells"
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix=prefix("cells"))
        return Path(self._temporary.name)

    def brought(self) -> str:
        """The program of the workspace that a start would run; empty where it is not the workspace that chose it."""
        try:
            found = find_interpreter(self._workspace, self._named)
        except NoIPython:
            return ""
        return found.python if found.is_brought else ""

    def start(self, on_start: Callable[[RpcWorker], None]) -> RpcWorker:
        """A new interpreter, ready for its first cell; raises KernelError or NoIPython."""
        self.end()
        self.interpreter = found = find_interpreter(self._workspace, self._named)
        place = self.place
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.current = worker = RpcWorker(
                lambda number: [found.python, "-u", str(_KERNEL), str(number)],
                self._workspace,
                hidden_env=self._hidden,
                env=_environment(place, private=not found.is_own),
            )
        except OSError as error:
            raise KernelError(f"{found.python} could not be started in {self._workspace}: {error.strerror}.") from error
        on_start(worker)
        said = bytearray()
        end, _ = worker.answer(_START, said.extend)
        if end != "answer":
            self.end()
            told = said.decode(errors="replace").strip()[-_SAID:]
            why = {"time": "it did not get ready", "stop": "it was interrupted while it started"}.get(end, "it ended")
            raise KernelError(f"IPython could not be started with {found.python}: {why}.{f' {told}' if told else ''}")
        self.folder = str(self._workspace)
        return worker

    def end(self) -> None:
        """End the interpreter that is there."""
        if self.current is not None:
            self.current.close()
            self.current = None

    def close(self) -> None:
        """End it and remove what was only for it."""
        self.end()
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None


def _environment(place: Path, *, private: bool) -> dict[str, str]:
    """`private`: `%pip` must not change the packages of the workbench itself."""
    searched = os.environ.get("PYTHONPATH")
    return {
        # A relative entry would have the start itself import from the workspace, before any cell was read.
        **({"PYTHONPATH": absolute_path(searched)} if searched else {}),
        "PYTHONIOENCODING": "utf-8:backslashreplace",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "IPYTHONDIR": str(place / "ipython"),
        **({"OHW_CELL_PACKAGES": str(place / "packages")} if private else {}),
    }
