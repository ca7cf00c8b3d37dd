"""What the person may decide on an open question, and what is recorded of it; used by the session."""

from __future__ import annotations

from workbench.errors import WorkbenchError
from workbench.session.actions import Actions
from workbench.session.events import ActionDecided, Event
from workbench.session.ledger import OpenAction
from workbench.session.results import rejected
from workbench.tools.arguments import ArgumentError


class Refused(WorkbenchError):
    """A command does not fit the state of the session; one line for the person."""


def decision_on(waiting: OpenAction | None, decided: ActionDecided, actions: Actions) -> list[Event]:
    """The events of a decision; raises Refused when it does not fit the question that is open."""
    if waiting is None or waiting.assessed is None or waiting.proposed.action_id != decided.action_id:
        raise Refused("this action does not wait for a decision any more")
    if decided.hunks is not None:
        raise Refused("an edit can be approved or rejected only as a whole; reject it with a note")
    shown = waiting.assessed.fingerprint
    if decided.verdict == "rejected":
        plain = decided.model_copy(update={"edited": None, "fingerprint": shown})
        return [plain, rejected(decided.action_id, decided.note)]
    if decided.fingerprint != shown:
        raise Refused("the action has changed since it was shown; look at it again")
    if decided.verdict == "edited":
        return [_edited(decided, waiting, actions)]
    return [decided.model_copy(update={"edited": None})]


def _edited(decided: ActionDecided, waiting: OpenAction, actions: Actions) -> ActionDecided:
    """The approval bound to the person's own version of the arguments."""
    if decided.edited is None:
        raise Refused("the edited arguments are missing")
    try:
        readied = actions.ready(waiting.proposed.tool, decided.edited)
    except ArgumentError as error:
        raise Refused(f"these arguments do not fit: {error}") from error
    return decided.model_copy(update={"fingerprint": readied.fingerprint})
