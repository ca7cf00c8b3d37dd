"""Runs the setup and the check of a task: supervised, with a time limit, and with their output in a file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import msgspec

from workbench.hooks.hook import Hook
from workbench.hooks.runner import HookRunner
from workbench.llm.model import Cancel
from workbench.processes.launch import Launcher
from workbench.secrets.masker import MASKER


class CommandRun(msgspec.Struct, frozen=True):
    """How a command ended: its exit code, negative for a signal, or None and the reason if it was ended."""

    status: int | None
    failure: str = ""

    @property
    def ok(self) -> bool:
        """Whether the command succeeded."""
        return self.status == 0

    def __str__(self) -> str:
        return self.failure or f"exit code {self.status}"


def run_command(
    name: str,
    command: str,
    workspace: Path,
    cancel: Cancel,
    *,
    seconds: float,
    log: Path,
    sandbox: Launcher | None = None,
    env: Mapping[str, str] | None = None,
    title: str = "",
) -> CommandRun:
    """Run a shell command in the workspace for at most `seconds`, in the sandbox if one is given.

    What it prints is in the file `log` afterwards, without secrets, after the command, or after `title`. Raises
    OSError if that cannot be written.
    """
    hook = Hook("run_end", command, name, workspace, timeout=seconds, in_sandbox=sandbox is not None)
    with closing(HookRunner(workspace, sandbox)) as runner:
        done = runner.run(hook, "", cancel, env or {})
    output = f"$ {title or command}\n{done.output}{done.errors}"
    log.write_text(MASKER.masked(output), encoding="utf-8", errors="replace")
    return CommandRun(done.status, done.failure)
