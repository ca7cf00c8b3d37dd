"""Runs the tools of actions in threads, records their results, and writes the approved part of a change."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import msgspec
from msgspec.structs import replace as with_fields

from workbench.files.root_directory import using_only
from workbench.files.text_file import EditorError, why_unusable
from workbench.llm.model import Cancel, ModelResponse
from workbench.protocol.events import (
    ActionAbandoned,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    Event,
    FileDelta,
    ModelAsked,
)
from workbench.protocol.live import LiveEvent, ToolOutput
from workbench.protocol.stale_file import StaleFile
from workbench.risk import Assessment
from workbench.sandbox.set_aside import SetAside
from workbench.secrets.masker import MASKER
from workbench.secrets.stream import SecretStream
from workbench.session.actions.partial_approval import FilePart, partial_result, parts_of
from workbench.session.actions.stale_files import stale_note
from workbench.session.results import not_run, observed
from workbench.session.state import RunningSubAgent
from workbench.session.worker_thread import CallAbandoned, Job, WorkerThread, as_they_end
from workbench.session.worker_thread import run as run_alone
from workbench.session.workspace.deletions import Explained
from workbench.text import well_formed
from workbench.tools.context import CURRENT_ACTION
from workbench.tools.manifest import ToolKind, kind_of
from workbench.tools.rich_text import recorded_result
from workbench.tools.schema import Action, Observation
from workbench.tools.str_replace_editor.files import Files, Plan
from workbench.tools.tool import ToolDefinition


class DeletionGuard(Protocol):
    """Determines which files an action would delete without a copy, and why the user must be asked about that."""

    def explain(self, assessment: Assessment) -> Explained:
        """Return the rating with the deletions among its reasons, and why the deletions alone require a question."""

    def copy_failure(self, action_id: str) -> str:
        """Return why no copy was made of the files that this action is about to delete; empty if no copy is missing."""


class _NoCopies:
    """A deletion guard that makes no copies and never asks."""

    def explain(self, assessment: Assessment) -> Explained:
        """Return the rating unchanged."""
        return Explained(assessment)

    def copy_failure(self, action_id: str) -> str:
        """Return `""`: no copy is needed."""
        return ""


NO_COPIES: Final[DeletionGuard] = _NoCopies()
"""The deletion guard for sessions that keep no copies."""


MAX_PARALLEL = 4
"""The most actions that may run at the same time."""
_GRACE = 1.0
_NO_STOP = "it was interrupted and did not stop in time"
_CHANGED = (
    "{tool} was not run: {changed}. Somebody, or a program that runs, changed that after the action was checked. "
    "Look at it, and call the tool again if it is still what you want."
)
_NOT_BEGUN = "This action was not run: the user interrupted."

Result: TypeAlias = ActionObserved | ActionAbandoned
_Report: TypeAlias = Callable[[Event], None]
_Outcome: TypeAlias = tuple[Observation, float, str] | str | None
"""The observation, the call's duration in seconds and the tool's rendering; or the reason why it did not run; or None
if the user interrupted first.
"""
Preparation: TypeAlias = Callable[[], Observation | None]
"""Work to be done before an action can be shown; returns why the action cannot be run, or None."""


@dataclass(frozen=True)
class PreparedAction:
    """An action that is ready to run (after its `preparation`), and the data that a decision on it is bound to."""

    tool: ToolDefinition
    action: Action
    files: tuple[FileDelta, ...]
    working_dir: str
    fingerprint: str
    preparation: Preparation | None = None
    instead: Callable[[], Observation] | None = None
    """Is called in place of the tool if the user accepted only a part of the change."""
    stale: tuple[StaleFile, ...] = ()
    stacked: tuple[str, ...] = ()
    """Files that are shown as earlier actions of the batch will leave them."""
    beside: tuple[str, ...] = ()
    """Notes on files that earlier actions of the batch write too."""
    executes: Mapping[str, str] = field(default_factory=dict)
    """The files that the action runs or reads as code, each with a value that changes with its content."""
    reads: tuple[str, ...] = ()
    """The real paths that the action names, if it only reads: no other file is read, even if a link changes."""
    difference: Callable[[], str] | None = None
    """Compares the executed files again and describes in one line what differs, "" if nothing; None if there are
    none.
    """

    @property
    def paths(self) -> tuple[str, ...]:
        """The real paths of the files that the action writes, as shown; of a reading action, those that it reads."""
        return tuple(file.path for file in self.files) or self.reads


@dataclass(frozen=True, eq=False)
class RunningAction:
    """A proposed action while it runs, with its preparation."""

    proposed: ActionProposed
    readied: PreparedAction
    sub_agent: RunningSubAgent | None = None
    """The action's sub-agent, if it was started before this process opened the session and is being continued."""


