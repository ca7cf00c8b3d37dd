"""The events that close an unfinished run: after a kill, an interrupt, a fault, an import or a repair."""

from __future__ import annotations

from collections.abc import Collection

from workbench.protocol.events import ActionAbandoned, Event, RunEnd, RunEnded
from workbench.session.results import none_run, not_run, rejected
from workbench.session.state import OpenAction, RunningSubAgent, State

_STOPPED = "the workbench stopped here; send a message to go on"
_UNKNOWN = "the workbench stopped while it ran; its outcome is unknown and it was not run again"
_BEFORE = "This call was not run: the workbench stopped before its turn came."
_ELSEWHERE = "This call was not run: the session was brought here from elsewhere while it waited."
_LOST = "the end of the log was lost, so whether it ran is not known; it was not run again"
_INTERRUPTED = "This call was not run: the person interrupted."


def after_a_stop(state: State) -> list[Event]:
    """The events that make a half-done run whole again after a kill; nothing is ever run a second time.

    Questions that were open stay open, those of sub-agents too: the calls these work for go on. What was decided and
    had its turn is abandoned; what stood between that and the first question was not run. Without a question the run
    ends: a restart by itself neither runs an action nor calls the model.
    """
    batch = list(state.batch.values())
    unknown = [action for at, action in enumerate(batch) if action.started or (action.decided and not at)]
    open_ones = [action for action in batch if action.is_waiting or action.waits_below] if state.is_running else []
    if not open_ones:
        return _ended(state, unknown, _BEFORE, "interrupted", _STOPPED)
    before = batch[: batch.index(open_ones[0])]
    behind = [action for action in batch[len(before) :] if action.started and action not in open_ones]
    return _all_closed([*before, *behind], [one for one in unknown if one not in open_ones], _BEFORE)


def after_an_interrupt(state: State, since: int | None = None, reason: str = "") -> list[Event]:
    """The events that end the run on the person's wish, or for the `reason`; the rest of its batch gets results.

    When they have sent something after event `since`, the run goes on with that instead of ending, unless for a reason.
    """
    if not reason and since is not None and any(seq > since for seq in state.unread):
        return _all_closed(state.batch.values(), _started(state), _INTERRUPTED)
    text = f"This call was not run: {reason}." if reason else _INTERRUPTED
    return _ended(state, _started(state), text, "interrupted", reason)


def after_a_fault(state: State, detail: str) -> list[Event]:
    """The events that end the run because something of ours failed; the session lives on."""
    return _ended(state, _started(state), _BEFORE, "error", detail)


def after_an_import(state: State) -> list[Event]:
    """The events that close what is open in a log from elsewhere, questions and approved actions too."""
    own = [not_run(name, _ELSEWHERE) for name in state.own]
    detail = "the session came from elsewhere, and what was open in it was closed"
    return [*own, *_ended(state, _started(state), _ELSEWHERE, "interrupted", detail)]


def after_a_repair(state: State) -> list[Event]:
    """The events that close what is open in a log whose end was lost: any action of it may have run."""
    own = [ActionAbandoned(action_id=name, reason=_LOST) for name in state.own]
    closed = [_closed(action, _LOST) for action in state.batch.values()]
    detail = "the end of the session was lost, and what was open in it was closed"
    return [*own, *closed, *([RunEnded(reason="interrupted", detail=detail)] if state.is_running else [])]


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
    return ActionAbandoned(action_id=action_id, reason=reason, known=_known(action.sub_agent))


def _known(at_work: RunningSubAgent | None) -> str:
    """Where its sub-agent stands: its own log is whole, and a question in it is still open."""
    if at_work is None:
        return ""
    who = f"its sub-agent {at_work.agent}"
    if at_work.questions:
        return f"{who} waits for an answer of the person's, which `ohw resume {at_work.session}` still takes"
    return f"what {who} did is in its own log, session {at_work.session}"
