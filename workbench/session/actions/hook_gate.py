"""What hooks decide on an action: they can deny it, ask the user about it, change it, or allow what a mode asks about.

A hook is never laxer than a rule. Hooks cannot allow what is HIGH, touches protected paths, or is asked about or denied
by a rule, and nothing in the modes that ask every time or only plan. If a hook fails, it might have objected, so the
user is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from msgspec.structs import replace

from workbench.llm.model import Cancel
from workbench.protocol.events import ActionAssessed, ActionProposed, Event
from workbench.protocol.hook_run import HookRan
from workbench.protocol.risk import Mode, Risk
from workbench.risk import Assessment
from workbench.rules.policy import Ruling, mode_label
from workbench.session.actions.assess import Rater, is_riskier
from workbench.session.actions.run import PreparedAction
from workbench.session.log import Log
from workbench.session.state import OpenAction
from workbench.text import visible

if TYPE_CHECKING:
    from workbench.session.hooks import SessionHooks

Deciding: TypeAlias = Literal["before_action", "before_asking"]
_STRICT_MODES: Final[frozenset[Mode]] = frozenset({"ask", "plan"})
_DENIED: Final = "{tool} was not run: {who} denies it. {reason}"
_NO_REASON: Final = "It gave no reason; ask the user, or choose another way."
_CHANGED: Final = "{who} changed what the agent proposed"


class HookGate:
    """Runs the hooks on a session's actions and applies their decisions; without hooks, rules and mode decide alone."""

    def __init__(self, hooks: SessionHooks | None, log: Log, rater: Rater) -> None:
        self._hooks = hooks
        self._log = log
        self._rater = rater

    def awaits(self, proposed: ActionProposed) -> bool:
        """Return whether hooks have to run before the action is assessed."""
        return self._is_due("before_action", proposed)

    def holds(self, proposed: ActionProposed, events: Sequence[Event]) -> bool:
        """Return whether these events ask the user and hooks have to run before that."""
        asks = any(isinstance(event, ActionAssessed) and event.needs_decision for event in events)
        return asks and self._is_due("before_asking", proposed)

    def _is_due(self, hook_event: Deciding, proposed: ActionProposed) -> bool:
        if self._hooks is None or not self._hooks.concern(hook_event, proposed):
            return False
        action = self._log.state.batch.get(proposed.action_id)
        was_asked = action is not None and action.was_asked  # the user decides, whatever hooks say
        return not was_asked and not self._hooks.have_run_for(hook_event, proposed.action_id)

    def run(self, assess: Callable[[ActionProposed], Sequence[Event]], cancel: Cancel) -> bool:
        """Run the hooks that are due for the next action; return whether there were any. Raises StoreError.

        `assess` returns the events of an action's assessment.
        """
        if self._hooks is None:
            return False
        with self._log.lock:
            action = self._log.state.next_action
            if action is None or action.is_waiting or action.may_run or action.proposed.error:
                return False
            proposed = replace(action.proposed, arguments=action.arguments)
            if self.awaits(action.proposed):
                due: tuple[Deciding, Event] | None = ("before_action", action.proposed)
            else:
                events = assess(action.proposed)
                due = ("before_asking", events[0]) if self.holds(proposed, events) else None
        if due is not None:
            self._hooks.run_for(due[0], proposed, due[1], cancel)
        return due is not None

    def ruled(
        self, original: ActionProposed, proposed: ActionProposed, readied: PreparedAction, *, approves: bool
    ) -> tuple[Assessment, Risk, Ruling]:
        """Rate an action as it would run, and return the ruling of rules, mode and hooks.

        `original` has the model's arguments, `proposed` those that would run; unless `approves`, hooks cannot allow the
        action.
        """
        local, risk, ruling = self._rater.strictest(proposed, readied)
        runs = self._runs(proposed)
        if not runs:
            return local, risk, ruling
        first_risk, first = self._rater.ruling(original, readied.tool)
        highest = first_risk if is_riskier(first_risk, risk) else risk
        mode, tool = self._log.state.mode, readied.tool.name
        after = hooked(ruling, first, runs, tool=tool, risk=highest, mode=mode, approves=approves)
        return local, risk, after

    def reason(self, proposed: ActionProposed, ruling: Ruling) -> str:
        """Return why the question about an action cannot be avoided by a rule: a hook asks, or changed it. Empty if
        none did.
        """
        runs = self._runs(proposed)
        asks = ruling.verdict == "ask" and any(ruling.rule == label_of(run) for run in runs)
        return ruling.reason if asks else self.change(proposed)

    def change(self, proposed: ActionProposed) -> str:
        """Return the line that says which hook changed an action; empty if its arguments are not a hook's."""
        change = next((run for run in reversed(self._runs(proposed)) if run.arguments is not None), None)
        is_changed = change is not None and change.arguments == proposed.arguments
        return _CHANGED.format(who=label_of(change)) if change is not None and is_changed else ""

    def _runs(self, proposed: ActionProposed) -> Sequence[HookRan]:
        return self._hooks.runs_for(proposed.action_id) if self._hooks is not None else ()


