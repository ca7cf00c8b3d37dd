"""Which interpreter runs the cells: the workspace's own where that has IPython, else the workbench's."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path


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
