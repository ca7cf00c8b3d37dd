"""What the sandbox has to do with a run of a tool's program: whether it waits for the user, and what was refused."""

from __future__ import annotations

import time
from collections.abc import Sequence

from workbench.processes.launch import Launcher
from workbench.text import visible

BEYOND_FOR_CODE = (
    "[The code runs in a sandbox that lets it write only $TMPDIR and, unless it is read-only, the workspace and "
    "directories that the user had allowed when the interpreter started. If it needs more, run it with execute_bash "
    "and outside_sandbox=true, and say why; the user decides.]"
)


class SandboxWatch:
    """Follows one run of a program in a sandbox, from now on; `sandbox` is None if there is none."""

    def __init__(self, sandbox: Launcher | None, program: str) -> None:
        self._sandbox = sandbox
        self._program = program
        self._began = time.monotonic()

    def is_held(self) -> bool:
        """Return whether the user is deciding on a host that the program wants, so that its time does not run."""
        return self._sandbox is not None and self._sandbox.is_waiting(self._program)

    def notes(self, output: str, hint: str, *, has_failed: bool) -> list[str]:
        """Return what the sandbox refused in this run; `hint` says what to do about files outside the workspace."""
        if self._sandbox is None or not self._sandbox.holds:
            return []
        refused = self._sandbox.refused_since(self._program, self._began)
        return sandbox_notes(output, refused, hint, denial=denial(self._sandbox) if has_failed else "")


def denial(sandbox: Launcher) -> str:
    """Return what programs report where they may not write; only in the partial sandbox nothing is contained."""
    return "Read-only file system" if sandbox.containment else "Permission denied"


def sandbox_notes(output: str, refused: Sequence[str], hint: str, *, denial: str, wall: str = "sandbox") -> list[str]:
    """Return what the sandbox (or another `wall`) refused: hosts, and writing outside the workspace if the output has
    the `denial`, which is empty where nothing failed. `hint` says what to do about the latter.
    """
    hosts = refused_hosts(refused, wall)
    return [*hosts, hint] if denial and denial in output else hosts


def refused_hosts(refused: Sequence[str], wall: str = "sandbox") -> list[str]:
    """Return a note for each host."""
    return [f"[The {wall} refused {visible(each, lines=False)}]" for each in refused]
