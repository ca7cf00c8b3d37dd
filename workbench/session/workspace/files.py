"""The workspace files of a session: snapshots around the actions, safety copies, and reverts for the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from workbench.files.root_directory import Root
from workbench.llm.model import Cancel
from workbench.protocol.events import (
    ActionDecided,
    Event,
    FileDelta,
    FilesChanged,
    RunEnded,
    UserCommand,
    UserMessage,
)
from workbench.protocol.rewind import REWIND
from workbench.risk import Assessment
from workbench.risk.paths import PathContext
from workbench.session.assessments import Assessments
from workbench.session.log import Log
from workbench.session.state import OpenAction
from workbench.session.storage.store import StoreError
from workbench.session.workspace.deletions import CopyRecorder, DeletionSurvey, Explained
from workbench.session.workspace.repository import Change, SnapshotRepository
from workbench.session.workspace.revert import RevertError, check_paths, revert
from workbench.session.workspace.running_writers import RunningWriters
from workbench.session.workspace.snapshots import SnapshotRecorder, SnapshotRequest, contents_of
from workbench.session.workspace.watcher import Changes, native_changes
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.manifest import kind_of
from workbench.tools.tool import ToolDefinition

_BUSY = "an action that may write files runs now; wait until it has ended, or stop it"
_FOREIGN = (
    "this session file is not yours, so only files of its directory are reverted, and no protected ones; "
    "nothing was written"
)
_LONGEST = 60.0
"""The longest time that a rewind waits for the snapshot before it, in seconds."""
_PATIENCE = 2.0
"""The longest time that an action waits for the snapshot before it, in seconds."""
_STOP_PATIENCE = 0.5
"""The longest time that the end of a stopped run waits for the snapshots of its actions, in seconds."""
_SHORT_PATIENCE = 0.1
"""The same for both, in seconds, if taking one snapshot takes longer than that."""


class WorkspaceFiles:
    """Takes snapshots and safety copies of one session's workspace, and reverts files."""

    def __init__(
        self,
        log: Log,
        tools: Mapping[str, ToolDefinition],
        repository: SnapshotRepository | None,
        assessments: Assessments,
        *,
        takes_snapshots: bool,
        is_foreign: bool = False,
        changes: Changes = native_changes,
    ) -> None:
        """Follow the log from now on; if it `is_foreign`, only unprotected files of the workspace are reverted.

        Safety copies are made if there is a repository; snapshots only with `takes_snapshots`, because a sub-agent
        leaves them to its parent.
        """
        self._log = log
        self._tools = tools
        self.root = Root.at(log.state.workspace)
        self.is_foreign = is_foreign
        """Whether the log may have been written by somebody else."""
        self._of_parent: WorkspaceFiles | None = None
        self._writers = RunningWriters(log.state, self._may_write)
        self._has_begun = self._has_ended_action = False
        self._copies: CopyRecorder | None = None
        self._recorder: SnapshotRecorder | None = None
        if repository is not None:
            self._copies = CopyRecorder(tools, DeletionSurvey(repository), assessments, self._report)
        if repository is not None and takes_snapshots:
            self._recorder = SnapshotRecorder(
                repository,
                report=self._report,
                is_writing=lambda: bool(self._writers),
                copy_deleted=self._copy_deleted,
                last=log.state.version,
                changes=changes,
            )
            log.listen(self._follow)

    def _follow(self, event: Event) -> None:
        """Request the snapshots that an event calls for."""
        if (request := self._writers.follow(event)) is not None:
            self._request(request)
        match event:
            # a decision is the first event if a session continues with an open question
            case UserMessage() | UserCommand() | ActionDecided():
                self._begin()
            case FilesChanged() if event.by == "person":
                self._request(SnapshotRequest("person", recorded=contents_of(event.files)))
            case RunEnded() if self._has_begun:
                self._request(SnapshotRequest("end"))

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._request(SnapshotRequest("first"))

    def _request(self, request: SnapshotRequest) -> None:
        self._has_ended_action |= request.cause == "action"
        if self._recorder is not None:
            self._recorder.request(request)

    def prepare_action(self, cancel: Cancel) -> None:
        """Wait for the latest snapshot and make safety copies, before an action that may write, delegates or ends the
        run.
        """
        with self._log.lock:
            action = self._log.state.next_action
        if action is None or not action.may_run:
            return
        action_id = action.proposed.action_id
        tool = self._tools.get(action.proposed.tool)
        precedes_changes = kind_of(action.proposed.tool) == "sub_agent" or (tool is not None and tool.ends_run)
        if self._may_write(action_id) or precedes_changes:
            self._prepare(action_id, action.proposed.tool, action.arguments, cancel)

    def prepare_command(self, command: UserCommand, cancel: Cancel) -> None:
        """Before a command of the user's that may write: wait for the latest snapshot and make safety copies."""
        arguments = {"command": command.command}
        if self._copies and self._copies.assess(SHELL, arguments).risk != "LOW":
            self._prepare(command.action_id, SHELL, arguments, cancel)

    def _prepare(self, action_id: str, tool: str, arguments: Mapping[str, Any], cancel: Cancel) -> None:
        self._wait(cancel)
        if self._copies is not None and not cancel.is_set:
            self._copies.keep(self._log.state, action_id, tool, arguments, cancel)

    def _wait(self, cancel: Cancel) -> None:
        """Wait a limited time for the snapshot before an action, and report if it is late.

        Each action waits for the full time, so that snapshots catch up, unless one alone takes longer than that.
        """
        if self._of_parent is not None:
            self._of_parent._wait(cancel)
        if self._recorder is None or not self._has_begun:
            return
        patience = _SHORT_PATIENCE if self._recorder.pace.is_slower_than(_PATIENCE) else _PATIENCE
        if not self._recorder.wait(cancel, patience):
            self._recorder.report_slow()

    def await_snapshots(self) -> None:
        """Wait a moment for the snapshots of actions that have ended, before the end of a stopped run is recorded."""
        if self._recorder is not None and self._has_ended_action:
            self._has_ended_action = False
            is_slow = self._recorder.pace.is_slower_than(_STOP_PATIENCE)
            self._recorder.wait(Cancel(), _SHORT_PATIENCE if is_slow else _STOP_PATIENCE)

    def explain(self, assessment: Assessment) -> Explained:
        """Return the rating of an action with its deletions among the reasons."""
        return self._copies.survey.explain(assessment) if self._copies is not None else Explained(assessment)

    def copy_failure(self, action_id: str) -> str:
        """Return why no copy was made of the files this action is about to delete; empty if no copy failed."""
        return self._copies.failure(action_id) if self._copies is not None else ""

    def _copy_deleted(self, action_id: str, version: str, deleted: Sequence[Change]) -> str:
        if self._copies is None:
            return ""
        return self._copies.keep_deleted(self._log.state, action_id, version, deleted)

    def revert(self, files: Sequence[FileDelta], *, session: str = "") -> None:
        """Write the `after` of files for the user, to revert them or to apply changes of `session`, another session.

        Raises RevertError or StoreError.
        """
        with self._log.lock:
            self._log.save()
            self._refuse_while_busy()
            check_paths(files)
            self._check_origin(files)
            if self._recorder is not None:
                self._recorder.expect(contents_of(files))
            try:
                repository = self._recorder.repository if self._recorder is not None else None
                revert(files, self.root, repository)
            except RevertError as error:
                if self._recorder is not None:
                    self._recorder.stop_expecting(contents_of(files))
                self._record_revert(error.done, session)
                raise
            self._record_revert(files, session)

    @property
    def repository(self) -> SnapshotRepository | None:
        """The repository with the snapshots of the workspace; None if the session takes none."""
        return self._recorder.repository if self._recorder is not None and not self._recorder.is_off else None

    def snapshot_now(self, cancel: Cancel) -> str:
        """Take a snapshot of the whole workspace and return its id; empty if that fails or takes too long.

        The caller must not hold the log's lock, which recording the snapshot needs.
        """
        if self._recorder is None:
            return ""
        self._begin()
        self._request(SnapshotRequest("end"))
        is_taken = self._recorder.wait(cancel, _LONGEST)
        return self._log.state.version if is_taken and not (self._recorder.is_off or self._recorder.faults) else ""

    @contextmanager
    def rewinding(self) -> Iterator[None]:
        """Within the block, changes of files are taken to be the rewind's, which its event already records."""
        self._writers.add(REWIND)
        try:
            yield
        finally:
            self._writers.remove(REWIND)

    def end_rewind(self, *, is_whole: bool) -> None:
        """Request the snapshot after a rewind. If not `is_whole`, the next start of the session writes the files
        again.
        """
        cause: Literal["rewind", "first"] = "rewind" if self._has_begun else "first"
        self._has_begun = True
        self._request(SnapshotRequest(cause, REWIND if is_whole else ""))

    def restore(self, copy_id: str) -> None:
        """Restore a safety copy in another thread, because it may be large. Raises RevertError or StoreError."""
        if self._copies is None:
            raise RevertError("there are no copies here")
        with self._log.lock:
            self._log.save()
            self._refuse_while_busy()
        self._copies.restore(copy_id)

    def join(self, parent: WorkspaceFiles, session_id: str) -> None:
        """Use the snapshots and the list of copies of the session that this one is a sub-agent of; call it first."""
        self._of_parent = parent
        if self._copies is not None and parent._copies is not None:
            self._copies.join(parent._copies, session_id)

    def close(self) -> None:
        """Take the last snapshot if that is quick, and end the threads."""
        if self._recorder is not None:
            self._recorder.close()

    def _check_origin(self, files: Sequence[FileDelta]) -> None:
        resolver = PathContext(str(self.root.path), str(Path.home()))
        if self.is_foreign and not all(resolver.may_be_reverted(file.path) for file in files):
            raise RevertError(_FOREIGN)

    def _refuse_while_busy(self) -> None:
        state = self._log.state
        is_busy = any(action.started and not self._only_reads(action) for action in state.batch.values())
        if is_busy or self._writers.delegated or state.own_started & state.own.keys():
            raise RevertError(_BUSY)

    def _record_revert(self, files: Sequence[FileDelta], session: str) -> None:
        if files:
            self._log.commit(FilesChanged(files=tuple(files), by="person", session=session), happened=True)

    def _report(self, events: Sequence[Event]) -> None:
        """Record events from other threads; events that cannot be written now are written with the next ones."""
        with suppress(StoreError):
            self._log.commit(*events, lasting=False, happened=True)

    def _may_write(self, action_id: str) -> bool:
        """Return whether an action may change files that snapshots include; read-only tools and LOW commands do not."""
        state = self._log.state
        action = state.batch.get(action_id) or state.delegated.get(action_id)
        if action is None:
            return action_id in state.own
        is_low = action.assessed is not None and action.assessed.risk == "LOW"
        return not self._only_reads(action) and not (is_low and action.proposed.tool == SHELL)

    def _only_reads(self, action: OpenAction) -> bool:
        tool = self._tools.get(action.proposed.tool)
        return tool is not None and tool.is_read_only
