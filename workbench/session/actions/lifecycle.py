"""The life of an action: prepare, assess, decide by mode or rule, check again before the start, run, record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from workbench.agent.agent_kinds import can_only_read
from workbench.llm.model import Cancel
from workbench.protocol.events import (
    ActionAssessed,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    ActionStarted,
    Event,
    RunEnded,
)
from workbench.protocol.live import LiveEvent
from workbench.risk.assessment import NOT_COMPARED
from workbench.rules.policy import Ruling
from workbench.rules.rule_set import RuleSet
from workbench.session.actions.assess import Preparer, Rater, reasons, segments
from workbench.session.actions.fingerprint import (
    NOT_ALL_COMPARED,
    content_changes,
    executed_changes,
    is_same_action,
    question_fingerprint,
)
from workbench.session.actions.hook_gate import HookGate
from workbench.session.actions.integrity import Protection
from workbench.session.actions.refusals import Refusals
from workbench.session.actions.run import (
    MAX_PARALLEL,
    NO_COPIES,
    AskToPutBack,
    CallContext,
    DeletionGuard,
    PartialWriter,
    Preparation,
    PreparedAction,
    Result,
    Runner,
    RunningAction,
    RunningCalls,
    runs_beside,
)
from workbench.session.actions.stale_files import NOT_MERGED, has_conflicts, stale_reasons
from workbench.session.actions.unsaved_files import EditorChecks, UnsavedFiles
from workbench.session.assessments import Assessments
from workbench.session.log import Log
from workbench.session.loop_watch import Failures
from workbench.session.results import none_run, not_run
from workbench.session.state import OpenAction
from workbench.session.storage.store import StoreError
from workbench.session.workspace.deletions import FOR_GOOD
from workbench.text import first_line
from workbench.tools.arguments import ArgumentError
from workbench.tools.tool import ToolDefinition

if TYPE_CHECKING:
    from workbench.session.hooks import SessionHooks

CHANGED = "it changed after you approved it, so you are asked again"
"""The reason to ask the user again about an action that has changed, whatever the mode."""
_PART_LOST = f"{CHANGED}; choose again which hunks to accept"
_AFTER_END = "This call was not run: {tool} before it ended the run."


class Actions:
    """Runs the actions of one session; nothing runs without a recorded decision."""

    def __init__(
        self,
        log: Log,
        tools: Mapping[str, ToolDefinition],
        failures: Failures,
        *,
        on_live: Callable[[LiveEvent], None],
        rules: RuleSet,
        writer: PartialWriter,
        refusals: Refusals,
        assessments: Assessments,
        copies: DeletionGuard = NO_COPIES,
        calls: RunningCalls | None = None,
        put_back: AskToPutBack | None = None,
        hooks: SessionHooks | None = None,
        editor_checks: EditorChecks | None = None,
    ) -> None:
        """`writer` writes the accepted part of a change; `copies` knows what would be deleted without a copy; `calls`
        lists the calls while they run; `put_back` asks about files that were moved aside.
        """
        self._log = log
        self._failures = failures
        self.tools = tools
        self.writer = writer
        self._preparer = Preparer(tools, log.state, assessments)
        self.ready, self.pending = self._preparer.ready, self._preparer.pending
        self.rules = rules
        self.rater = Rater(log.state, rules, refusals, assessments)
        self._gate = HookGate(hooks, log, self.rater)
        self.unsaved_files = UnsavedFiles(log, editor_checks or EditorChecks(on_live))
        self._copies = copies
        self.protection = Protection(log, self.rater, writer.state_dir, put_back)
        self._on_live = on_live
        self.runner = Runner(on_live, self.report, self._usable, calls)

    def _usable(self) -> list[str]:
        """Return the names of the tools that the mode allows at all."""
        is_plan = self._log.state.mode == "plan"
        return [name for name, tool in self.tools.items() if not is_plan or can_only_read(tool)]

    def assessed(self, proposed: ActionProposed, *, ask: str = "", edited: dict[str, Any] | None = None) -> list[Event]:
        """Return the events to record before the action may run; none if `advance` has to prepare it first.

        The user is asked if `ask` is a reason, or if they were asked before; `edited` are the user's own arguments.
        """
        if proposed.error:
            return [self._failed(proposed, proposed.error)]
        if self.unsaved_files.awaits(proposed) or self._gate.awaits(proposed):
            return []
        events = self._assessment(proposed, ask=ask, edited=edited)
        return [] if self._gate.holds(proposed, events) else events

    def _assessment(
        self, original: ActionProposed, *, ask: str = "", edited: dict[str, Any] | None = None
    ) -> list[Event]:
        action = self._log.state.batch.get(original.action_id)
        edited = action.hook_arguments if action is not None and edited is None else edited
        proposed = replace(original, arguments=edited) if edited is not None else original
        try:
            readied = self.ready(proposed.tool, proposed.arguments, proposed.action_id)
        except ArgumentError as error:
            return [self._failed(proposed, f"{proposed.tool} was not run: {error}")]
        is_first = action is None or action.decided is None
        local, risk, ruling = self._gate.ruled(original, proposed, readied, approves=is_first)
        if readied.preparation and ruling.verdict != "deny":
            return []
        assessment, doubt, deleted = self._copies.explain(local)
        waited = self.rater.waited(proposed.action_id, ruling)
        by, ask = _asked_by(ruling, ask=ask, doubt=doubt, waited=waited, readied=readied, protection=self.protection)
        asks = not readied.tool.asks_user and _is_asked(ruling, ask=bool(ask), waited=bool(waited))
        why = ask or (ruling.reason if ruling.verdict == "ask" else "")
        notes = dict.fromkeys(filter(None, (self._gate.change(proposed), *_notes_of(why, readied, action, edited))))
        event = ActionAssessed(
            action_id=proposed.action_id,
            risk=risk,
            reasons=(*notes, *reasons(assessment, shows_diff=bool(readied.files))),
            segments=segments(assessment),
            rule=by if asks else ruling.rule,
            preview=readied.files,
            stale=readied.stale,
            stacked=readied.stacked,
            executes=dict(readied.executes) if asks else {},
            fingerprint=question_fingerprint(readied.fingerprint, risk),
            working_dir=readied.working_dir,
            edited=edited,
            needs_decision=asks,
            needs_answer=readied.tool.asks_user and ruling.verdict != "deny",
            deleted=deleted if asks else (),
        )
        event = self.rater.with_always(event, proposed, local, ruling, ask or self._gate.reason(proposed, ruling))
        return [event] if asks or event.needs_answer else [event, *decided_by(event, ruling)]

    def _failed(self, proposed: ActionProposed, why: str) -> ActionObserved:
        return self._failures.advised(proposed, not_run(proposed.action_id, why, refused=True), self.tools)

    def advance(self, cancel: Cancel) -> bool:
        """Prepare, assess or run the next action, and others that may run at the same time; return whether any was
        run.
        """
        if self._prepares(cancel):
            return False
        self.protection.compare()
        with self._log.lock:
            group = self._group()
            if not group:
                return False
            begun = (ActionStarted(action_id=run.proposed.action_id) for run in group if run.sub_agent is None)
            self._log.commit(*begun, lasting=False)
            for run in group:
                self.protection.begin(run)
        fault: StoreError | None = None
        for run, result in self.runner.results(group, cancel):
            try:
                self._finish(run, result, cancel)
            except StoreError as error:  # the log keeps the result; the other actions continue
                fault = error
        if fault and self._log.has_unsaved:
            raise fault
        return True

    def _group(self) -> list[RunningAction]:
        """Return the actions to start or continue now: the next one, and others that may run at the same time."""
        group: list[RunningAction] = []
        for action in list(self._log.state.batch.values())[:MAX_PARALLEL]:
            if group and bool(group[0].sub_agent) != bool(action.sub_agent):
                break
            readied = self._beside(action) if group else self._next(action)
            if readied is None:
                break
            group.append(RunningAction(action.proposed, readied, action.sub_agent))
            if not runs_beside(readied.tool):
                break
        return group

    def _next(self, action: OpenAction) -> PreparedAction | None:
        return None if action.is_waiting else self._checked(action)

    def _beside(self, action: OpenAction) -> PreparedAction | None:
        """Return the action, ready to run at the same time as those before it, or None if it has to wait for its
        turn.
        """
        tool = self.tools.get(action.proposed.tool)
        if tool is None or action.proposed.error or action.is_waiting or not runs_beside(tool):
            return None
        if not action.may_run:
            self._log.commit(*self.assessed(action.proposed))
        return self._checked(action) if action.may_run else None

    def _prepares(self, cancel: Cancel) -> bool:
        """Let the next action's files be checked, run its hooks or do its preparation, none of which needs the lock.

        Return False if there is nothing of that to do.
        """
        if self.unsaved_files.check(cancel) or self._gate.run(self._assessment, cancel):
            return True
        with self._log.lock:
            action = self._log.state.next_action
            preparation = self._preparation(action) if action and not action.is_waiting else None
        if action is None or preparation is None:
            return False
        refusal = self.runner.prepare(action.proposed.action_id, *preparation, cancel)
        if refusal is not None and not cancel.is_set:
            self._log.commit(not_run(action.proposed.action_id, refusal.text, refused=True), happened=True)
        return True

    def _preparation(self, action: OpenAction) -> tuple[ToolDefinition, Preparation] | None:
        tool = self.tools.get(action.proposed.tool)
        if tool is None or action.proposed.error or self.rater.ruling(action.proposed, tool)[1].verdict == "deny":
            return None
        try:
            prepare = tool.preparation(tool.action_from_arguments(action.arguments))
        except ArgumentError:
            return None
        return (tool, prepare) if prepare else None

    def _checked(self, action: OpenAction) -> PreparedAction | None:
        """Return the action ready to run, or None if something else had to be recorded first."""
        decided = action.decided
        if decided is None or not action.may_run:
            self._log.commit(*self.assessed(action.proposed))
            return None
        try:
            readied = self.ready(action.proposed.tool, action.arguments, decided.action_id, action.stacked)
        except ArgumentError as error:
            self._log.commit(self._failed(action.proposed, f"{action.proposed.tool} was not run: {error}"))
            return None
        objection = self._objection(action, decided, readied)
        if objection is None:
            objection = self.protection.objection(action, readied.tool)
        if objection is None:
            return readied if decided.written is None else self.writer.in_part(readied, decided)
        self._log.commit(*self.assessed(action.proposed, ask=objection, edited=decided.edited))
        return None

    def _objection(self, action: OpenAction, decided: ActionDecided, readied: PreparedAction) -> str | None:
        """Return why the decision is no longer valid (possibly "", without a reason to show), or None if it is valid.

        The user's decision is valid for the action as they saw it, unless it has become more dangerous; the decision of
        a mode or rule is valid while it still allows the action.
        """
        is_same = is_same_action(readied.fingerprint, decided.fingerprint)
        if decided.by == "person":
            changed = CHANGED if decided.written is None else _PART_LOST
            return (self.rater.doubt(action, readied.tool) or self._no_copy(action)) if is_same else changed
        proposed = replace(action.proposed, arguments=action.arguments)
        ruling = self._gate.ruled(action.proposed, proposed, readied, approves=True)[2] if is_same else None
        is_allowed = ruling is not None and ruling.verdict == "allow"
        return self._no_copy(action) if is_allowed else ""

    def _no_copy(self, action: OpenAction) -> str | None:
        """Return why the files that the action deletes have no copy; None if they have one or the user was asked."""
        why = self._copies.copy_failure(action.proposed.action_id)
        was_asked = action.assessed is not None and bool({why, FOR_GOOD}.intersection(action.assessed.reasons))
        return None if was_asked else why or None

    def _finish(self, run: RunningAction, result: Result, cancel: Cancel) -> None:
        """Record the result. A tool that ends the run does so here, unless the user has sent a message in the
        meantime.
        """
        proposed = run.proposed
        result, beside = self.protection.ended(
            run, result, CallContext(proposed.action_id, self.report, self._on_live), cancel
        )
        with self._log.lock:
            if isinstance(result, ActionObserved):
                result = self._failures.advised(proposed, result, self.tools)
            events: list[Event] = [result, *beside]
            state = self._log.state
            is_done = isinstance(result, ActionObserved) and result.ran and not result.observation.get("is_error")
            if run.readied.tool.ends_run and not run.readied.instead and is_done and isinstance(result, ActionObserved):
                rest = [action for name, action in state.batch.items() if name != proposed.action_id]
                events += none_run(rest, _AFTER_END.format(tool=proposed.tool))
                if not state.unread:
                    events.append(RunEnded(reason="finished", detail=_first_line(result)))
            self._log.commit(*events, happened=True)

    def report(self, event: Event) -> None:
        """Record an event of a running action; if it cannot be written now, it is written with the next one."""
        with suppress(StoreError):
            self._log.commit(event, lasting=False, happened=True)

    def close(self) -> None:
        """End the threads of the tools."""
        self.runner.close()


_BY_CHANGED_FILE = "a changed protected file, which every mode asks about"


def _asked_by(
    ruling: Ruling, *, ask: str, doubt: str, waited: str, readied: PreparedAction, protection: Protection
) -> tuple[str, str]:
    """Return, in a few words, what asks the user, and why: a mode or rule, or a check that asks although both allow it.

    Both are empty if nothing asks.
    """
    changed = protection.doubt(readied.tool)
    conflict = NOT_MERGED if has_conflicts(readied.stale) else ""
    reasons = (
        (ask, _BY_CHANGED_FILE if ask == changed else "a check that every mode makes"),
        (doubt, "deletions without a copy, in every mode"),
        (waited, "the question that was pending before"),
        (conflict, "a conflict of two changes, in every mode"),
        (changed, _BY_CHANGED_FILE),
    )
    by, why = next(((by, why) for why, by in reasons if why), ("", ""))
    return (by if by and ruling.verdict == "allow" else ruling.rule), why


def _is_asked(ruling: Ruling, *, ask: bool, waited: bool) -> bool:
    """Return whether the user decides.

    A question that `waited` before overrides a denial; a reason to `ask` does not.
    """
    return ruling.verdict == "ask" or waited or (ask and ruling.verdict == "allow")


def _notes_of(
    why: str, readied: PreparedAction, before: OpenAction | None, edited: dict[str, Any] | None
) -> tuple[str, ...]:
    """Return the reasons to show: why the user is asked, and which executed files changed since `before`."""
    assessment = before.assessed if before is not None else None
    is_again = assessment is not None and assessment.needs_decision and assessment.edited == edited
    changed = (
        executed_changes(assessment.executes, readied.executes, readied.working_dir) if assessment and is_again else ""
    )
    content = ""
    if assessment and is_again and not why.startswith(CHANGED):
        content = content_changes(assessment.preview, readied.files, readied.working_dir)
    beyond = NOT_ALL_COMPARED if NOT_COMPARED in readied.executes else ""
    return (*filter(None, (why, content, changed, beyond)), *stale_reasons(readied.stale), *readied.beside)


def decided_by(assessed: ActionAssessed, ruling: Ruling) -> list[Event]:
    """Return the decision of a mode, rule or hook, with the action's result if it is a denial."""
    is_denial = ruling.verdict == "deny"
    decided = ActionDecided(
        action_id=assessed.action_id,
        verdict="rejected" if is_denial else "approved" if assessed.edited is None else "edited",
        by=ruling.by,
        rule=ruling.rule,
        edited=None if is_denial else assessed.edited,
        by_hook=not is_denial and assessed.edited is not None,
        fingerprint=assessed.fingerprint,
    )
    return [decided, not_run(assessed.action_id, ruling.reason)] if is_denial else [decided]


def _first_line(result: ActionObserved) -> str:
    blocks = result.observation.get("content") or [{}]
    return first_line(str(blocks[0].get("text", "")), 200)
