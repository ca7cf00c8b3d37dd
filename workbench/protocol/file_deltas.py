"""Transforms the file changes that an event of any kind contains."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from workbench.protocol.events import ActionAssessed, ActionObserved, Event, FileDelta, FilesChanged, VersionTaken


def map_deltas(event: Event, change: Callable[[FileDelta], FileDelta]) -> Event:
    """Return the event with `change` applied to each of its file changes; a sub-agent's step is returned unchanged."""
    match event:
        case FilesChanged() | VersionTaken():
            return replace(event, files=tuple(map(change, event.files)))
        case ActionAssessed():
            return replace(event, preview=tuple(map(change, event.preview)))
        case ActionObserved():
            return replace(event, files_changed=tuple(map(change, event.files_changed)))
    return event
