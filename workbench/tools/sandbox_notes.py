"""How the sandbox affects a run of a tool's program: whether it waits for the user, and what was refused to it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from workbench.processes.launch import Launcher
from workbench.text import visible
from workbench.tools.granted_changes import GrantedChanges

BEYOND_FOR_CODE = (
    "[The code runs in a sandbox that lets it write only $TMPDIR and, unless it is read-only, the workspace and "
    "directories that the user had allowed when the interpreter started. If it needs more, run it with execute_bash "
    "and outside_sandbox=true, and say why; the user decides.]"
)


class SandboxWatch:
    """Follows one run of a program that starts now; `sandbox` is None if it runs outside of one."""

    def __init__(self, sandbox: Launcher | None, program: str) -> None:
        self._sandbox = sandbox
        self._program = program
        self._began = time.monotonic()
        self._changes = GrantedChanges(sandbox.granted if sandbox is not None else ())

    def is_held(self) -> bool:
        """Return whether the user is deciding on a host that the program wants; that time does not count."""
        return self._sandbox is not None and self._sandbox.is_waiting(self._program)

    def notes(self, output: str, hint: str, *, has_failed: bool) -> list[str]:
        """Return what the sandbox refused in this run, and what changed in directories that the user granted.

        `hint` says what to do about files outside the workspace.
        """
        if self._sandbox is None or not self._sandbox.holds:
            return []
        refused = self._sandbox.refused_since(self._program, self._began)
        notes = sandbox_notes(output, refused, hint, denial=denial(self._sandbox) if has_failed else "")
        return [*notes, *self._changes.notes()]


def denial(sandbox: Launcher) -> str:
    """Return the error that programs report for a write that the sandbox refuses; it is another one in the partial
    sandbox, which has no containment.
    """
    return "Read-only file system" if sandbox.containment else "Permission denied"


def sandbox_notes(output: str, refused: Sequence[str], hint: str, *, denial: str, wall: str = "sandbox") -> list[str]:
    """Return notes about what the sandbox (or another `wall`) refused: the hosts and, if the output contains `denial`,
    writing outside the workspace, for which the note is `hint`. `denial` is empty if nothing failed.
    """
    hosts = refused_hosts(refused, wall)
    return [*hosts, hint] if denial and denial in output else hosts


def refused_hosts(refused: Sequence[str], wall: str = "sandbox") -> list[str]:
    """Return a note for each host that was refused."""
    return [f"[The {wall} refused {visible(each, lines=False)}]" for each in refused]
