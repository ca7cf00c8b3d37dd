"""Runs a command of the user's, such as a test suite, in a scratch copy of the files that a session ends with."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Final

from msgspec import Struct

from workbench.config.locations import Locations
from workbench.llm.model import Cancel
from workbench.processes.supervised_process import SupervisedProcess
from workbench.session.comparison.final_files import GONE, FinalState
from workbench.session.replay.git_copy import copy_repository
from workbench.session.replay.scratch import Scratch, run_confined, scratch_directory
from workbench.session.workspace.repository import SnapshotError

LONGEST: Final = 600.0
"""The most seconds that a check may take."""
_END_OF_OUTPUT: Final = 4_000
"""How many bytes from the end of the output are part of the result."""
_READ: Final = 65_536


class CheckResult(Struct, frozen=True):
    """The result of a check: its exit code, negative for a signal, None if it took too long."""

    code: int | None
    seconds: float
    output: str
    """The end of the command's output, including standard error."""
    is_confined: bool
    """Whether the system prevented the command from writing outside the scratch directory."""

    @property
    def passed(self) -> bool:
        """Whether the exit code is 0."""
        return self.code == 0


def run_check(locations: Locations, state: FinalState, command: str, cancel: Cancel) -> CheckResult:
    """Run a shell command in a scratch copy of a session's final files, with a home directory of its own.

    Where the system can enforce it, its programs cannot write elsewhere. Raises SnapshotError or OSError.
    """
    with scratch_directory() as directory:
        scratch = Scratch(directory, locations, state.workspace, state.session)
        begun = time.monotonic()

        def work() -> tuple[int | None, str]:
            with scratch.environment():
                try:
                    scratch.fill(state.version)
                except SnapshotError as error:
                    raise SnapshotError(GONE.format(state.session, state.version[:8])) from error
                copy_repository(state.workspace, scratch.workspace, state.at)
                return _run(command, scratch.workspace, cancel)

        (code, output), is_confined = run_confined(work, directory, cancel)
    return CheckResult(code, time.monotonic() - begun, output, is_confined)


def _run(command: str, directory: Path, cancel: Cancel) -> tuple[int | None, str]:
    """Run a command until it ends, is canceled or takes too long; return its exit code and the end of its output."""
    process = SupervisedProcess(["/bin/sh", "-c", command], directory, joined=True)
    timer = threading.Timer(LONGEST, process.hang_up)
    timer.start()
    cancel.on_set(process.hang_up)
    output = b""
    try:
        while data := os.read(process.stdout.fileno(), _READ):
            output = (output + data)[-_END_OF_OUTPUT:]
        while process.hear():
            pass
    finally:
        timer.cancel()
        process.close()
    return process.status, output.decode(errors="replace")
