"""The events that close an unfinished run: after a kill, an interrupt, a fault, an import or a repair."""

from __future__ import annotations

from collections.abc import Collection

from workbench.protocol.events import ActionAbandoned, ActionProposed, DelegateStep, Event, RunEnd, RunEnded
from workbench.rules.subject import NETWORK
from workbench.session.results import none_run, not_run, rejected
from workbench.session.state import OpenAction, RunningSubAgent, State
from workbench.tools.ask_human.question import PUT_BACK, SANDBOX

_STOPPED = "the workbench stopped here. Send a message to continue"
_UNKNOWN = "the workbench stopped while it ran; its outcome is unknown and it was not run again"
_BEFORE = "This call was not run: the workbench stopped before its turn came."
_ELSEWHERE = "This call was not run: the session was brought here from elsewhere while it waited."
_LOST = "the end of the log was lost, so it is unknown whether it ran; it was not run again"
_CONNECTION_ENDED = "The connection ended with the workbench, before you decided."
_INTERRUPTED = "This call was not run: the user interrupted."


def after_a_stop(state: State) -> list[Event]:
    """Return the events that complete an interrupted run after a kill; nothing is ever run a second time.

    Open questions stay open, including those of sub-agents, whose calls continue. Actions that were started, or decided
    and next in turn, are abandoned; actions between those and the first question are recorded as not run. Without an
    open question the run ends: a restart alone neither runs an action nor calls the model.
    """
    return [*_questions_closed(state), *_run_closed(state)]


def _questions_closed(state: State) -> list[Event]:
    """Return the events that close the questions of the sandbox, which ended with the process."""
    reasons = {name: _ended_question(action.proposed) for name, action in state.delegated.items()}
    return [
        DelegateStep(action_id="", agent=SANDBOX, session="", event=not_run(name, reason))
        for name, reason in reasons.items()
        if reason
    ]


def _ended_question(step: ActionProposed) -> str:
    """Return how a question of the sandbox ended with the process; empty for other steps."""
    if step.tool == PUT_BACK:
        files, directory = (step.arguments.get(name, "?") for name in ("files", "directory"))
        return f"The workbench stopped before you decided. What was moved aside stays in {directory}: {files}."
    return _CONNECTION_ENDED if step.tool == NETWORK else ""


def _run_closed(state: State) -> list[Event]:
    batch = list(state.batch.values())
    unknown = [action for at, action in enumerate(batch) if action.started or (action.decided and not at)]
    open_ones = (
        [action for action in batch if action.is_waiting or action.waits_in_sub_agent] if state.is_running else []
    )
    if not open_ones:
        return _ended(state, unknown, _BEFORE, "interrupted", _STOPPED)
    before = batch[: batch.index(open_ones[0])]
    behind = [action for action in batch[len(before) :] if action.started and action not in open_ones]
    return _all_closed([*before, *behind], [one for one in unknown if one not in open_ones], _BEFORE)


def after_an_interrupt(state: State, since: int | None = None, reason: str = "") -> list[Event]:
    """Return the events that end the run at the user's request, or for `reason`; every open action gets a result.

    If the user has sent something after event `since` and there is no `reason`, the run continues with that instead.
    """
    if not reason and since is not None and any(seq > since for seq in state.unread):
        return _all_closed(state.batch.values(), _started(state), _INTERRUPTED)
    text = f"This call was not run: {reason}." if reason else _INTERRUPTED
    return _ended(state, _started(state), text, "interrupted", reason)


def after_a_fault(state: State, detail: str) -> list[Event]:
    """Return the events that end the run because of an internal error; the session stays usable."""
    return _ended(state, _started(state), _BEFORE, "error", detail)


def after_an_import(state: State) -> list[Event]:
    """Return the events that close everything open in a log from elsewhere, even questions and approved actions."""
    own = [not_run(name, _ELSEWHERE) for name in state.own]
    detail = "the session came from elsewhere, and what was open in it was closed"
    ended = _ended(state, _started(state), _ELSEWHERE, "interrupted", detail)
    return [*own, *_questions_closed(state), *ended]


def after_a_repair(state: State) -> list[Event]:
    """Return the events that close everything open in a log whose end was lost; any of its actions may have run."""
    own = [ActionAbandoned(action_id=name, reason=_LOST) for name in state.own]
    closed = [_closed(action, _LOST) for action in state.batch.values()]
    detail = "the end of the session was lost, and what was open in it was closed"
    ended = [RunEnded(reason="interrupted", detail=detail)] if state.is_running else []
    return [*own, *_questions_closed(state), *closed, *ended]


def _started(state: State) -> list[OpenAction]:
    return [action for action in state.batch.values() if action.started]


def _ended(state: State, unknown: Collection[OpenAction], text: str, reason: RunEnd, detail: str) -> list[Event]:
    events = _all_closed(state.batch.values(), unknown, text)
    if state.is_running:
        events.append(RunEnded(reason=reason, detail=detail))
    return events


def _all_closed(actions: Collection[OpenAction], unknown: Collection[OpenAction], text: str) -> list[Event]:
    events: list[Event] = [_closed(action) for action in unknown]
    return events + none_run((action for action in actions if action not in unknown), text)


def _closed(action: OpenAction, reason: str = _UNKNOWN) -> Event:
    action_id, decided = action.proposed.action_id, action.decided
    if decided is not None and decided.verdict == "rejected":
        return rejected(action_id, decided.note) if decided.by == "person" else not_run(action_id, decided.rule)
    return ActionAbandoned(action_id=action_id, reason=reason, known=_sub_agent_status(action.sub_agent))


def _sub_agent_status(at_work: RunningSubAgent | None) -> str:
    """Describe the sub-agent of an action, and where its own complete log is; empty if the action has none."""
    if at_work is None:
        return ""
    who = f"its sub-agent {at_work.agent}"
    if at_work.questions:
        return f"{who} waits for the user's answer, which `ohw resume {at_work.session}` still accepts"
    return f"its actions are in its own log, session {at_work.session}"
