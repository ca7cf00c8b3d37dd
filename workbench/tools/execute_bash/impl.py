"""Runs `execute_bash`: one shell, started with the first command and replaced when it ends."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Collection, Iterator
from pathlib import Path

from workbench.tools.execute_bash import keys, texts
from workbench.tools.execute_bash.answer import NOTHING, Result, answer
from workbench.tools.execute_bash.definition import SILENCE, ExecuteBashAction, ExecuteBashObservation
from workbench.tools.execute_bash.keep import Kept
from workbench.tools.execute_bash.place import metadata
from workbench.tools.execute_bash.shell import Shell, ShellError
from workbench.tools.execute_bash.sweep import sweep, sweep_later
from workbench.tools.execute_bash.watch import Outcome, Watch
from workbench.tools.executor import ToolExecutor

_STILL_RUNNING = frozenset(
    {Outcome.SILENT, Outcome.LIMIT, Outcome.PASSWORD, Outcome.ASKS, Outcome.FULL_SCREEN},
)


class BashExecutor(ToolExecutor[ExecuteBashAction, ExecuteBashObservation]):
    """Keeps the shell of one session; calls run one after the other."""

    def __init__(
        self,
        folder: str,
        state_dir: Path | None = None,
        *,
        no_change_timeout: float = SILENCE,
        hidden_env: Collection[str] = (),
    ) -> None:
        self._folder = folder
        self._outputs = state_dir / "outputs" if state_dir else None
        self._silence = no_change_timeout
        self._hidden = frozenset(hidden_env)
        self._calls = threading.Lock()
        self._interrupted = threading.Event()
        self._active = threading.Event()
        self._scratch: Path | None = None
        self._shell: Shell | None = None
        self._command = ""
        self._asked_password = False
        self._buried: list[tuple[str, threading.Thread]] = []

    def __call__(self, action: ExecuteBashAction) -> ExecuteBashObservation:
        """Run the command, type into the running one, or wait for it."""
        wrong = _wrong(action)
        if wrong:
            return self._error(action, wrong)
        with self._calls, self._being_active():
            try:
                lead = self._open(action.reset)
            except ShellError as error:
                return self._error(action, str(error))
            if action.reset and not action.command.strip():
                return self._answer(action, [texts.RESET], Result(code=0))
            shell = self._shell
            assert shell is not None
            with shell.use():
                shell.on_output = self.on_output
                return self._act(shell, action, lead)

    @contextlib.contextmanager
    def _being_active(self) -> Iterator[None]:
        self._interrupted.clear()
        self._active.set()
        try:
            yield
        finally:
            self._active.clear()

    def _open(self, reset: bool) -> list[str]:
        """Have a living shell; what to say when it is another one than before."""
        shell = self._shell
        if shell is not None and reset:
            self._bury(shell)
            self._start()
            return [texts.RESET]
        if shell is not None:
            with shell.use():
                shell.drain(0.2)
            if not shell.ended:
                return []
            status = shell.terminal.status
            self._bury(shell)
            self._start()
            return [texts.died(status, self._folder)]
        self._start()
        return []

    def _start(self) -> None:
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="ohw-shell-"))
        self._asked_password = False
        self._shell = Shell(self._folder, self._scratch, self._outputs or self._scratch, self._hidden)

    def _act(self, shell: Shell, action: ExecuteBashAction, lead: list[str]) -> ExecuteBashObservation:
        if action.is_input or not action.command.strip():
            if not shell.running and not self._command:
                return self._error(action, "\n".join([*lead, texts.NOTHING_RUNS]))
            return self._go_on(shell, action, lead)
        if shell.running:
            return self._error(action, texts.busy(self._command))
        if self._command:
            lead += self._late(shell)
        background = shell.take_background()
        if background:
            lead += [texts.BACKGROUND, background.text.rstrip("\n"), texts.BACKGROUND_END]
        self._command = action.command
        shell.run(action.command)
        return self._watch(shell, action, lead)

    def _go_on(self, shell: Shell, action: ExecuteBashAction, lead: list[str]) -> ExecuteBashObservation:
        if action.is_input and not shell.running:
            lead.append(texts.TOO_LATE)
        elif action.is_input:
            refusal = self._type(shell, action.command)
            if refusal:
                return self._error(action, refusal)
        return self._watch(shell, action, [*lead, texts.BELOW])

    def _late(self, shell: Shell) -> list[str]:
        """The end of a command that nobody waited for."""
        rest = shell.stream.take().text.rstrip("\n")
        return [texts.BELOW, *([rest] if rest else []), texts.ended(shell.exit_code())]

    def _type(self, shell: Shell, text: str) -> str:
        """Type into the running command; what is wrong, if so."""
        if self._asked_password and not keys.is_key(text):
            return texts.REFUSED_PASSWORD
        data = keys.typed(text)
        if shell.terminal.takes_lines() and max(map(len, data.split(b"\n"))) > 4000:
            return texts.LONG_LINE
        return "" if shell.terminal.write(data) else texts.NOT_READ

    def _watch(self, shell: Shell, action: ExecuteBashAction, lead: list[str]) -> ExecuteBashObservation:
        outcome = Watch(shell, self._silence, action.timeout, self._interrupted).wait()
        shell.rest()
        kept = shell.stream.take()
        self._asked_password = outcome is Outcome.PASSWORD
        if outcome in _STILL_RUNNING:
            said = [texts.unfinished(outcome, self._silence, action.timeout)]
            late = outcome in (Outcome.SILENT, Outcome.LIMIT)
            return self._answer(action, said, Result(kept, lead, timed_out=late))
        self._command = ""
        if outcome is Outcome.DIED or outcome is Outcome.STUBBORN:
            return self._replaced(shell, action, outcome, kept, lead)
        code = shell.exit_code()
        said = [texts.INTERRUPTED] if outcome is Outcome.INTERRUPTED else []
        said.append(texts.ended(code))
        return self._answer(action, said, Result(kept, lead, code))

    def _replaced(
        self, shell: Shell, action: ExecuteBashAction, outcome: Outcome, kept: Kept, lead: list[str]
    ) -> ExecuteBashObservation:
        """The shell is gone, or must go: start another one and say so."""
        status = shell.terminal.status
        self._bury(shell)
        trouble = ""
        try:
            if outcome is Outcome.DIED:
                self._start()
        except ShellError as error:
            trouble = str(error)
        if outcome is Outcome.STUBBORN:
            return self._answer(action, [texts.replaced(self._folder)], Result(kept, lead, 130))
        code = 137 if status is None else status if status >= 0 else 128 - status
        said = [texts.died(status, self._folder, trouble)]
        if self._interrupted.is_set():
            said.insert(0, texts.INTERRUPTED)
        return self._answer(action, [*said, texts.ended(code).partition("\n")[0]], Result(kept, lead, code))

    def _bury(self, shell: Shell) -> None:
        """End a shell without waiting for it, and look later for what it may have left."""
        self._shell = None
        self._command = ""

        def bury() -> None:
            shell.close()
            sweep_later((shell.nonce,))

        thread = threading.Thread(target=bury, name="shell-end", daemon=True)
        thread.start()
        self._buried.append((shell.nonce, thread))

    def _answer(self, action: ExecuteBashAction, said: list[str], result: Result = NOTHING) -> ExecuteBashObservation:
        return answer(action.command, said, metadata(self._shell, self._folder), result)

    def _error(self, action: ExecuteBashAction, text: str) -> ExecuteBashObservation:
        now = metadata(self._shell, self._folder)
        return ExecuteBashObservation.from_text(text, is_error=True, command=action.command, metadata=now)

    def working_dir(self) -> str:
        """Where the shell is; the folder it will start in before that."""
        shell = self._shell
        return shell.mark.folder if shell and shell.mark else self._folder

    def interrupt(self) -> None:
        """End the call that runs now; without one nothing happens."""
        if self._active.is_set():
            self._interrupted.set()

    def close(self) -> None:
        """End the shell and every process that it started, also those of shells it had before."""
        self.interrupt()
        with self._calls:
            if self._shell is not None:
                self._bury(self._shell)
            for _, thread in self._buried:
                thread.join()
            sweep([nonce for nonce, _ in self._buried])
            self._buried.clear()
            if self._scratch is not None:
                shutil.rmtree(self._scratch, ignore_errors=True)
                self._scratch = None


def _wrong(action: ExecuteBashAction) -> str:
    """What makes the call senseless whatever the shell does, if anything."""
    if "\0" in action.command:
        return texts.NUL
    return texts.RESET_INPUT if action.reset and action.is_input else ""
