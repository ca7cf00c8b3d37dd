"""`ohw sandbox` shows whether there is a sandbox; `ohw sandbox run` runs one command inside."""

from __future__ import annotations

import os
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from workbench.cli.common import print_line, settings_of, workspace_of
from workbench.config.settings import Settings
from workbench.errors import UsageError, WorkbenchError
from workbench.processes.spawn import find_program, small_python, start
from workbench.sandbox.command_guard import CommandChanges, CommandGuard
from workbench.sandbox.proof import Attempt, Proof, prove
from workbench.sandbox.sandbox import Boundary, Sandbox
from workbench.sandbox.session_sandbox import boundary_of
from workbench.secrets.secret_names import child_environment
from workbench.text import visible, visible_path

_NAMED: Final = 4
"""The maximum number of protected files named in the line about them."""
_DYING: Final = 0.1
"""Seconds to let the kernel end the programs in the sandbox after a signal has ended bubblewrap."""


def sandbox(arguments: Namespace) -> int:
    """Print whether the sandbox is proven, and return 0 or 1; or run a command inside, and return its exit code."""
    where, settings = settings_of(arguments)
    boundary = boundary_of(settings, where, workspace_of(arguments))
    if arguments.action == "run":
        return _run(boundary, arguments.program)
    if arguments.program:
        raise UsageError("`ohw sandbox run -- COMMAND` runs a command")
    proof = prove(boundary)
    if arguments.action == "test":
        for attempt in proof.attempts:
            print_line(f"{_outcome(attempt)}  {visible(attempt.name, lines=False)}")
    print_line(_summary(proof, settings))
    return 0 if proof.holds else 1


def _outcome(attempt: Attempt) -> str:
    if attempt.is_held:
        return "stopped"
    return "GOT OUT" if attempt.is_claimed else "open   "


def _summary(proof: Proof, settings: Settings) -> str:
    if proof.is_partial:
        stopped = sum(attempt.is_held for attempt in proof.attempts)
        reason, gaps = visible(proof.reason, lines=False), "\n".join(f"- {gap}" for gap in proof.gaps)
        return (
            f"There is only a partial sandbox here ({reason}): {stopped} of {len(proof.attempts)} attempts to get out "
            f"of it failed. What it leaves open:\n{gaps}\nSetting: {settings.sandbox}."
        )
    if not proof.holds:
        return f"There is no sandbox here: {visible(proof.reason, lines=False)}."
    return (
        f"The sandbox is proven: {len(proof.attempts)} attempts to get out of it failed. Setting: {settings.sandbox}."
    )


def _run(boundary: Boundary, command: list[str]) -> int:
    """Run a command in the sandbox, without network; return its exit code.

    Raises UsageError or WorkbenchError if it cannot be run.
    """
    if not command:
        raise UsageError("which command? `ohw sandbox run -- COMMAND`")
    program = find_program(command[0]) or str(Path(command[0]).absolute())
    if not os.access(program, os.X_OK):
        name = visible(command[0], lines=False)
        raise UsageError(f"there is no program {name!r} here; for a line of a shell: `ohw sandbox run -- bash -c LINE`")
    proof = prove(boundary)
    if not proof.holds:
        raise WorkbenchError(f"the sandbox is not proven, so nothing was run: {proof.reason}")
    guard, inside = CommandGuard(boundary), Sandbox(boundary)
    # The keys are meant for the command; what it leaves is looked at when it has ended.
    handlers = {signal.SIGTERM: _end, signal.SIGHUP: _end, signal.SIGINT: _ignore, signal.SIGQUIT: _ignore}
    previous = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        return _awaited(inside, boundary.workspace, [program, *command[1:]])
    finally:
        inside.close()
        _report(guard.undo())
        for number, before in previous.items():
            signal.signal(number, before)


def _awaited(inside: Sandbox, workspace: Path, command: list[str]) -> int:
    """Run the command and return its exit code; if a signal ends this process, kill the command first."""
    with inside.launch(command, workspace, child_environment(os.environ)) as launch:
        supervisor = [*small_python("workbench.processes.foreground"), launch.words, *launch.argv]
        process = start(supervisor, cwd=workspace, env=launch.env, is_users=True, pass_fds=tuple(launch.descriptors))
    try:
        return process.wait()
    finally:
        if process.poll() is None:
            process.kill()
        if process.wait() not in range(128):
            time.sleep(_DYING)


def _ignore(number: int, frame: object) -> None:
    """Ignore a signal; the command does not inherit this handler, as it would SIG_IGN."""


def _end(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)


def _report(outcome: CommandChanges) -> None:
    """Print one line about the protected files that the command created or replaced, if there are any."""
    directory = visible_path(str(outcome.directory))
    parts = [f"moved aside to {directory}: {_names(outcome.undone)}"] if outcome.undone else []
    parts += [f"not moved aside: {_names(outcome.remaining)}"] if outcome.remaining else []
    if parts:
        sys.stderr.write(f"ohw: protected files that the command made or replaced were {'; '.join(parts)}\n")


def _names(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(visible_path(path) for path in paths[:_NAMED]) + more
