"""Runs `execute_bash`: decides what a call does to the current shell, and composes the result."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import get_args

from workbench.processes.launch import Launcher
from workbench.text import visible
from workbench.tools.execute_bash import messages
from workbench.tools.execute_bash.definition import (
    SILENCE,
    ExecuteBashAction,
    ExecuteBashObservation,
    TerminalType,
    leaving,
)
from workbench.tools.execute_bash.messages import NOTHING, Result, answer
from workbench.tools.execute_bash.shell import NoBash, Shell, ShellError
from workbench.tools.execute_bash.shells import ShellChoice, own_username, readers
from workbench.tools.execute_bash.stream import OutputText
from workbench.tools.execute_bash.wait import STILL_RUNNING, Outcome, Watch, asks_password
from workbench.tools.executor import ToolExecutor

_LONGEST_INPUT = 4000  # bytes a line; a terminal cuts at 4,095

_REWOUND = 2.0
"""Seconds that a rewind waits for an interrupted call that has not ended yet; if it does not end, the shell is kept."""


class BashExecutor(ToolExecutor[ExecuteBashAction, ExecuteBashObservation]):
    """Owns the shell of one session; it starts with the first call, and calls run one after the other."""

    def __init__(
        self,
        working_dir: str | Path = ".",
        state_dir: Path | None = None,
        *,
        no_change_timeout: float = SILENCE,
        no_change_timeout_seconds: float | None = None,
        timeout: float | None = None,
        username: str | None = None,
        terminal_type: TerminalType | None = None,
        hidden_env: Collection[str] = (),
        sandbox: Launcher | None = None,
    ) -> None:
        """`timeout` is the limit of calls that have none of their own, in seconds; without it, calls return after
        `no_change_timeout` seconds without output. OpenHands calls that `no_change_timeout_seconds`.

        The shell runs as the user of this process: another `username` raises ValueError. `terminal_type` is accepted
        and changes nothing; an unknown one raises ValueError.
        """
        _check_user(username)
        _check_terminal_type(terminal_type)
        self.shells = ShellChoice(str(Path(working_dir).absolute()), state_dir, hidden_env, sandbox)
        self.sandbox = sandbox
        self.no_change_timeout = no_change_timeout_seconds or no_change_timeout
        if timeout is not None and not timeout > 0:
            raise ValueError(f"`timeout` is a number of seconds above 0, not {timeout!r}.")
        self.timeout = timeout
        # The running command, or one that ended between calls.
        self._command = ""
        self._one_call, self._counting = threading.Lock(), threading.Lock()
        self._calls = 0
        self._interrupted = threading.Event()
        self._closed = False

    def __call__(self, action: ExecuteBashAction) -> ExecuteBashObservation:
        """Run a command, type into the running one, or wait for it."""
        with self._counted(), self._one_call:
            wrong = self._wrong(action)
            if wrong:
                return self._error(action, wrong)
            try:
                return self._act(action)
            except ShellError as error:
                failed = self._error(action, str(error))
                return failed.lacking("bash") if isinstance(error, NoBash) else failed
            finally:
                self.shells.return_inside(after=self._command)

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        """Count running calls, so that an interrupt affects this call from its start, and no later one."""
        with self._counting:
            self._calls += 1
        try:
            yield
        finally:
            with self._counting:
                self._calls -= 1
                if not self._calls:
                    self._interrupted.clear()

    def _wrong(self, action: ExecuteBashAction) -> str:
        """Return why the call is invalid regardless of the shell's state, or an empty string."""
        if self._closed:
            return messages.CLOSED
        if "\0" in action.command:
            return messages.NUL
        return messages.RESET_INPUT if action.reset and action.is_input else ""

    def _act(self, action: ExecuteBashAction) -> ExecuteBashObservation:
        is_command = not action.is_input and bool(action.command.strip())
        if not is_command and not action.reset:
            return self._go_on(action)
        before = self.shells.select(outside=bool(leaving(vars(action), self)))
        shell, lead = self.shells.chosen.open(reset=action.reset)
        if lead := [*before, *lead]:
            self._command = ""
        if not is_command:
            return self._answer(action, lead, Result(code=0))
        with shell.acquire():
            shell.on_output = self.on_output
            return self._run(shell, action, lead)

    def _run(self, shell: Shell, action: ExecuteBashAction, lead: list[str]) -> ExecuteBashObservation:
        if shell.running:
            return self._error(action, messages.busy(self._command))
        if self._command:
            lead += [
                *(messages.previous_output(shell.unseen()) or [messages.PREVIOUS_OUTPUT]),
                messages.ended(shell.exit_code()),
            ]
        background = shell.collect_background()
        if background:
            lead += [messages.BACKGROUND, background.text.rstrip("\n"), messages.BACKGROUND_END]
        self.shells.run(shell, action.command)
        self._command = action.command
        return self._watch(shell, action, lead)

    def _go_on(self, action: ExecuteBashAction) -> ExecuteBashObservation:
        """Type the input, if there is any, and wait for the running command or report one that ended between calls."""
        shell = self.shells.chosen.current
        if not self._command or shell is None:
            return self._error(action, messages.NOTHING_RUNS)
        lead = [messages.PREVIOUS_OUTPUT]
        with shell.acquire():
            shell.on_output = self.on_output
            shell.drain(0.2)
            if action.is_input and action.command:
                if not shell.running or shell.ended:
                    lead.insert(0, messages.TOO_LATE)
                elif refusal := _type(shell, action.command):
                    return self._error(action, refusal)
            return self._watch(shell, action, lead)

    def _watch(self, shell: Shell, action: ExecuteBashAction, lead: list[str]) -> ExecuteBashObservation:
        limit = action.timeout or self.timeout
        outcome = Watch(shell, self.no_change_timeout, limit, self._interrupted, self.shells.is_held).wait()
        shell.rest()
        output = shell.stream.collect()
        if outcome in STILL_RUNNING:
            trailing = [messages.unfinished(outcome, self.no_change_timeout, limit)]
            late = outcome in (Outcome.SILENT, Outcome.LIMIT)
            return self._answer(action, trailing, Result(output, lead, timed_out=late))
        self._command = ""
        if outcome in (Outcome.STUBBORN, Outcome.BROKEN):
            self.shells.chosen.end_current()
            is_stubborn = outcome is Outcome.STUBBORN
            text = messages.replaced if is_stubborn else messages.broken
            return self._answer(
                action, [text(self.shells.chosen.directory)], Result(output, lead, 130 if is_stubborn else 1)
            )
        if outcome is Outcome.DIED:
            return self._died(shell, action, output, lead)
        code = shell.exit_code()
        trailing = [messages.INTERRUPTED] if outcome is Outcome.INTERRUPTED else []
        return self._answer(
            action,
            [*trailing, messages.ended(code), *self.shells.notes(output.text, code)],
            Result(output, lead, code),
        )

    def _died(
        self, shell: Shell, action: ExecuteBashAction, output: OutputText, lead: list[str]
    ) -> ExecuteBashObservation:
        """Report that the shell ended, and start another one."""
        status = shell.terminal.guard.status
        self.shells.chosen.end_current()
        trouble = ""
        try:
            self.shells.chosen.start()
        except ShellError as error:
            trouble = str(error)
        trailing = [messages.INTERRUPTED] if self._interrupted.is_set() else []
        code = 137 if status is None else status if status >= 0 else 128 - status
        trailing += [messages.died(status, self.shells.chosen.directory, trouble), messages.completed(code)]
        return self._answer(action, trailing, Result(output, lead, code))

    def _answer(
        self, action: ExecuteBashAction, trailing: list[str], result: Result = NOTHING
    ) -> ExecuteBashObservation:
        return answer(action.command, trailing, self.shells.chosen.where(), result)

    def _error(self, action: ExecuteBashAction, text: str) -> ExecuteBashObservation:
        where = self.shells.chosen.where()
        return ExecuteBashObservation.from_text(text, is_error=True, command=action.command, metadata=where)

    def waiting(self) -> list[tuple[tuple[str, ...], str]]:
        """Return the command lines and directories of the programs that would read input now."""
        shell = self.shells.chosen.current
        return readers(shell.terminal.foreground()) if shell is not None and shell.running else []

    def working_dir(self) -> str:
        """Return the working directory of the program that is waiting for input, or that of the shell if there is none.

        Before the shell starts, that is the directory it will start in. For a directory in the workspace, the path is
        the one on this machine, also if a container has another one.
        """
        directories = (directory for _, directory in self.waiting())
        return self.shells.by_own_name(next(filter(None, directories), self.shells.chosen.where().working_dir))

    def interrupt(self) -> None:
        """End the running call; do nothing if there is none."""
        with self._counting:
            if self._calls:
                self._interrupted.set()

    def rewound(self, *, files: bool) -> None:
        """End the shell if files have changed, since its state may no longer fit; the next call starts one."""
        if files and self._one_call.acquire(timeout=_REWOUND):
            try:
                self.shells.chosen.end_current()
            finally:
                self._one_call.release()

    def close(self) -> None:
        """End the shell and every process that it started, also those of earlier shells."""
        self.interrupt()
        with self._one_call:
            self._closed = True
            self.shells.close()


def _check_user(username: str | None) -> None:
    if username and username != own_username():
        raise ValueError(
            f"The shell runs as {own_username()}, the user of this process, and cannot run as {visible(username)}. "
            "Omit `username`, or start the program as that user."
        )


def _check_terminal_type(terminal_type: str | None) -> None:
    kinds = get_args(TerminalType)
    if terminal_type is not None and terminal_type not in kinds:
        raise ValueError(f"`terminal_type` is {' or '.join(map(repr, kinds))}, not {visible(repr(terminal_type))}.")


def _type(shell: Shell, text: str) -> str:
    """Type into the running command; return the error message, or an empty string."""
    if asks_password(shell) and messages.key(text) is None:
        return messages.REFUSED_PASSWORD
    letter = messages.control_letter(text)
    if letter:
        return "" if shell.terminal.press_control(letter) else messages.NOT_READ
    by_line = shell.terminal.takes_lines()
    data = messages.typed(text, by_line=by_line)
    if by_line and max(map(len, data.split(b"\n"))) > _LONGEST_INPUT:
        return messages.LONG_LINE
    return "" if shell.terminal.write(data) else messages.NOT_READ
