"""A session as JSON lines, one event a line, and back; for other programs and for moving a session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from workbench.session.events import Event, event_from_json
from workbench.session.storage.store import Store, StoreError, delete_file
from workbench.text import first_line

_TOGETHER = 500


def export_lines(store: Store) -> Iterator[str]:
    """Every event as it is in the log, also those of a kind this version does not know."""
    return (line for _, line in store.lines())


def import_lines(lines: Iterable[str], path: Path) -> Store:
    """A new session file from exported lines; raises StoreError naming the first bad line, and leaves no file then."""
    store = Store.create(path)
    try:
        events = _numbered(lines)
        while batch := tuple(islice(events, _TOGETHER)):
            store.append(*batch)
    except BaseException:
        store.close()
        delete_file(path)
        raise
    return store


def _numbered(lines: Iterable[str]) -> Iterator[Event]:
    for number, line in enumerate((text for text in lines if text.strip()), 1):
        try:
            event = event_from_json(line)
        except ValidationError as error:
            said = first_line(error.errors()[0]["msg"], 120)
            raise StoreError(f"event {number} of the import cannot be read: {said}") from error
        if event.seq != number:  # other events name these numbers
            raise StoreError(f"event {number} of the import is missing, there is {event.seq}; export the session again")
        yield event
