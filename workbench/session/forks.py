"""Forks a session: a new session shares its history up to an event, and continues from there on its own."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from msgspec import Struct
from msgspec.structs import replace

from workbench import __version__
from workbench.config.locations import Locations, private_directory
from workbench.config.modes import NEVER
from workbench.config.settings import NO_MODEL, Settings
from workbench.errors import UsageError, WorkbenchError
from workbench.files.state_files import replace_file
from workbench.protocol.events import (
    ActionObserved,
    Event,
    Forked,
    Rewound,
    RunEnded,
    SessionStarted,
    SettingsChanged,
    UserMessage,
)
from workbench.protocol.risk import Mode
from workbench.session.session_names import DRAFT, new_id, session_path, state_directory
from workbench.session.storage.family import begin_fork, family_lock
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.permissions import Permissions, permissions_in
from workbench.session.storage.shared_history import MOST_PARTS, SharedPart, parts_of
from workbench.session.storage.store import Store, first_event
from workbench.text import first_line

_AT: Final = "SELECT at FROM events WHERE seq = ?"
_FIRST_MESSAGE: Final = "SELECT seq FROM events WHERE kind = 'user_message' ORDER BY seq LIMIT 1"


class ForkPoint(Struct, frozen=True):
    """Where a fork leaves the session: `target` is the last event that both have."""

    target: int
    message: str = ""
    """The user's message before which it was forked."""


def fork_point(store: Store, event: int | None = None) -> ForkPoint:
    """Return the point at a checkpoint, or at the end of the session without one.

    Before a message, after the result of an action or the end of a run, and where the session was before a rewind.
    Raises UsageError for any other event, or StoreError.
    """
    if event is None:
        return ForkPoint(store.last_seq)
    chosen = next(store.events(event - 1, 1), None) if 0 < event <= store.last_seq else None
    match chosen:
        case UserMessage():
            return ForkPoint(event - 1, chosen.text)
        case Rewound():
            return ForkPoint(event - 1)
        case ActionObserved() | RunEnded():
            return ForkPoint(event)
        case None:
            raise UsageError(f"there is no event {event} in this session; it has {store.last_seq}")
    raise UsageError(f"event {event} is no checkpoint; `ohw rewind {store.path.stem}` lists them")


class Fork(Struct, frozen=True):
    """A new fork: the id of its session, and where it leaves the other one."""

    id: str
    point: ForkPoint


def fork_at(locations: Locations, session_id: str, event: int | None = None) -> Fork:
    """Fork a session at a checkpoint, or at its end; see `fork_point` and `fork_session`, also for what is raised."""
    with Store.open(session_path(locations, session_id), readonly=True) as store:
        point = fork_point(store, event)
    return Fork(fork_session(locations, session_id, point), point)


def fork_session(locations: Locations, session_id: str, point: ForkPoint, workspace: Path | None = None) -> str:
    """Create a fork of a session, which may be open, and return its id.

    It works in `workspace` if that is given, with the model, the mode and the rules of the session at that point; the
    mode that never asks becomes the default one. The message before which it was forked is its draft. Raises
    UsageError, StoreError or another WorkbenchError; there is no fork then.
    """
    path = session_path(locations, session_id)
    with family_lock(path.parent), Store.open(path, readonly=True) as store:
        parts = _parts_to(store, point.target)
        started = first_event(store)
        origin = path.with_name(f"{parts[-1].session}{path.suffix}") if parts else path
        granted = permissions_in(origin, point.target)
        name = new_id(_hint(store) or started.workspace)
        first = replace(
            _with_model(started, granted),
            id=name,
            workspace=str(workspace) if workspace else started.workspace,
            app_version=__version__,
            forked_from=origin.stem,
            forked_at=point.target,
        )
        forked = Forked(session=origin.stem, target=point.target, workspace=first.workspace)
        if first.workspace != started.workspace:
            forked = replace(forked, moved_from=started.workspace)
        _write(path.with_name(f"{name}{path.suffix}"), parts, first, forked, *_settings(granted))
    if point.message:
        with suppress(OSError, WorkbenchError):  # the fork is whole without it
            draft = private_directory(state_directory(locations, name)) / DRAFT
            replace_file(draft, point.message.encode("utf-8", "replace"))
    return name


def _write(path: Path, parts: list[SharedPart], first: SessionStarted, *others: Event) -> None:
    lock = SessionLock.acquire(path)
    try:
        begin_fork(path, parts, first, *others)
    finally:
        lock.release()


def _parts_to(store: Store, last: int) -> list[SharedPart]:
    """Return the parts of a fork that shares the events up to `last`. Raises UsageError or StoreError."""
    inherited = parts_of(store.path)
    parts = [part._replace(last=min(part.last, last)) for part in inherited if part.first <= last]
    first = inherited[-1].last + 1 if inherited else 2
    if last >= first:
        parts.append(SharedPart(first, last, store.path.stem, ""))
    if len(parts) > MOST_PARTS:
        raise UsageError(
            "this is a fork of a fork too many times over; `ohw export` and `ohw import` make a whole session of it"
        )
    return [part._replace(at=at) for part in parts for (at,) in store.query(_AT, part.last)]


def _hint(store: Store) -> str:
    events = (event for (seq,) in store.query(_FIRST_MESSAGE) for event in store.events(seq - 1, 1))
    return next((first_line(event.text) for event in events if isinstance(event, UserMessage)), "")


def _with_model(started: SessionStarted, granted: Permissions) -> SessionStarted:
    """Return the start of a fork, without a model if no process of ours has stored the model's URL."""
    mode = Settings().mode if started.mode == NEVER else started.mode
    started = replace(started, mode=cast(Mode, mode))
    is_usable = not started.api_base or granted.is_api_base_signed
    return started if is_usable else replace(started, model=NO_MODEL, api_base=None)


def _settings(granted: Permissions) -> list[Event]:
    """Return the events that give a fork the rules of its session, and a mode that asks."""
    events: list[Event] = [SettingsChanged(rule=rule) for rule in sorted(granted.signed_rules)]
    return [SettingsChanged(mode=cast(Mode, Settings().mode)), *events] if granted.mode == NEVER else events
