"""The fold of a long session that is not read whole: how it stood before the part on screen, and older parts of it.

The follower calls `settled` and `folded` in a thread; the others change the state that is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from workbench.protocol.events import ActionProposed, DelegateStep, FilesChanged, UserCommand
from workbench.view.action_reducer import take_step
from workbench.view.reducer import apply
from workbench.view.state import ActionItem, Changed, SessionState

if TYPE_CHECKING:
    from workbench.protocol.events import Event
    from workbench.session.storage.paging import Digest

_KNOWN: Final = (
    *("session_id", "workspace", "title", "rules", "model", "mode", "scripted", "is_running", "ended"),
    *("tasks", "version", "changes", "turn_changes", "cost", "input_tokens", "window", "parts", "total_tokens"),
    *("last_seq", "first_seq", "action_count", "actions_before"),
)


def settled(digest: Digest) -> SessionState:
    """How the session stood before the event that the digest ends with, without what was said and done."""
    from workbench.session.storage.paging import DigestStep

    state = SessionState()
    for told in digest.told:
        if isinstance(told, DigestStep):
            take_step(state, told.number, told.tool)
        else:
            apply(state, told)
    state.cost, state.total_tokens = digest.cost, digest.tokens
    state.action_count = state.actions_before = digest.actions
    state.first_seq, state.last_seq = digest.start, digest.start - 1
    return state


def begin_after(state: SessionState, earlier: SessionState) -> None:
    """A state that has applied nothing goes on from there."""
    for name in _KNOWN:
        setattr(state, name, getattr(earlier, name))


def folded(events: Sequence[Event], actions_before: int) -> SessionState:
    """A part of the session by itself; `actions_before` counts those up to its end."""
    state = SessionState(action_count=actions_before - sum(map(_is_action, events)))
    state.actions_before = state.action_count
    for event in events:
        apply(state, event)
    state.first_seq = events[0].seq if events else 1
    for item in state.queued:
        item.queued = False
    return state


def put_before(state: SessionState, part: SessionState) -> Changed:
    """An older part, just before what the state holds."""
    state.items[:0] = part.items
    state.actions = part.actions | state.actions
    state.first_seq, state.actions_before = part.first_seq, part.actions_before
    return Changed(earlier=part.items, status=True)


def count_before(state: SessionState, start: int) -> int:
    """How many items at the beginning tell of events before that one; lines without an event are among them."""
    return next((at for at, item in enumerate(state.items) if item.seq >= start), 0)


def drop_before(state: SessionState, start: int) -> Changed:
    """Hold nothing of what came before that event; it can be read again."""
    gone = state.items[: count_before(state, start)]
    del state.items[: len(gone)]
    state.actions = {name: item for name, item in state.actions.items() if item.seq >= start or _is_open(state, item)}
    first = next((item.number for item in state.items if isinstance(item, ActionItem)), state.action_count + 1)
    state.first_seq, state.actions_before = start, first - 1
    return Changed(gone=gone, status=True)


def _is_open(state: SessionState, item: ActionItem) -> bool:
    return item.action_id in state.running or item.action_id in state.waiting


def _is_action(event: Event) -> bool:
    if isinstance(event, DelegateStep):
        return isinstance(event.event, ActionProposed)
    return isinstance(event, ActionProposed | UserCommand) or (isinstance(event, FilesChanged) and event.by == "person")
