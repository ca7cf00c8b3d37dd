"""Forks a session: a new session shares its history up to an event, and continues from there on its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
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
    Event,
    Forked,
    SessionStarted,
    SettingsChanged,
    UserMessage,
)
from workbench.protocol.risk import Mode
from workbench.session.fork_point import ForkPoint, fork_point, waiting_point
from workbench.session.relocator import Relocator
from workbench.session.session_names import DRAFT, new_id, session_path, state_directory
from workbench.session.state import OpenAction
from workbench.session.storage.active_path import ActivePath, rewinds_of
from workbench.session.storage.family import begin_fork, family_lock
from workbench.session.storage.file_steps import steps_of
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.moved_paths import Relocation, moved
from workbench.session.storage.origin import check_is_here, origin_of
from workbench.session.storage.permissions import Permissions, permissions_in
from workbench.session.storage.shared_history import MOST_PARTS, SharedPart, ancestry_of
from workbench.session.storage.store import Store, first_event
from workbench.session.workspace.new_directory import default_directory, free_directory, new_directory
from workbench.session.workspace.repository import SnapshotRepository
from workbench.text import first_line

_AT: Final = "SELECT at FROM events WHERE seq = ?"
_VERSIONS: Final = """
SELECT seq, json_extract(json, '$.version') FROM events
WHERE kind = 'version_taken' AND json_extract(json, '$.version') IS NOT NULL ORDER BY seq"""
_LATE_VERSIONS: Final = """
SELECT seq FROM events WHERE kind = 'version_taken' AND seq BETWEEN ?1 + 1 AND ?2 AND json_extract(json, '$.action_id')
  IN (SELECT json_extract(json, '$.action_id') FROM events WHERE seq BETWEEN 2 * ?1 - ?2 AND ?1
    AND kind = 'action_observed') ORDER BY seq"""
_SOON: Final = 100
"""The most events between the result of an action and the version after it, which the next action waits for."""
_FIRST_MESSAGE: Final = "SELECT seq FROM events WHERE kind = 'user_message' ORDER BY seq LIMIT 1"


class Fork(Struct, frozen=True):
    """A new fork: the id of its session, where it leaves the other one, and its directory.

    `uncertain` are its open actions in which it is not certain what are paths of the session's directory.
    """

    id: str
    point: ForkPoint
    workspace: str
    uncertain: frozenset[str] = frozenset()


def fork_at(
    locations: Locations,
    session_id: str,
    event: int | None = None,
    directory: Path | str | None = None,
    *,
    keeps_run: bool = False,
) -> Fork:
    """Fork a session, which may be open, at a checkpoint or at its end; see `fork_point`.

    With a `directory` to be created (`""`: one beside the workspace), the fork works in a copy of the files there. It
    has the model, the mode and the rules of the session at that point, but the mode that never asks becomes the default
    one. With `keeps_run`, the event is one of an action that waited for the user, which waits in the fork too; see
    `waiting_point`. The message before which it was forked is its draft. Raises UsageError, StoreError or another
    WorkbenchError; then there is neither a fork nor a directory.
    """
    path = session_path(locations, session_id)
    check_is_here(session_id, origin_of(path))
    with family_lock(path.parent), Store.open(path, readonly=True) as store, ExitStack() as stack:
        point = waiting_point(store, event) if keeps_run and event is not None else fork_point(store, event)
        started = first_event(store)
        name = new_id(_hint(store) or started.workspace)
        workspace = started.workspace
        if directory is not None:
            versions = SnapshotRepository(locations, Path(workspace), name)
            target_directory = Path(directory) if directory else default_directory(versions.workspace, name)
            target_directory = free_directory(target_directory, versions.workspace)
            version = _version_at(store, point, versions)
            workspace = str(stack.enter_context(new_directory(locations, versions, version, target_directory, name)))
        relocator = _relocator(store, point, workspace)
        _create(store, point, replace(started, id=name, workspace=workspace), relocator)
    if point.message:
        with suppress(OSError, WorkbenchError):  # the fork is whole without it
            draft = private_directory(state_directory(locations, name)) / DRAFT
            replace_file(draft, point.message.text.encode("utf-8", "replace"))
    uncertain = (each.proposed.action_id for each in point.open_actions if not relocator.is_certain(each.arguments))
    return Fork(name, point, workspace, frozenset(uncertain))


def _relocator(store: Store, point: ForkPoint, workspace: str) -> Relocator:
    """Return the relocator from the directories of a session's events, up to a point, to the directory of its fork."""
    parts = _parts_to(store, point.target)
    return Relocator([first_event(store).workspace, *(part.workspace for part in parts)], workspace)


