"""Turns the user's decisions, answers and settings into events; raises CommandError if they do not fit the session."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

import msgspec.structs

from workbench.errors import WorkbenchError
from workbench.files.root_directory import on_top_of
from workbench.protocol.events import (
    ActionAssessed,
    ActionDecided,
    ActionStarted,
    Event,
    FileText,
    SettingsChanged,
)
from workbench.protocol.risk import Mode
from workbench.rules.rule import RuleError, parse_rule
from workbench.rules.rule_files import add_rules, checked
from workbench.rules.rule_set import RuleSet
from workbench.session.actions.assess import EDITED, is_riskier
from workbench.session.actions.hook_gate import is_by_hook
from workbench.session.actions.lifecycle import Actions
from workbench.session.actions.partial_approval import InvalidPart, as_written, is_everything, is_nothing, parts_of
from workbench.session.actions.run import CannotWrite
from workbench.session.actions.stale_files import refused_stale_note
from workbench.session.results import answered, rejected
from workbench.session.state import OpenAction
from workbench.text import well_formed
from workbench.tools.arguments import ArgumentError


class DecisionFields(TypedDict, total=False):
    """A note, and how the approved action differs from the proposal; the fields are those of ActionDecided."""

    note: str
    edited: dict[str, Any] | None
    hunks: tuple[int, ...] | None
    written: tuple[FileText, ...] | None


class CommandError(WorkbenchError):
    """A command does not fit the state of the session; the message is one line for the user."""


def decision_on(waiting: OpenAction | None, decided: ActionDecided, actions: Actions) -> list[Event]:
    """Return the events of a decision. Raises CommandError if it does not fit the open question."""
    if waiting is None or waiting.assessed is None or waiting.proposed.action_id != decided.action_id:
        raise CommandError("this action no longer needs a decision")
    if waiting.asks_user:
        raise CommandError("this is a question of the agent's; it takes an answer, not a decision")
    assessed = waiting.assessed
    if decided.verdict == "rejected":
        return _rejected(decided, assessed)
    if decided.fingerprint != assessed.fingerprint:
        raise CommandError("the action has changed since it was shown; look at it again")
    _check_not_denied(decided, waiting, actions)
    if decided.hunks is not None or decided.written is not None:
        return _in_part(decided, waiting, assessed, actions)
    if decided.verdict == "edited":
        return _edited(decided, waiting, assessed, actions)
    return [_unchanged(decided, assessed, waiting)]


def _check_not_denied(decided: ActionDecided, waiting: OpenAction, actions: Actions) -> None:
    """Raise CommandError if a mode or rule now denies the approved action."""
    tool = actions.tools.get(waiting.proposed.tool)
    ruling = actions.rater.verdict(waiting, tool, decided.edited) if tool else None
    if ruling is not None and ruling.verdict == "deny":
        raise CommandError(f"not approved: {ruling.rule} denies it now; change that first, or reject the action")


def _unchanged(decided: ActionDecided, assessed: ActionAssessed, waiting: OpenAction) -> ActionDecided:
    """Return the approval of the action as it was shown, including arguments that a hook or the user has changed."""
    return msgspec.structs.replace(
        decided,
        verdict="approved" if assessed.edited is None else "edited",
        edited=assessed.edited,
        by_hook=is_by_hook(waiting, assessed.edited),
        hunks=None,
        written=None,
    )


def _rejected(decided: ActionDecided, assessed: ActionAssessed) -> list[Event]:
    plain = msgspec.structs.replace(
        decided, verdict="rejected", fingerprint=assessed.fingerprint, edited=None, hunks=None, written=None
    )
    return [plain, rejected(decided.action_id, decided.note, refused_stale_note(assessed.stale))]


def _in_part(decided: ActionDecided, waiting: OpenAction, assessed: ActionAssessed, actions: Actions) -> list[Event]:
    """Return the events of a partial approval.

    Accepting everything counts as an approval, accepting nothing as a rejection. Raises CommandError.
    """
    if decided.edited is not None:
        raise CommandError("an action is approved with other arguments or in part, not both at once")
    try:
        parts = parts_of(assessed.preview, decided)
        if is_nothing(parts):
            return _rejected(decided, assessed)
        if is_everything(parts):
            return [_unchanged(decided, assessed, waiting)]
        with on_top_of(actions.pending(decided.action_id)):
            actions.writer.check(parts)
    except InvalidPart as error:
        raise CommandError(str(error)) from error
    except CannotWrite as error:
        raise CommandError(f"this can be approved or rejected only as a whole: {error}") from error
    hunks = None if decided.hunks is None else tuple(sorted(set(decided.hunks)))
    return [
        msgspec.structs.replace(
            decided,
            verdict="edited",
            edited=assessed.edited,
            by_hook=is_by_hook(waiting, assessed.edited),
            hunks=hunks,
            written=as_written(parts),
        )
    ]


def answer_to(waiting: OpenAction | None, action_id: str, text: str) -> list[Event]:
    """Return the events of an answer, which becomes the action's result.

    Raises CommandError if that question is not open.
    """
    if waiting is None or waiting.assessed is None or waiting.proposed.action_id != action_id:
        raise CommandError("this question no longer needs an answer")
    if not waiting.asks_user:
        raise CommandError("this action needs a decision, not an answer")
    message = well_formed(text).strip()
    if not message:
        raise CommandError("there is no text to answer with")
    assessed = waiting.assessed
    decided = ActionDecided(
        action_id=action_id, verdict="approved", by="rule", rule=assessed.rule, fingerprint=assessed.fingerprint
    )
    return [decided, ActionStarted(action_id=action_id), answered(action_id, message)]


def _edited(decided: ActionDecided, waiting: OpenAction, assessed: ActionAssessed, actions: Actions) -> list[Event]:
    """Return the approval with the user's own arguments, or a question that first shows what those would do.

    The arguments are rated like any others; they are shown first if they are riskier than what was shown, HIGH, or
    write files. Raises CommandError if the tool does not accept them.
    """
    if decided.edited is None:
        raise CommandError("the edited arguments are missing")
    try:
        readied = actions.ready(waiting.proposed.tool, decided.edited)
    except ArgumentError as error:
        raise CommandError(f"these arguments do not fit: {error}") from error
    if readied.preparation:
        raise CommandError("what these arguments would do is not known yet; reject the action with a note instead")
    again = actions.assessed(waiting.proposed, ask=EDITED, edited=decided.edited)
    rated = next((event for event in again if isinstance(event, ActionAssessed)), None)
    if rated is None or not rated.needs_decision or rated.preview:
        return again
    if rated.risk == "HIGH" or is_riskier(rated.risk, assessed.risk):
        return again
    return [msgspec.structs.replace(decided, fingerprint=rated.fingerprint)]


class SettingFields(TypedDict, total=False):
    """The settings that the user can change while a session is open; the fields are those of SettingsChanged."""

    model: str | None
    mode: Mode | None
    max_steps: int | None
    rule: str | None
    dropped_rule: str | None
    title: str | None


def settings_change(fields: SettingFields) -> SettingsChanged | None:
    """Return the event that changes these settings, or None if all are None. Raises CommandError for invalid ones."""
    if all(value is None for value in fields.values()):
        return None
    max_steps, rule = fields.get("max_steps"), fields.get("rule")
    if max_steps is not None and max_steps < 1:
        raise CommandError("the limit of steps must be at least 1")
    try:
        normalized = checked(parse_rule(rule)).text if rule else None
    except RuleError as error:
        raise CommandError(str(error)) from error
    return msgspec.structs.replace(SettingsChanged(**fields), rule=normalized)


Scope: TypeAlias = Literal["session", "folder", "person"]


class AlwaysRule(NamedTuple):
    """The rules of one choice, one per line, and where they apply: this session, this directory, or everywhere."""

    rule: str
    scope: Scope


def remembered(waiting: OpenAction | None, always: AlwaysRule, rule_set: RuleSet, decision: list[Event]) -> list[Event]:
    """Save the rules and return the events to commit, including the decision.

    If CommandError is raised, nothing was saved.
    """
    choices = waiting.assessed.choices if waiting and waiting.assessed else ()
    if always.rule not in [choice.text for choice in choices]:
        raise CommandError("that is not the rule that was shown with this action; look at it again")
    lines = always.rule.splitlines()
    events = [
        msgspec.structs.replace(event, rule=", ".join(lines)) if isinstance(event, ActionDecided) else event
        for event in decision
    ]
    if always.scope == "session":
        return [*events, *(SettingsChanged(rule=line) for line in lines)]
    if rule_set.user_file is None:
        raise CommandError("there is no file to save rules in; choose the session")
    directory = rule_set.workspace if always.scope == "folder" else ""
    try:
        add_rules(rule_set.user_file, [replace(parse_rule(line, "person"), folder=directory) for line in lines])
    except RuleError as error:
        raise CommandError(str(error)) from error
    return events
