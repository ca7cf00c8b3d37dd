"""What is to be recorded when a session is opened again after its engine ended in the middle; used by the session."""

from __future__ import annotations

from workbench.session.events import ActionAbandoned, Event, RunEnded
from workbench.session.ledger import Ledger, OpenAction
from workbench.session.results import none_run, not_run, rejected

_STOPPED = "the workbench stopped here; send a message to go on"
_UNKNOWN = "the workbench stopped while it ran; its outcome is unknown and it was not run again"
_BEFORE = "This call was not run: the workbench stopped before its turn came."


def after_a_stop(ledger: Ledger) -> list[Event]:
    """The events that make a half-done run whole again; nothing is ever run a second time.

    A question that was open stays open. A decided action without a result is abandoned, and the run ends.
    """
    broken = [action for action in ledger.batch.values() if action.decided or action.started]
    if ledger.is_running and ledger.batch and not broken:
        return []
    events: list[Event] = [_closed(action) for action in broken]
    events += none_run((action for action in ledger.batch.values() if action not in broken), _BEFORE)
    if ledger.is_running:
        events.append(RunEnded(reason="interrupted", detail=_STOPPED))
    return events


def _closed(action: OpenAction) -> Event:
    action_id, decided = action.proposed.action_id, action.decided
    if decided is not None and decided.verdict == "rejected":
        return rejected(action_id, decided.note) if decided.by == "person" else not_run(action_id, decided.rule)
    return ActionAbandoned(action_id=action_id, reason=_UNKNOWN)
