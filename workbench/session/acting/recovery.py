"""What is to be recorded when a run ends before its batch does: after a kill, an interrupt or a fault of ours."""

from __future__ import annotations

from collections.abc import Collection

from workbench.session.acting.results import none_run, not_run, rejected
from workbench.session.events import ActionAbandoned, Event, RunEnd, RunEnded
from workbench.session.ledger import AtWork, Ledger, OpenAction

_STOPPED = "the workbench stopped here; send a message to go on"
_UNKNOWN = "the workbench stopped while it ran; its outcome is unknown and it was not run again"
_BEFORE = "This call was not run: the workbench stopped before its turn came."
_INTERRUPTED = "This call was not run: the person interrupted."


def after_a_stop(ledger: Ledger) -> list[Event]:
    """The events that make a half-done run whole again after a kill; nothing is ever run a second time.

    A question that was open stays open, that of a sub-agent too: the call it works for goes on with it. Otherwise the
    run ends, a decided action without a result is abandoned: a restart by itself neither runs an action nor calls the
    model.
    """
    if ledger.phase == "deciding":
        return []
    unknown = [action for action in ledger.batch.values() if action.decided or action.started]
    if any(action.waits_below for action in unknown):
        return [_closed(action) for action in unknown if action.started and not action.waits_below]
    return _ended(ledger, unknown, _BEFORE, "interrupted", _STOPPED)


def after_an_interrupt(ledger: Ledger, since: int | None = None) -> list[Event]:
    """The events that end the run on the person's wish; the rest of its batch gets results.

    When they have sent something after event `since`, the run goes on with that instead of ending.
    """
    if since is not None and any(seq > since for seq in ledger.unread):
        return _batch_closed(ledger, _started(ledger), _INTERRUPTED)
    return _ended(ledger, _started(ledger), _INTERRUPTED, "interrupted", "")


def after_a_fault(ledger: Ledger, detail: str) -> list[Event]:
    """The events that end the run because something of ours failed; the session lives on."""
    return _ended(ledger, _started(ledger), _BEFORE, "error", detail)


def _started(ledger: Ledger) -> list[OpenAction]:
    return [action for action in ledger.batch.values() if action.started]


def _ended(ledger: Ledger, unknown: Collection[OpenAction], said: str, reason: RunEnd, detail: str) -> list[Event]:
    events = _batch_closed(ledger, unknown, said)
    if ledger.is_running:
        events.append(RunEnded(reason=reason, detail=detail))
    return events


def _batch_closed(ledger: Ledger, unknown: Collection[OpenAction], said: str) -> list[Event]:
    events: list[Event] = [_closed(action) for action in unknown]
    return events + none_run((action for action in ledger.batch.values() if action not in unknown), said)


def _closed(action: OpenAction) -> Event:
    action_id, decided = action.proposed.action_id, action.decided
    if decided is not None and decided.verdict == "rejected":
        return rejected(action_id, decided.note) if decided.by == "person" else not_run(action_id, decided.rule)
    return ActionAbandoned(action_id=action_id, reason=_UNKNOWN, known=_known(action.sub_agent))


def _known(at_work: AtWork | None) -> str:
    """Where its sub-agent stands: its own log is whole, and a question in it is still open."""
    if at_work is None:
        return ""
    who = f"its sub-agent {at_work.agent}"
    if at_work.question:
        return f"{who} waits for an answer of the person's, which `ohw resume {at_work.session}` still takes"
    return f"what {who} did is in its own log, session {at_work.session}"
