"""Imports a session from JSON lines, one event per line, as `ohw export --jsonl` writes them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from workbench.llm.factory import is_scripted
from workbench.protocol.events import (
    DelegateStep,
    Event,
    FileDelta,
    Rewound,
    SessionStarted,
    SettingsChanged,
    UserMessage,
    event_from_json,
)
from workbench.protocol.file_deltas import map_deltas
from workbench.protocol.risk import Mode
from workbench.risk.paths import PathContext
from workbench.session.recovery import after_an_import
from workbench.session.state import State
from workbench.session.storage.store import Store, StoreError
from workbench.session.storage.store_files import delete_file
from workbench.text import first_line

_TOGETHER = 500
_OUTSIDE = "it lies outside the workspace of an imported session, or is protected"


def import_lines(lines: Iterable[str], path: Path, *, model: str, mode: Mode) -> Store:
    """Create a session file from exported lines.

    Raises StoreError if a line is invalid; the message names the first one, and no file is left. An imported session is
    only history: its model and mode are `model` and `mode`, and the lines set no API URL, limit or rule. Everything
    open in it is closed, even actions that were approved.
    """
    store = Store.create(path)
    try:
        events = _harmless(_numbered(lines), model, mode)
        while batch := tuple(islice(events, _TOGETHER)):
            store.append(*batch)
        close_what_is_open(store)
    except BaseException:
        store.close()
        delete_file(path)
        raise
    return store


def _harmless(events: Iterable[Event], model: str, mode: Mode) -> Iterator[Event]:
    workspace = ""
    for event in events:
        workspace = event.workspace if isinstance(event, SessionStarted) else workspace
        yield without_powers(event, model, mode, workspace)


def without_powers(event: Event, model: str, mode: Mode, workspace: str) -> Event:
    """Return a copy of the event without anything that sets the session's permissions or model."""
    match event:
        case SessionStarted():
            set_here = {"model": model, "mode": mode, "api_base": None, "scripted": is_scripted(model), "parent": ""}
            return replace(event, **set_here, forked_from="", forked_at=0)
        case SettingsChanged():
            return SettingsChanged(seq=event.seq, at=event.at, turn=event.turn, title=event.title)
        case UserMessage() if event.command is not None:  # a command's model would be asked until the next message
            return replace(event, command=replace(event.command, model=""))
        case DelegateStep():
            return replace(event, event=without_powers(event.event, model, mode, workspace))
    return _restricted(event, workspace)


def _restricted(event: Event, workspace: str) -> Event:
    """Return the event without the texts of files that are protected or outside the workspace."""
    if isinstance(event, Rewound):  # opening the session would write what a cut off rewind has not written
        return replace(event, files=(), directories={})
    resolver = PathContext(workspace or os.devnull, str(Path.home()))
    # A file without a text cannot be reverted, so a forged log cannot cause such a file to be written.
    return map_deltas(event, lambda file: file if resolver.may_be_reverted(file.path) else _without_contents(file))


def _without_contents(file: FileDelta) -> FileDelta:
    return FileDelta(path=file.path, before=None, after=None, cut=_OUTSIDE)


def close_what_is_open(store: Store) -> None:
    """End an open run with all its actions, so that an action that was approved elsewhere never runs here."""
    state = State()
    for event in store.events():
        state.apply(event)
    closing = after_an_import(state)
    if closing:
        store.append(*closing)


def reset_permissions(store: Store, model: str, mode: Mode, max_steps: int) -> None:
    """Give the session file of somebody else these settings, drop its rules, and close everything open in it."""
    state = State()
    for event in store.events():
        state.apply(event)
    dropped = [SettingsChanged(dropped_rule=rule) for rule in state.rules]
    store.append(SettingsChanged(model=model, mode=mode, max_steps=max_steps), *dropped, *after_an_import(state))


def _numbered(lines: Iterable[str]) -> Iterator[Event]:
    for number, line in enumerate((text for text in lines if text.strip()), 1):
        try:
            event = event_from_json(line)
        except ValueError as error:
            reason = first_line(str(error), 120)
            raise StoreError(f"event {number} of the import cannot be read: {reason}") from error
        if event.seq != number:  # other events name these numbers
            raise StoreError(f"event {number} of the import is missing, there is {event.seq}; export the session again")
        if number > 1 and isinstance(event, SessionStarted):
            raise StoreError(f"event {number} of the import starts another session")
        yield event
