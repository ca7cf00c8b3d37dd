"""Carries out rewinds. A rewind is recorded before files are written, so that it can be finished after a kill."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from workbench.errors import WorkbenchError
from workbench.llm.model import Cancel
from workbench.protocol.events import (
    ActionObserved,
    DelegateStep,
    Event,
    FileDelta,
    FilesChanged,
    Rewound,
    SettingsChanged,
    VersionTaken,
)
from workbench.protocol.rewind import REWIND, RewindScope, RewoundFile
from workbench.risk.paths import PathContext
from workbench.session.log import Log
from workbench.session.recovery import after_an_interrupt
from workbench.session.rewind.file_plan import FilePlan, deltas_of, plan_files, store_contents, write_files
from workbench.session.storage.active_path import ActivePath
from workbench.session.storage.file_steps import transitions
from workbench.session.workspace.files import WorkspaceFiles
from workbench.session.workspace.repository import SnapshotRepository
from workbench.text import counted, visible_path, well_formed
from workbench.tools.tool import ToolDefinition

_BUSY = "the agent is working; stop it first (Esc)"
_NO_VERSIONS = "there are no snapshots of this directory, so only the conversation can be moved"
_GONE_ON = "the session or a file to overwrite has changed since this preview; look at it again"
_NO_SNAPSHOT = "no snapshot of the files could be taken now, so only the conversation can be moved"
_FOREIGN = "this session file is not yours, so only its conversation can be moved"
_NAMED = 5


class RewindRefused(WorkbenchError):
    """The session cannot be moved there; the message is one line for the user."""


class Rewinder:
    """Moves one session to the state after another event of its log."""

    def __init__(
        self,
        log: Log,
        files: WorkspaceFiles,
        tools: Mapping[str, ToolDefinition],
        recall: Callable[[], None],
        announce: Callable[[], None],
    ) -> None:
        """`recall` passes the results of the active path to the tools; `announce` reports the session's state."""
        self._recall = recall
        self._announce = announce
        self._log = log
        self._files = files
        self._tools = tools

    def preview(self, target: int, scope: RewindScope = "both", overwrites: Collection[str] = ()) -> Rewound:
        """Return the event that a rewind would record now. Raises RewindRefused, SnapshotError or StoreError."""
        return self._planned(target, scope, overwrites)[0]

    def preview_with_deltas(
        self, target: int, scope: RewindScope = "both", overwrites: Collection[str] = ()
    ) -> tuple[Rewound, tuple[FileDelta, ...]]:
        """Return the event of a `preview`, and the texts of the files before and after the rewind."""
        event, plan = self._planned(target, scope, overwrites)
        return event, deltas_of(self._repository(), event, plan.contents) if event.files else ()

    def rewind(
        self, target: int, scope: RewindScope = "both", overwrites: Collection[str] = (), *, previewed: int = 0
    ) -> Rewound:
        """Move the session to its state after event `target`, on whatever branch, and return the recorded event.

        `scope` says whether the conversation, the files or both move; `overwrites` are conflicts, relative to the
        workspace, in which the user's lines are lost. An open question is closed. `previewed` is the number of the
        event in the preview that the user saw: if the session has continued since, the rewind is refused. Raises
        RewindRefused, SnapshotError or StoreError; a message that begins with `moved` means that the session was moved,
        but not all of its files.
        """
        with self._log.lock:
            self._log.save()
            self._check(target)
        version = self._snapshot() if scope != "conversation" else None
        with self._log.lock:
            if previewed:
                self._check_preview(previewed, overwrites)
            event, plan = self._planned(target, scope, overwrites)
            event = replace(event, version=version)
            if event.files:
                store_contents(self._repository(), plan)
            closing = after_an_interrupt(self._log.state) if self._log.state.phase == "deciding" else ()
            self._log.commit(*closing, event)
            try:
                problem = self._write(event) if version is not None else ""
            except WorkbenchError as error:
                problem = str(error)
            finally:
                self._announce()
        self._reset_tools(event)
        if problem:
            raise RewindRefused(f"moved, but {problem}")
        return event

    def finish(self) -> None:
        """Write the files of a rewind that was cut off by a kill. Raises StoreError; other failures become a notice.

        Protected files are not written, and no files at all if the session file may be somebody else's.
        """
        with self._log.lock:
            event = self._log.state.unfinished_rewind
            if event is None:
                return
            try:
                problem = self._finished(event)
            except WorkbenchError as error:
                problem = str(error)
            if problem:
                notice = f"the session was moved to event {event.target}, but {problem}"
                self._log.commit(VersionTaken(action_id=REWIND, notice=notice))

    def _finished(self, event: Rewound) -> str:
        """Write the files that may be written without asking the user; return one line on those that were not, or
        "".
        """
        if self._files.is_foreign:
            return "this session file is not yours, so its files were left as they are"
        root = self._files.root.path
        resolver = PathContext(str(root), str(Path.home()))
        allowed = tuple(file for file in event.files if resolver.may_be_reverted(str(root / file.path)))
        protected = [file.path for file in event.files if file not in allowed]
        problem = self._write(replace(event, files=allowed))
        named = (
            f"{_listed(protected)} {_was(protected)} left alone, because such files are protected" if protected else ""
        )
        return "; ".join(filter(None, (named, problem)))

    def _check(self, target: int) -> None:
        state = self._log.state
        if not 0 < target <= self._log.last_seq:
            raise RewindRefused(f"there is no event {target} in this session")
        if state.phase not in ("idle", "deciding") or state.own:
            raise RewindRefused(_BUSY)

    def _check_preview(self, previewed: int, overwrites: Collection[str]) -> None:
        """Raise RewindRefused if events since the preview may have made it wrong.

        Changed files are no reason, unless they are among the `overwrites`: they are merged.
        """
        root = self._files.root.path
        overwritten = {str(root / path) for path in overwrites}
        for event in self._log.events(range(previewed, self._log.last_seq + 1)):
            if isinstance(event, FilesChanged) and overwritten.isdisjoint(file.path for file in event.files):
                continue
            if not isinstance(event, VersionTaken | SettingsChanged):
                raise RewindRefused(_GONE_ON)

    def _snapshot(self) -> str:
        """Take a snapshot of the current files and return its id. Raises RewindRefused."""
        if self._files.is_foreign:
            raise RewindRefused(_FOREIGN)
        self._repository()
        version = self._files.snapshot_now(Cancel())
        if not version:
            raise RewindRefused(_NO_SNAPSHOT)
        return version

    def _planned(self, target: int, scope: RewindScope, overwrites: Collection[str]) -> tuple[Rewound, FilePlan]:
        """Return the event with the files that it changes and those that it cannot, and the plan for the files."""
        self._check(target)
        event = Rewound(target=target, scope=scope, seq=self._log.last_seq + 1)
        if scope == "conversation":
            return event, FilePlan()
        now, then = self._log.files_path_to(self._log.last_seq), self._log.files_path_to(target)
        changes = transitions(self._log.steps(), now, then)
        plan = plan_files(self._repository(), changes, overwrites, self._overwritten(now, then))
        omitted, copies = self._uncovered(now, then, plan)
        event = replace(
            event,
            files=plan.files,
            directories=dict(plan.directories),
            conflicts=plan.conflicts,
            not_covered=omitted,
            copies=copies,
        )
        return event, plan

    def _overwritten(self, now: ActivePath, then: ActivePath) -> list[RewoundFile]:
        """Return the files that the last undone rewind had overwritten, if the session returns to before that
        rewind.
        """
        undone = [seq for seq in self._log.file_rewinds() if seq in now and seq not in then and seq - 1 in then]
        events = self._log.events(undone[-1:]) if undone else ()
        return [file for event in events if isinstance(event, Rewound) for file in event.files if file.is_overwritten]

    def _repository(self) -> SnapshotRepository:
        repository = self._files.repository
        if repository is None:
            raise RewindRefused(_NO_VERSIONS)
        return repository

    def _uncovered(self, now: ActivePath, then: ActivePath, plan: FilePlan) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the files changed by undone actions that no snapshot contains, and the ids of those actions' safety
        copies.
        """
        root = str(self._files.root.path)
        before: dict[str, str | None] = {}
        after: dict[str, str | None] = {}
        copies: list[str] = []
        undone = (seq for each in now.ranges for seq in each if seq not in then)
        for event in self._log.events(undone):
            event = event.event if isinstance(event, DelegateStep) else event
            if isinstance(event, ActionObserved):
                before = {file.path: file.before for file in event.files_changed} | before
            after |= {file.path: file.after for file in _files_of(event)}
            copies += [event.copy_id] if isinstance(event, VersionTaken) and event.copy_id else []
        changed = (path for path, text in before.items() if after[path] != text)
        omitted = (path for path in changed if path.removeprefix(f"{root}/") not in plan.covered)
        return tuple(omitted), tuple(copies)

    def _write(self, event: Rewound) -> str:
        """Write the files of a rewind; return one line on those that were not written, or "". Raises SnapshotError."""
        repository = self._repository()
        with self._files.rewinding():
            result = write_files(repository, event)
        self._files.end_rewind(is_whole=not result.failures)
        parts = [f"{_listed(result.changed)} changed meanwhile and {_was(result.changed)} left alone"]
        return "; ".join([*(parts if result.changed else ()), *result.failures])

    def _reset_tools(self, event: Rewound) -> None:
        """Let the tools adapt to the new state of the session."""
        for tool in self._tools.values():
            if tool.executor is not None:
                tool.executor.rewound(files=bool(event.files or event.directories))
        if event.scope != "files":
            self._recall()


def _files_of(event: Event) -> Sequence[FileDelta]:
    if isinstance(event, ActionObserved):
        return event.files_changed
    return event.files if isinstance(event, VersionTaken) else ()


def _listed(paths: Sequence[str]) -> str:
    more = f" and {counted(len(paths) - _NAMED, 'more file')}" if len(paths) > _NAMED else ""
    return ", ".join(visible_path(well_formed(path)) for path in paths[:_NAMED]) + more


def _was(paths: Sequence[str]) -> str:
    return "was" if len(paths) == 1 else "were"