def is_by_hook(action: OpenAction, edited: dict[str, Any] | None) -> bool:
    """Return whether the edited arguments are a hook's, not the user's."""
    return edited is not None and edited == action.hook_arguments


def label_of(run: HookRan) -> str:
    """Return the name of a hook in decisions."""
    return f'hook "{visible(run.name, lines=False)}"'


def hooked(
    ruling: Ruling, original: Ruling, runs: Sequence[HookRan], *, tool: str, risk: Risk, mode: Mode, approves: bool
) -> Ruling:
    """Return the ruling on an action after its hooks have run.

    `ruling` applies to the action as it would run, `original` to the model's arguments, and `risk` is the higher of
    their risks. Unless `approves`, hooks cannot allow the action.
    """
    strict = _stricter(ruling, original, runs)
    if strict.verdict == "deny":
        return strict
    if (denial := _last(runs, "deny")) is not None:
        reason = denial.explanation.strip() or _NO_REASON
        return Ruling("deny", label_of(denial), _DENIED.format(tool=tool, who=label_of(denial), reason=reason), "rule")
    if (question := _last(runs, "ask") or _failed(runs)) is not None:
        return Ruling("ask", label_of(question), _question(question), "rule") if strict.verdict == "allow" else strict
    approval = _last(runs, "approve") if approves else None
    may_be_let = strict.verdict == "ask" and risk != "HIGH" and mode not in _STRICT_MODES
    if approval is not None and may_be_let and strict.by == "mode" and strict.rule == mode_label(mode):
        return Ruling("allow", label_of(approval), by="rule")
    return strict


def _stricter(ruling: Ruling, original: Ruling, runs: Sequence[HookRan]) -> Ruling:
    """Return the ruling on an action that a hook has changed: if the original was asked about or denied, it still
    is.
    """
    change = next((run for run in reversed(runs) if run.arguments is not None), None)
    if change is None or ruling.verdict == "deny":
        return ruling
    if original.verdict == "deny":
        return original
    if original.verdict == "ask" and ruling.verdict == "allow":
        why = original.reason or _CHANGED.format(who=label_of(change))
        return Ruling("ask", original.rule, why, original.by)
    return ruling


def _failed(runs: Sequence[HookRan]) -> HookRan | None:
    """Return the run of a hook that failed, which might have denied the action or asked about it; None if none
    failed.
    """
    return next((run for run in runs if run.failure), None)


def _question(run: HookRan) -> str:
    if run.failure:
        return f"{label_of(run)} failed: {run.failure}"
    return f"{label_of(run)} asks" + (f": {run.explanation}" if run.explanation else "")


def _last(runs: Sequence[HookRan], decision: str) -> HookRan | None:
    return next((run for run in reversed(runs) if run.decision == decision), None)
