"""The user's shell commands, run in the agent's shell between its actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from workbench.llm.model import Cancel
from workbench.protocol.events import ActionAbandoned, ActionProposed, ActionStarted, Event, UserCommand
from workbench.session.actions.decide import CommandError
from workbench.session.actions.lifecycle import Actions
from workbench.session.actions.run import RunningAction
from workbench.session.log import Log
from workbench.session.results import not_run
from workbench.tools.arguments import ArgumentError
from workbench.tools.execute_bash import NAME as SHELL

_NOT_BEGUN = "This command was not run: the workbench stopped before its turn came."
_UNKNOWN = "the workbench stopped while it ran; its outcome is unknown and it was not run again"


def _nothing(command: UserCommand, cancel: Cancel) -> None:
    """Do nothing; the default preparation."""


class UserCommands:
    """The user's queued commands, in order; they need no approval, because the user wrote them."""

    def __init__(self, log: Log, actions: Actions, prepare: Callable[[UserCommand, Cancel], None] = _nothing) -> None:
        """`prepare` is called before each command is run."""
        self._prepare = prepare
        self._log = log
        self._actions = actions
        self._cancel: Cancel | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a command is queued or running."""
        return bool(self._log.state.own)

    def add(self, command: str) -> None:
        """Queue a command, which runs as soon as no action runs. A leading `!` lets it run outside the sandbox.

        Raises CommandError if it is empty or cannot run.
        """
        text = command.strip()
        is_outside = text.startswith("!")
        event = UserCommand(
            action_id=f"own_{uuid4().hex[:12]}", command=text[1:].strip() if is_outside else command, outside=is_outside
        )
        if not event.command.strip():
            raise CommandError("there is no command to run")
        try:
            self._actions.ready(SHELL, self._arguments(event))
        except ArgumentError as error:
            raise CommandError(f"the command cannot be run: {error}") from None
        self._log.commit(event)

    def _arguments(self, command: UserCommand) -> dict[str, Any]:
        """Return the arguments for the shell tool; running outside is an argument only if there is a sandbox or
        container.
        """
        tool = self._actions.tools.get(SHELL)
        can_leave = tool is not None and tool.executor is not None and tool.executor.sandbox is not None
        return {"command": command.command, **({"outside_sandbox": True} if command.outside and can_leave else {})}

    def advance(self, cancel: Cancel) -> bool:
        """Run the next command; return False if there is none. Raises StoreError."""
        if not self.is_waiting:
            return False
        with self._log.lock:
            waiting = next(iter(self._log.state.own.values()))
            self._cancel = cancel
        self._prepare(waiting, cancel)
        with self._log.lock:
            run = self._started(waiting)
        try:
            with self._actions.protection.user_command(run):
                for _, result in self._actions.runner.results([run], cancel) if run else ():
                    self._log.commit(result, happened=True)
        finally:
            self._cancel = None
        return True

    def _started(self, command: UserCommand) -> RunningAction | None:
        arguments = self._arguments(command)
        try:
            readied = self._actions.ready(SHELL, arguments)
        except ArgumentError as error:
            self._log.commit(not_run(command.action_id, str(error)))
            return None
        self._log.commit(ActionStarted(action_id=command.action_id), lasting=True)
        proposed = ActionProposed(
            action_id=command.action_id, response_id="", call_id=command.action_id, tool=SHELL, arguments=arguments
        )
        return RunningAction(proposed, readied)

    def abandon(self, reason: str) -> None:
        """Record for `reason` that the queued commands were not run. Raises StoreError."""
        with self._log.lock:
            self._log.commit(*(not_run(name, f"Not run: {reason}.") for name in self._log.state.own))

    def interrupt(self) -> bool:
        """Interrupt the running command; return False if none is running."""
        cancel = self._cancel
        if cancel is not None:
            cancel.set()
        return cancel is not None

    def after_a_stop(self) -> list[Event]:
        """Return the events that close commands that were open when the engine stopped; none of them is run again."""
        state = self._log.state
        return [
            ActionAbandoned(action_id=name, reason=_UNKNOWN) if name in state.own_started else not_run(name, _NOT_BEGUN)
            for name in state.own
        ]
