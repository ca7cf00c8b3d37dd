"""What a session file says when it is opened and closed: how it was set last, and whether anybody spoke in it."""

from __future__ import annotations

import shutil
from pathlib import Path

from pydantic import ValidationError

from workbench.session.events import SessionStarted, SettingsChanged, UserMessage, event_from_json
from workbench.session.model_turn.models import SessionModels
from workbench.session.storage.store import Store, StoreError, delete_file


def last_settings(store: Store, models: SessionModels) -> SessionStarted:
    """How the session was started, with the model it had last; the first one's address is its own alone."""
    started: SessionStarted | None = None
    for seq, line in store.lines():
        if seq > 1 and '"settings_changed"' not in line:
            continue  # a long log is not read twice
        try:
            event = event_from_json(line)
        except ValidationError:
            continue  # the session notes it as a gap
        if isinstance(event, SessionStarted):
            started = event
            if event.api_base and not models.is_named(event.model):
                models.remember(event.model, event.api_base)
        elif isinstance(event, SettingsChanged) and started is not None and event.model not in (None, started.model):
            started = started.model_copy(update={"model": event.model})
    if started is None:
        raise StoreError(f"the session file {store.path} does not say how it began; start a new session")
    return started


def remove_if_empty(store: Store, folder: Path) -> None:
    """A session in which nobody said anything is not worth a line in the list; one that cannot be read whole stays."""
    has_words = any(isinstance(event, UserMessage) for event in store.events())
    if store.readonly or has_words or store.gaps:
        return
    store.close()
    delete_file(store.path)
    shutil.rmtree(folder, ignore_errors=True)
