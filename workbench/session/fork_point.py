"""Where a fork leaves its session: at a checkpoint, at the end, or while an action waits for the user."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from workbench.errors import UsageError
from workbench.protocol.events import ActionDecided, ActionObserved, DelegateStep, Event, Rewound, RunEnded, UserMessage
from workbench.session.state import OpenAction, State
from workbench.session.storage.store import Store

_DECISIONS: Final = """
SELECT seq FROM events WHERE kind = 'action_decided' AND json_extract(json, '$.action_id') = ? ORDER BY seq"""
_QUESTIONS: Final = """
SELECT max(seq) FROM events WHERE kind = 'action_assessed' AND json_extract(json, '$.needs_decision')
GROUP BY json_extract(json, '$.action_id') ORDER BY seq"""
_MOST_LISTED = 8


class ForkPoint(Struct, frozen=True):
    """Where a fork leaves the session: `target` is the last event that the two share."""

    target: int
    message: UserMessage | None = None
    """The user's message just after the point, if the session was forked at one."""
    action_id: str = ""
    """The action that waits for the user at the point and in the fork; empty if the fork ends what is open there."""
    open_actions: tuple[OpenAction, ...] = ()
    """With `action_id`: all actions that are open at the point, in order."""
    approved: tuple[str, ...] = ()
    """With `action_id`: those open actions that the user approved unchanged before deciding on that one."""


def fork_point(store: Store, event: int | None = None) -> ForkPoint:
    """Return the point at a checkpoint, or the end of the session if `event` is None.

    The point is before a message, after the result of an action or the end of a run, or where the session was before a
    rewind. Raises UsageError for any other event, or StoreError.
    """
    if event is None:
        return ForkPoint(store.last_seq)
    match _event(store, event):
        case UserMessage() as message:
            return ForkPoint(event - 1, message)
        case Rewound():
            return ForkPoint(event - 1)
        case ActionObserved() | RunEnded():
            return ForkPoint(event)
    raise UsageError(f"event {event} is no checkpoint; `ohw rewind {store.path.stem}` lists them")


def waiting_point(store: Store, event: int) -> ForkPoint:
    """Return the last point before the user's decision at which an action waited; `event` is any event of that action.

    At this point, no other action of its batch is decided or running. Raises UsageError if there is no such point, or
    StoreError.
    """
    action_id = _action_of(store, event)
    decisions = [seq for (seq,) in store.query(_DECISIONS, action_id)]
    decided = next((seq for seq in decisions if seq >= event), decisions[-1] if decisions else store.last_seq + 1)
    state, point, waited = State(), None, False
    for each in store.events(0, decided - 1):
        state.apply(each)
        waiting = state.question(action_id)
        waited = waited or waiting is not None
        if waiting is not None and waiting.asks_user:
            raise UsageError(f"event {event} is a question of the agent; use `--from MESSAGE --prompt TEXT` instead")
        if waiting is not None and _is_quiet(state):
            point = ForkPoint(each.seq, action_id=action_id, open_actions=tuple(map(replace, state.batch.values())))
        elif point is not None and isinstance(each, ActionDecided) and _is_approved_by_user(each):
            point = replace(point, approved=(*point.approved, each.action_id))
    if point is not None:
        return point
    if waited:
        raise UsageError(f"event {event}: other actions ran for as long as this one waited, so it cannot be separated")
    raise UsageError(f"event {event} is of no action that waited for approval; {_listed(store)}")


def _event(store: Store, number: int) -> Event:
    event = next(store.events(number - 1, 1), None) if 0 < number <= store.last_seq else None
    if event is None:
        raise UsageError(f"there is no event {number} in this session; it has {store.last_seq}")
    return event


def _action_of(store: Store, number: int) -> str:
    event = _event(store, number)
    if isinstance(event, DelegateStep):
        raise UsageError(f"event {number} is of a sub-agent; only actions of the session's own agent can be decided")
    return getattr(event, "action_id", "")


def _is_approved_by_user(decision: ActionDecided) -> bool:
    return (decision.verdict, decision.by) == ("approved", "person")


def _is_quiet(state: State) -> bool:
    """Return whether no open action is decided or running."""
    is_open = (each.decided is None and not each.started and each.sub_agent is None for each in state.batch.values())
    return not state.own and all(is_open)


def _listed(store: Store) -> str:
    numbers: list[int] = [seq for (seq,) in store.query(_QUESTIONS)]
    if not numbers:
        return "none of this session did"
    more = f" and {len(numbers) - _MOST_LISTED} more" if len(numbers) > _MOST_LISTED else ""
    return f"those that did: {', '.join(map(str, numbers[:_MOST_LISTED]))}{more}"