def _create(store: Store, point: ForkPoint, started: SessionStarted, relocator: Relocator) -> None:
    """Write the file of a fork that shares the events up to a point."""
    target = point.target
    parts, former = _parts_to(store, target), first_event(store)
    origin = parts[-1].session if parts else store.path.stem
    granted = permissions_in(store.path.with_name(f"{origin}{store.path.suffix}"), target)
    first = replace(
        _with_model(started, granted), app_version=__version__, forked_from=origin, forked_at=target, parent=""
    )
    forked = Forked(session=origin, target=target, workspace=first.workspace, keeps_run=bool(point.action_id))
    reopened: list[Event] = []
    if first.workspace != former.workspace:
        forked = replace(forked, moved_from=former.workspace)
        reopened = list(_reopened(point.open_actions, relocator))
    relocation = Relocation(1, store.last_seq, former.workspace, first.workspace)
    versions = [moved(event, [relocation]) for event in _late_versions(store, target)]
    path = store.path.with_name(f"{started.id}{store.path.suffix}")
    _write(path, parts, first, *versions, forked, *_settings(granted), *reopened)


def _reopened(actions: Sequence[OpenAction], relocator: Relocator) -> Iterator[Event]:
    """Yield open actions again, with their paths moved to the fork's directory.

    An action that waits keeps waiting; without a fingerprint, it is assessed again before it can be decided.
    """
    now = datetime.now(UTC)
    for action in actions:
        yield replace(relocator.event(action.proposed), at=now)
        if action.assessed is not None:
            assessed = relocator.event(action.assessed)
            preview = tuple(replace(file, path=relocator.text(file.path)) for file in action.assessed.preview)
            yield replace(assessed, at=now, fingerprint="", preview=preview)


def _late_versions(store: Store, target: int) -> list[Event]:
    """Return the versions of actions up to an event that were recorded after it; a rewind needs them."""
    numbers = list(store.query(_LATE_VERSIONS, target, target + _SOON))
    return [event for (seq,) in numbers for event in store.events(seq - 1, 1)]


def _version_at(store: Store, point: ForkPoint, versions: SnapshotRepository) -> str:
    """Return the version with the files as they were at a point.

    At the end of the log these are the present files, elsewhere those after the last action on the path to it, or
    before the first action. If an action waits at the point, they are those of the last version on the path, because
    the action was shown for them. Raises SnapshotError or StoreError.
    """
    target = point.target
    if point.action_id and (version := _last_version(store, target)):
        return versions.version_named(version)
    if target == store.last_seq and versions.root.is_there:
        versions.prepare()
        return versions.snapshot()
    steps = steps_of(store)
    path = ActivePath(target, rewinds_of(store, besides="conversation"))
    done = [step.after for step in steps if step.seq in path]
    version = done[-1] if done else steps[0].before if steps else _last_version(store, store.last_seq)
    if version:
        return versions.version_named(version)
    versions.prepare()
    return versions.snapshot()


def _last_version(store: Store, target: int) -> str:
    """Return the last version of the files on the path to an event; empty if there is none."""
    path = ActivePath(target, rewinds_of(store, besides="conversation"))
    late = {event.seq for event in _late_versions(store, target)}
    versions = [version for seq, version in store.query(_VERSIONS) if seq in path or seq in late]
    return versions[-1] if versions else ""


def _write(path: Path, parts: list[SharedPart], first: SessionStarted, *others: Event) -> None:
    lock = SessionLock.acquire(path)
    try:
        begin_fork(path, parts, first, *others)
    finally:
        lock.release()


def _parts_to(store: Store, last: int) -> list[SharedPart]:
    """Return the shared parts of a fork that shares the events up to `last`. Raises UsageError or StoreError."""
    inherited = ancestry_of(store.path)
    parts = [part._replace(last=min(part.last, last)) for part in inherited if part.first <= last]
    first = inherited[-1].last + 1 if inherited else 2
    if last >= first:
        parts.append(SharedPart(first, last, store.path.stem, "", first_event(store).workspace))
    if len(parts) > MOST_PARTS:
        raise UsageError(
            "this is a fork of a fork too many times over; `ohw export` and `ohw import` make a whole session of it"
        )
    return [part._replace(at=at) for part in parts for (at,) in store.query(_AT, part.last)]


def _hint(store: Store) -> str:
    events = (event for (seq,) in store.query(_FIRST_MESSAGE) for event in store.events(seq - 1, 1))
    return next((first_line(event.text) for event in events if isinstance(event, UserMessage)), "")


def _with_model(started: SessionStarted, granted: Permissions) -> SessionStarted:
    """Return the first event of a fork: with a mode that asks, and without a model if its URL has no valid
    signature.
    """
    mode = Settings().mode if started.mode == NEVER else started.mode
    started = replace(started, mode=cast(Mode, mode))
    is_usable = not started.api_base or granted.is_api_base_signed
    return started if is_usable else replace(started, model=NO_MODEL, api_base=None)


def _settings(granted: Permissions) -> list[Event]:
    """Return the events that give a fork the signed rules of its session, and a mode that asks."""
    events: list[Event] = [SettingsChanged(rule=rule) for rule in sorted(granted.signed_rules)]
    return [SettingsChanged(mode=cast(Mode, Settings().mode)), *events] if granted.mode == NEVER else events