class CallSuspended(Exception):
    """Raised for a call that ended without a result: it waits for an absent user, and continues when the log is
    reopened.
    """


class CallContext(msgspec.Struct):
    """The call that runs in this thread: its action, and where its events and live output go."""

    action_id: str
    report: _Report
    show: Callable[[LiveEvent], None]
    sub_agent: RunningSubAgent | None = None
    is_suspended: bool = False
    """Whether the call is left open: the tool's return value is then not a result."""


CURRENT_CALL: ContextVar[CallContext | None] = ContextVar("CURRENT_CALL", default=None)


AskToPutBack: TypeAlias = Callable[[ActionProposed, Sequence[SetAside], CallContext, Cancel], bool | None]
"""Asks the user whether something is put back; returns None if no user is asked."""


class RunningCall:
    """A running call, as other threads see it."""

    def __init__(self, proposed: ActionProposed, context: CallContext, program: str = "") -> None:
        """`program` is the name of the program that runs the call, if that program also runs between calls."""
        self.proposed = proposed
        self.context = context
        self.program = program
        self._lock = threading.Lock()
        self._is_over = False
        self._at_end: list[Callable[[], None]] = []

    def at_end(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the call ends, before its result is recorded; at once if it has ended."""
        with self._lock:
            if not self._is_over:
                self._at_end.append(callback)
                return
        callback()

    def end(self) -> None:
        """Run the callbacks, the last one first."""
        with self._lock:
            self._is_over, callbacks = True, tuple(reversed(self._at_end))
        for callback in callbacks:
            callback()


class RunningCalls:
    """The calls of one session that run now; its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[RunningCall] = []

    @contextmanager
    def running(self, proposed: ActionProposed, context: CallContext, program: str = "") -> Iterator[None]:
        """List the call while the block runs; for `program` see `RunningCall`."""
        call = RunningCall(proposed, context, program)
        with self._lock:
            self._calls.append(call)
        try:
            yield
        finally:
            with self._lock:
                self._calls.remove(call)
            call.end()

    def last(self, kind: ToolKind | None) -> RunningCall | None:
        """Return the last started call of a tool of that kind, or else of any tool; None if no call runs."""
        with self._lock:
            of_kind = [call for call in self._calls if kind_of(call.proposed.tool) == kind]
            return next(reversed(of_kind or self._calls), None)

    def last_of(self, program: str) -> RunningCall | None:
        """Return the last started call that is run by the program of that name; None if there is none."""
        with self._lock:
            return next((call for call in reversed(self._calls) if call.program == program), None)


def record_model_call(response: ModelResponse) -> None:
    """Record the cost of a model's response with the action that is running or being prepared in this thread."""
    call = CURRENT_CALL.get()
    if call is not None:
        usage = response.usage
        cost, latency = response.cost, response.latency
        call.report(ModelAsked(action_id=call.action_id, model=response.model, usage=usage, cost=cost, latency=latency))


class Runner:
    """Runs the tools of a session in threads; a single action always runs in the first thread."""

    def __init__(
        self,
        on_live: Callable[[LiveEvent], None],
        report: _Report,
        usable: Callable[[], Collection[str]] = tuple,
        calls: RunningCalls | None = None,
    ) -> None:
        """`usable` returns the names of the tools that can be used now; `calls` lists the calls while they run."""
        self._calls = calls or RunningCalls()
        self._usable = usable
        self._on_live = on_live
        self._report = report
        self._hiding: dict[str, SecretStream] = {}
        self._lanes = [WorkerThread(f"session-tools-{number}") for number in range(MAX_PARALLEL)]

    def results(self, group: Sequence[RunningAction], cancel: Cancel) -> Iterator[tuple[RunningAction, Result]]:
        """Run all actions at the same time (at most MAX_PARALLEL) and yield each result as it comes.

        A call that waits for an absent user yields no result.
        """
        runs = {
            Job(thread, partial(self._called, run, cancel), _grace(run.readied.tool), run.readied.tool.interrupt): run
            for thread, run in zip(self._lanes, group, strict=False)
        }
        self._listen(group)
        try:
            for job, future in as_they_end(tuple(runs), cancel):
                self._show_rest(runs[job].proposed.action_id)
                with suppress(CallSuspended):
                    yield runs[job], _result(runs[job], future)
        finally:
            for run in group:
                if run.readied.tool.executor is not None:
                    run.readied.tool.executor.on_output = None

    def prepare(
        self, action_id: str, tool: ToolDefinition, preparation: Preparation, cancel: Cancel
    ) -> Observation | None:
        """Do the preparation in the first of the tools' threads.

        Return why the action cannot run; None if it can, or if the user interrupted.
        """
        job = Job(self._lanes[0], partial(self._prepared, action_id, preparation, cancel), _GRACE, tool.interrupt)
        try:
            return run_alone(job, cancel)
        except CallAbandoned:
            return None

    def _prepared(self, action_id: str, preparation: Preparation, cancel: Cancel) -> Observation | None:
        CURRENT_CALL.set(CallContext(action_id, self._report, self._on_live))
        return None if cancel.is_set else preparation()

    def _listen(self, group: Sequence[RunningAction]) -> None:
        """Show output live, except from calls that use the same executor, where it is unclear which call it belongs
        to.
        """
        executors = [run.readied.tool.executor for run in group]
        for run, executor in zip(group, executors, strict=True):
            if executor is not None and executors.count(executor) == 1:
                self._hiding[run.proposed.action_id] = SecretStream(MASKER)
                executor.on_output = partial(self._show, run.proposed.action_id)

    def _called(self, run: RunningAction, cancel: Cancel) -> _Outcome:
        if cancel.is_set:
            return None
        call = CallContext(run.proposed.action_id, self._report, self._on_live, run.sub_agent)
        CURRENT_CALL.set(call)
        CURRENT_ACTION.set(call.action_id)
        # The files were compared when the action was taken from the queue. Since then, its start was recorded, files
        # were copied, and this thread was waited for.
        changed = run.readied.difference() if run.readied.difference is not None else ""
        if changed:
            return _CHANGED.format(tool=run.proposed.tool, changed=changed)
        began = time.monotonic()
        work = run.readied.instead or partial(run.readied.tool, run.readied.action)
        executor = run.readied.tool.executor
        program = executor.program if executor is not None else ""
        with using_only(run.readied.paths), self._calls.running(run.proposed, call, program):
            outcome = work()
        if call.is_suspended:
            raise CallSuspended
        duration = time.monotonic() - began
        return outcome.with_alternatives(self._usable()), duration, recorded_result(outcome, MASKER.masked_data)

    def _show(self, action_id: str, text: str) -> None:
        """Forward text with secrets masked; its last word is held back until more text follows."""
        hiding = self._hiding.get(action_id)
        self._emit(action_id, hiding.feed(text) if hiding else MASKER.masked(text))

    def _show_rest(self, action_id: str) -> None:
        hiding = self._hiding.pop(action_id, None)
        self._emit(action_id, hiding.rest() if hiding else "")

    def _emit(self, action_id: str, text: str) -> None:
        if text:
            self._on_live(ToolOutput(action_id=action_id, text=text))

    def close(self) -> None:
        """End the threads of the tools."""
        for thread in self._lanes:
            thread.close()


def runs_beside(tool: ToolDefinition) -> bool:
    """Return whether calls of the tool may run at the same time as other such calls."""
    may = tool.executor is not None and tool.executor.side_by_side
    return may and tool.is_read_only and not tool.ends_run and not tool.asks_user


def _grace(tool: ToolDefinition) -> float:
    """Return the seconds within which an interrupted call of the tool must end."""
    return max(_GRACE, tool.executor.stop_seconds) if tool.executor is not None else _GRACE


def _result(run: RunningAction, future: Future[_Outcome] | None) -> Result:
    action_id = run.proposed.action_id
    if future is None:
        return ActionAbandoned(action_id=action_id, reason=_NO_STOP)
    outcome = future.result()
    if outcome is None:
        return not_run(action_id, _NOT_BEGUN)
    if isinstance(outcome, str):
        return not_run(action_id, outcome)
    observation, duration, rendering = outcome
    result = observed(action_id, observation, duration, run.readied.files, stale_note(run.readied.stale))
    return with_fields(result, rendering=rendering)


class CannotWrite(Exception):
    """A file cannot get its new content, or is not as shown; the message is one line.

    Nothing was written, unless the message names files that could not be restored.
    """


class PartialWriter:
    """Writes the accepted parts of changes for one session, using the state directory of the editor."""

    def __init__(self, state_dir: Path | None, workspace: str = "/") -> None:
        self.state_dir = state_dir
        """The directory in which the session stores files of its tools; None if it stores none."""
        self._files = Files(workspace, state_dir, merges=True)

    def check(self, parts: Sequence[FilePart]) -> None:
        """Raise CannotWrite if the files could not be written in this form now."""
        self._plans(parts)

    def in_part(self, readied: PreparedAction, decided: ActionDecided) -> PreparedAction:
        """Return the action for a partial approval: it writes the user's choice instead of calling the tool."""
        parts = parts_of(readied.files, decided)
        files = tuple(part.delta for part in parts)
        return replace(readied, files=files, instead=partial(self.carry_out, parts, decided.note))

    def carry_out(self, parts: Sequence[FilePart], note: str) -> Observation:
        """Write all files or none; return the observation for the model."""
        try:
            self._write(self._plans(parts))
        except CannotWrite as error:
            return Observation.from_text(well_formed(f"Nothing was written. {error}"), is_error=True)
        return Observation.from_text(well_formed(partial_result(parts, note)))

    def _plans(self, parts: Sequence[FilePart]) -> list[Plan]:
        """Return the planned writes, deletions last. Raises CannotWrite."""
        plans = []
        for part in parts:
            try:
                plans.append(self._files.holding(Path(part.path), part.before, part.text))
            except EditorError as error:
                raise CannotWrite(str(error)) from error
            except (OSError, ValueError) as error:
                raise CannotWrite(why_unusable(part.path, error)) from error
        changed = [plan for plan in plans if plan.raw_before != plan.raw_after]
        return sorted(changed, key=lambda plan: plan.raw_after is None)

    def _write(self, plans: Sequence[Plan]) -> None:
        done: list[Plan] = []
        for plan in plans:
            try:
                self._files.write(plan)
            except (OSError, EditorError) as error:
                lost = [str(path) for path in self._files.revert(done)]
                reason = why_unusable(str(plan.path), error) if isinstance(error, OSError) else str(error)
                raise CannotWrite(f"{reason} Not put back: {', '.join(lost)}" if lost else reason) from error
            done.append(plan)
