"""What a session does with the files of its workspace, beside the agent's actions; held by the session.

It hears every event of the log and asks for versions at the right moments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from workbench.files.anchored import SYSTEM, Root
from workbench.llm.model import Cancel
from workbench.protocol.events import (
    ActionAbandoned,
    ActionDecided,
    ActionObserved,
    ActionStarted,
    Event,
    FileDelta,
    FilesChanged,
    RunEnded,
    UserCommand,
    UserMessage,
)
from workbench.risk.assessment import Assessment
from workbench.session.log import Journal
from workbench.session.state import Ledger, OpenAction
from workbench.session.storage.store import StoreError
from workbench.session.workspace.deletions import Explained, Losses, SafetyNet
from workbench.session.workspace.repository import Change, Repository
from workbench.session.workspace.revert import NotTakenBack, check_paths, take_back
from workbench.session.workspace.snapshots import Look, Recorder, known_of
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.tool import ToolDefinition

_BUSY = "an action that may write files runs now; wait until it has ended, or stop it"
_PATIENCE = 2.0
"""Seconds that an action waits at most for the version before it …"""
_SHORT = 0.1
"""… and the actions after one that has waited in vain."""


class Files:
    """The files of one session's workspace; without a `recorder` there are no versions."""

    def __init__(self, tools: Mapping[str, ToolDefinition], recorder: Recorder | None) -> None:
        self._tools = tools
        self._recorder = recorder
        self._journal: Journal | None = None
        self._net: SafetyNet | None = None
        if recorder is not None:
            self.keep_copies_in(recorder.repository)
        self._root = SYSTEM
        self._writing: set[str] = set()
        self._has_begun = False
        self._patience = _PATIENCE

    def keep_copies_in(self, repository: Repository) -> None:
        """Copies of what commands take away are kept there, also without a recorder: for a sub-agent."""
        self._net = SafetyNet(self._tools, Losses(repository), self._report)

    def use(self, journal: Journal) -> None:
        """The log of the session."""
        self._journal = journal
        self._root = Root.at(journal.ledger.workspace)
        if self._recorder is not None:
            self._recorder.use(self._report, lambda: bool(self._writing), journal.ledger.version, self._keep_deleted)

    def heard_by(self, listener: Callable[[Event], None]) -> Callable[[Event], None]:
        """A listener that hears the events first and then takes what follows from them for the files."""

        def hear(event: Event) -> None:
            listener(event)
            if self._recorder is not None:
                self._hear(event, self._recorder)

        return hear

    def _hear(self, event: Event, recorder: Recorder) -> None:
        match event:
            case UserMessage() | UserCommand() | ActionDecided():  # the last where a session goes on with a question
                self._begin(recorder)
            case ActionStarted() if self._may_write(event.action_id):
                self._writing.add(event.action_id)
            case ActionObserved() | ActionAbandoned() if event.action_id in self._writing:
                self._writing.discard(event.action_id)
                files = event.files_changed if isinstance(event, ActionObserved) else ()
                recorder.ask(Look("action", event.action_id, known_of(files)))
            case FilesChanged() if event.by == "person":
                recorder.ask(Look("person", known=known_of(event.files)))
            case RunEnded() if self._has_begun:
                recorder.ask(Look("end"))

    def _begin(self, recorder: Recorder) -> None:
        if not self._has_begun:
            self._has_begun = True
            recorder.ask(Look("first"))

    def settle(self, cancel: Cancel) -> None:
        """Before the next action: wait for the version before it, if it may write or ends the run."""
        if self._journal is None:
            return
        with self._journal.lock:
            action = self._journal.ledger.next_action
        if action is None or not action.may_run:
            return
        name = action.proposed.action_id
        if self._may_write(name) or _ends_run(action, self._tools):
            self._ready(name, action.proposed.tool, action.arguments, cancel)

    def settle_own(self, command: UserCommand, cancel: Cancel) -> None:
        """The same before a command of the person's own."""
        arguments = {"command": command.command}
        if self._net and self._journal and self._net.assessed(self._journal.ledger, SHELL, arguments).risk != "LOW":
            self._ready(command.action_id, SHELL, arguments, cancel)

    def _ready(self, action_id: str, tool: str, arguments: Mapping[str, Any], cancel: Cancel) -> None:
        self._wait(cancel)
        if self._net is not None and self._journal is not None and not cancel.is_set:
            self._net.keep(self._journal.ledger, action_id, tool, arguments, cancel)

    def _wait(self, cancel: Cancel) -> None:
        """Until the version before is there, with some patience."""
        if self._recorder is None or not self._has_begun:
            return
        if self._recorder.settle(cancel, self._patience):
            self._patience = _PATIENCE
        else:
            self._patience = _SHORT
            self._recorder.slow()

    def explained(self, found: Assessment) -> Explained:
        """The rating of an action with what it would take away in its reasons."""
        return self._net.losses.explained(found) if self._net is not None else Explained(found)

    def no_copy(self, action_id: str) -> str:
        """Why there is no copy of what this action, which is about to start, takes away; empty where none is needed."""
        return self._net.failed(action_id) if self._net is not None else ""

    def _keep_deleted(self, action_id: str, version: str, deleted: Sequence[Change]) -> str:
        if self._net is None or self._journal is None:
            return ""
        return self._net.keep_deleted(self._journal.ledger, action_id, version, deleted)

    def take_back(self, files: Sequence[FileDelta]) -> None:
        """Write the files as the person wants them back; raises NotTakenBack, StoreError."""
        assert self._journal is not None
        with self._journal.lock:
            self._journal.save()
            self._refuse_while_busy(self._journal.ledger)
            check_paths(files)
            if self._recorder is not None:
                self._recorder.foresee(known_of(files))
            try:
                repository = self._recorder.repository if self._recorder is not None else None
                take_back(files, self._root, repository)
            except NotTakenBack as error:
                if self._recorder is not None:
                    self._recorder.forget(known_of(files))
                self._log(error.done)
                raise
            self._log(files)

    def restore(self, copy_id: str) -> None:
        """Bring a copy back, in a thread of its own: it may be large. Raises NotTakenBack, StoreError."""
        if self._net is None or self._journal is None:
            raise NotTakenBack("there are no copies here")
        with self._journal.lock:
            self._journal.save()
            self._refuse_while_busy(self._journal.ledger)
        self._net.restore(copy_id)

    def close(self) -> None:
        """Take the last version, if that is quick, and end."""
        if self._recorder is not None:
            self._recorder.close()

    def _refuse_while_busy(self, ledger: Ledger) -> None:
        is_busy = any(action.started and not self._only_reads(action) for action in ledger.batch.values())
        if is_busy or ledger.own_started & ledger.own.keys():
            raise NotTakenBack(_BUSY)

    def _log(self, files: Sequence[FileDelta]) -> None:
        if files and self._journal is not None:
            self._journal.commit(FilesChanged(files=tuple(files), by="person"), happened=True)

    def _report(self, events: Sequence[Event]) -> None:
        """From the recorder's thread; where it cannot be written now, it is written with the next."""
        if self._journal is not None:
            with suppress(StoreError):
                self._journal.commit(*events, lasting=False, happened=True)

    def _may_write(self, action_id: str) -> bool:
        """Whether it may change a file that a version holds: a command that is rated LOW only reads."""
        if self._journal is None:
            return False
        ledger = self._journal.ledger
        action = ledger.batch.get(action_id)
        if action is None:
            return action_id in ledger.own
        is_low = action.assessed is not None and action.assessed.risk == "LOW"
        return not self._only_reads(action) and not (is_low and action.proposed.tool == SHELL)

    def _only_reads(self, action: OpenAction) -> bool:
        tool = self._tools.get(action.proposed.tool)
        return tool is not None and tool.is_read_only


def _ends_run(action: OpenAction, tools: Mapping[str, ToolDefinition]) -> bool:
    tool = tools.get(action.proposed.tool)
    return tool is not None and tool.ends_run
