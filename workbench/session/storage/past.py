"""Reads a session file when it is opened or closed: its owner, its last settings, whether it has a user message."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from msgspec.structs import replace

from workbench.protocol.events import SessionStarted, SettingsChanged, UserMessage, event_from_json
from workbench.session.storage.store import Store, StoreError, companion_doubt, delete_file, ownership_doubt


def not_ours(path: Path) -> str:
    """Return why a session file may be somebody else's, as words to follow its name; empty if nothing suggests it."""
    if reason := ownership_doubt(path) or companion_doubt(path):
        return reason
    directory = path.parent.stat()
    if directory.st_uid != os.getuid() or directory.st_mode & 0o022:
        return "is in a folder that other users can write to"
    with Store.open(path, readonly=True) as store:
        first = next(iter(store.events(0, 1)), None)
    named = first.id if isinstance(first, SessionStarted) else path.stem
    return "" if named == path.stem else f"was begun as {named}"


def last_settings(store: Store) -> tuple[SessionStarted, SessionStarted]:
    """Return the session's first event, and the same event with the model that was set last. Raises StoreError.

    The API address is meant only for the model in the first event.
    """
    first: SessionStarted | None = None
    now: SessionStarted | None = None
    for seq, line in store.lines():
        if seq > 1 and '"settings_changed"' not in line:
            continue  # do not parse a long log twice
        try:
            event = event_from_json(line)
        except ValueError:
            continue  # the session notes it as a gap
        if isinstance(event, SessionStarted):
            first = now = event
        elif isinstance(event, SettingsChanged) and now is not None and event.model not in (None, now.model):
            now = replace(now, model=event.model)
    if first is None or now is None:
        raise StoreError(f"the session file {store.path} does not say how it began; start a new session")
    return first, now


def remove_if_empty(store: Store, directory: Path) -> None:
    """Delete a session without a user message, and its tools' `directory`; one that is not fully readable is kept."""
    has_words = any(isinstance(event, UserMessage) for event in store.events())
    if store.readonly or has_words or store.gaps:
        return
    store.close()
    delete_file(store.path)
    shutil.rmtree(directory, ignore_errors=True)
