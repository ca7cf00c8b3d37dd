"""What a session does with the files of its workspace, beside the agent's actions; held by the session.

It hears every event of the log and asks for versions at the right moments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from workbench.llm.model import Cancel
from workbench.security.assessment import Assessment
from workbench.security.local import assess_action
from workbench.session.events import (
    ActionAbandoned,
    ActionObserved,
    ActionStarted,
    Event,
    FileDelta,
    FilesChanged,
    RunEnded,
    UserMessage,
    VersionTaken,
)
from workbench.session.journal import Journal
from workbench.session.ledger import OpenAction
from workbench.session.storage.store import StoreError
from workbench.session.versions.losses import Losses
from workbench.session.versions.recorder import Look, Recorder, known_of
from workbench.session.versions.repository import VersionsFail
from workbench.session.versions.taking_back import NotTakenBack, take_back
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
        self._losses = Losses(recorder.repository) if recorder is not None else None
        self._writing: set[str] = set()
        self._has_begun = False
        self._patience = _PATIENCE

    def use(self, journal: Journal) -> None:
        """The log of the session."""
        self._journal = journal
        if self._recorder is not None:
            self._recorder.use(self._report, lambda: bool(self._writing), journal.ledger.version)

    def heard_by(self, listener: Callable[[Event], None]) -> Callable[[Event], None]:
        """A listener that hears the events first and then takes what follows from them for the files."""

        def hear(event: Event) -> None:
            listener(event)
            if self._recorder is not None:
                self._hear(event, self._recorder)

        return hear

    def _hear(self, event: Event, recorder: Recorder) -> None:
        match event:
            case UserMessage() if not self._has_begun:
                self._has_begun = True
                recorder.ask(Look("first"))
            case ActionStarted() if self._journal is not None:
                action = self._journal.ledger.batch.get(event.action_id)
                if action is not None and self._may_write(action):
                    self._writing.add(event.action_id)
            case ActionObserved() | ActionAbandoned() if event.action_id in self._writing:
                self._writing.discard(event.action_id)
                files = event.files_changed if isinstance(event, ActionObserved) else ()
                recorder.ask(Look("action", event.action_id, known_of(files)))
            case FilesChanged() if event.by == "person":
                recorder.ask(Look("person", known=known_of(event.files)))
            case RunEnded() if self._has_begun:
                recorder.ask(Look("end"))

    def settle(self, cancel: Cancel) -> None:
        """Before the next action: wait for the version before it, if it may write or ends the run."""
        if self._recorder is None or self._journal is None or not self._has_begun:
            return
        with self._journal.lock:
            action = self._journal.ledger.next_action
        if action is None or not action.may_run or not (self._may_write(action) or self._ends_run(action)):
            return
        if self._recorder.settle(cancel, self._patience):
            self._patience = _PATIENCE
        else:
            self._patience = _SHORT
            self._recorder.slow()
        if not cancel.is_set:
            self._keep_copy(action)

    def explained(self, found: Assessment) -> Assessment:
        """The rating of an action with what it would take away in its reasons."""
        return self._losses.explained(found) if self._losses is not None and self._has_begun else found

    def _keep_copy(self, action: OpenAction) -> None:
        """Before a command takes away what no version holds."""
        tool = self._tools.get(action.proposed.tool)
        if tool is None or tool.name != "execute_bash" or self._losses is None or self._journal is None:
            return
        ledger = self._journal.ledger
        folder = tool.working_dir() or ledger.workspace
        found = assess_action(tool, action.arguments, ledger.workspace, folder)
        try:
            copy = self._losses.keep(found, str(action.arguments.get("command", "")), ledger.session_id)
        except VersionsFail as error:
            self._report([VersionTaken(notice=f"no copy could be kept of what is deleted now: {error}")])
            return
        if copy is not None:
            said = f"a copy of {copy.count:,} file{'s' if copy.count > 1 else ''} is kept before they are changed or "
            self._report([VersionTaken(notice=f"{said}deleted: `ohw restore {copy.id}` brings it back")])

    def take_back(self, files: Sequence[FileDelta]) -> None:
        """Write the files as the person wants them back; raises NotTakenBack, StoreError."""
        assert self._journal is not None
        with self._journal.lock:
            self._journal.save()
            if any(action.started and not self._only_reads(action) for action in self._journal.ledger.batch.values()):
                raise NotTakenBack(_BUSY)
            try:
                take_back(files)
            except NotTakenBack as error:
                self._log(error.done)
                raise
            self._log(files)

    def close(self) -> None:
        """Take the last version, if that is quick, and end."""
        if self._recorder is not None:
            self._recorder.close()

    def _log(self, files: Sequence[FileDelta]) -> None:
        if files and self._journal is not None:
            self._journal.commit(FilesChanged(files=tuple(files), by="person"), happened=True)

    def _report(self, events: Sequence[Event]) -> None:
        """From the recorder's thread; where it cannot be written now, it is written with the next."""
        if self._journal is not None:
            with suppress(StoreError):
                self._journal.commit(*events, lasting=False, happened=True)

    def _may_write(self, action: OpenAction) -> bool:
        """Whether it may change a file that a version holds: a command that is rated LOW only reads."""
        is_low = action.assessed is not None and action.assessed.risk == "LOW"
        return not self._only_reads(action) and not (is_low and action.proposed.tool == "execute_bash")

    def _only_reads(self, action: OpenAction) -> bool:
        tool = self._tools.get(action.proposed.tool)
        return tool is not None and tool.is_read_only

    def _ends_run(self, action: OpenAction) -> bool:
        tool = self._tools.get(action.proposed.tool)
        return tool is not None and tool.ends_run
