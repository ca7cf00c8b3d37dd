"""Runs a program in a sandbox with the terminal, input and output of its parent, and exits with the program's exit
code.

Its arguments are SANDBOX (the descriptors that `sandboxed_child` takes) and the program's command line.
"""

from __future__ import annotations

import os
import signal
import sys

from workbench.processes import descendants, sandboxed_child

_SECONDS = 5.0


def _prepare(supervisor: int) -> None:
    descendants.die_with(supervisor)


def main() -> None:
    """Start the program, wait for it, and kill what it left running."""
    for name in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(name, signal.SIG_IGN)  # the keys are meant for the program
    descendants.adopt_orphans()
    child, _ = sandboxed_child.start(_prepare, sys.argv[2:], sys.argv[1])
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    # Bubblewrap ends everything with its first process; Landlock ends nothing.
    descendants.end_all(child, _SECONDS)
    sys.exit(code if code >= 0 else 128 - code)
