"""The events of a session to which it can return: each message, and each action that changed files."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from workbench.protocol.events import (
    ActionObserved,
    ActionProposed,
    Event,
    FileDelta,
    UserMessage,
    VersionTaken,
)
from workbench.session.storage.active_path import ActivePath, rewinds_of
from workbench.session.storage.store import Store


class Checkpoint(Struct):
    """A point on the active path, named after its event `seq`; `target` is the event to return to.

    A message returns the session to just before it, an action to just after its result.
    """

    seq: int
    target: int
    at: datetime
    text: str
    tool: str = ""
    """The tool of the action; empty for a message."""
    files: frozenset[str] = frozenset()
    """The absolute paths of the files that the action changed."""


def checkpoints_of(store: Store) -> list[Checkpoint]:
    """Return the checkpoints of a session, in order. Raises StoreError."""
    path = ActivePath(store.last_seq, rewinds_of(store))
    return list(_checkpoints(store.events(), path))


def _checkpoints(events: Iterator[Event], path: ActivePath) -> Iterator[Checkpoint]:
    proposed: dict[str, ActionProposed] = {}
    actions: dict[str, Checkpoint] = {}
    ordered: list[Checkpoint] = []
    for event in events:
        match event:
            case UserMessage() if event.seq in path and event.seq > 1:
                ordered.append(Checkpoint(event.seq, event.seq - 1, event.at, event.text))
            case ActionProposed():
                proposed[event.action_id] = event
            case ActionObserved() if event.seq in path and event.action_id in proposed:
                call = proposed.pop(event.action_id)
                checkpoint = Checkpoint(event.seq, event.seq, event.at, call.summary or call.tool, call.tool)
                checkpoint.files = _paths(event.files_changed)
                actions[event.action_id] = checkpoint
                ordered.append(checkpoint)
            case VersionTaken() if event.action_id in actions:  # it may follow later events
                actions[event.action_id].files |= _paths(event.files)
    yield from (each for each in ordered if each.files or not each.tool)


def _paths(files: tuple[FileDelta, ...]) -> frozenset[str]:
    return frozenset(file.path for file in files)
