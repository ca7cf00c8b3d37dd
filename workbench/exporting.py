"""`ohw export` and `ohw import`: a session written in one of several forms, and one brought back from JSON lines."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config import Locations, private_folder
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.session.storage.store import Store
    from workbench.tui.export.recorded import Recorded

FORMS = {
    "markdown": (".md", ".markdown"),
    "html": (".html", ".htm"),
    "jsonl": (".jsonl",),
    "svg": (".svg",),
    "cast": (".cast",),
}
"""The forms there are, each with the ends of file names that ask for it."""
PICTURED = ("svg", "cast")
_SIZE = re.compile(r"(\d{2,3})x(\d{1,3})")


@dataclass(frozen=True)
class Look:
    """How the screen looks on pictures: columns, rows, and the name of a theme."""

    columns: int = 120
    rows: int = 40
    theme: str = "ohw-dark"


@dataclass(frozen=True)
class Wanted:
    """An export as it was asked for; `until` is its last event, all where it is None."""

    form: str
    until: int | None = None
    look: Look = Look()


def wanted_of(arguments: Namespace, theme: str) -> Wanted:
    """What the arguments of the command ask for. Raises UsageError."""
    form = arguments.form or _form_of(arguments.output) or "markdown"
    size = _SIZE.fullmatch(arguments.size)
    columns, rows = (int(size[1]), int(size[2])) if size else (0, 0)
    if not (20 <= columns <= 500 and 5 <= rows <= 200):
        raise UsageError("--size is COLUMNSxROWS, such as 120x40, from 20x5 to 500x200")
    return Wanted(form, _number(arguments.at), Look(columns, rows, theme))


def export_text(store: Store, wanted: Wanted) -> Iterator[str]:
    """The export, line by line. Raises UsageError where there is no event of that number."""
    from workbench.tui.export.recorded import Recorded

    last = store.last_seq
    if wanted.until is not None and not 1 <= wanted.until <= last:
        raise UsageError(f"the session has the events 1 to {last}; there is no {wanted.until}")
    return _written(Recorded(store, wanted.until), wanted)


def _written(recorded: Recorded, wanted: Wanted) -> Iterator[str]:
    if wanted.form == "jsonl":
        return recorded.lines()
    if wanted.form in PICTURED:
        return _pictured(recorded, wanted)
    if wanted.form == "markdown":
        from workbench.tui.export.markdown import markdown_of

        return markdown_of(recorded.state())
    from workbench.tui.export.page import page_of

    picture = "\n".join(_pictured(recorded, wanted)) if wanted.until is not None else ""
    return page_of(recorded.state(), picture)


def _pictured(recorded: Recorded, wanted: Wanted) -> Iterator[str]:
    events, look = list(recorded.events()), wanted.look
    if not events:
        raise UsageError("the session holds no event that could be shown")
    size, themes = (look.columns, look.rows), Locations.from_environment().themes
    if wanted.form == "cast":
        from workbench.tui.export.cast import cast
        from workbench.tui.export.markdown import title_of

        yield from cast(events, size, look.theme, title_of(recorded.state()), themes)
    else:
        from workbench.tui.export.replay import picture

        yield picture(events, size, look.theme, themes)


def save(lines: Iterable[str], file: Path) -> None:
    """Write a file that only its owner can read; what was there stays until all is written. Raises UsageError."""
    place = Path(os.path.realpath(file))
    try:
        with _beside(place) as (descriptor, temporary):
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as out:
                out.writelines(f"{line}\n" for line in lines)
            temporary.replace(place)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error


@contextmanager
def _beside(place: Path) -> Iterator[tuple[int, Path]]:
    descriptor, name = tempfile.mkstemp(prefix=f".{place.name[:100]}.", dir=place.parent)
    try:
        yield descriptor, Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def import_session(locations: Locations, source: str) -> str:
    """A new session from the JSON lines of a file (`-` is stdin); its id. Raises StoreError, UsageError."""
    try:
        if source == "-":
            return _imported(locations, sys.stdin)
        with Path(source).open(encoding="utf-8") as lines:
            return _imported(locations, lines)
    except UnicodeDecodeError as error:
        raise UsageError(f"{source} is no export of a session: it is not UTF-8") from error
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror or error}") from error


def _imported(locations: Locations, source: Iterable[str]) -> str:
    from workbench.session.names import new_id, session_path
    from workbench.session.storage.exchange import import_lines
    from workbench.session.storage.lock import SessionLock

    lines = (line for line in source if line.strip())
    first = _beginning(next(lines, ""))
    name = str(first["id"])
    if not _is_free(locations, name):
        name = new_id("imported")
    path = session_path(locations, name)
    private_folder(path.parent)
    lock = SessionLock.take(path)
    try:
        import_lines(_chain(json.dumps({**first, "id": name}), lines), path).close()
    finally:
        lock.release()
    return name


def _beginning(line: str) -> dict[str, object]:
    try:
        first = json.loads(line)
    except ValueError:
        first = None
    if not isinstance(first, dict) or first.get("kind") != "session_started" or not isinstance(first.get("id"), str):
        raise UsageError("this is no export of a session: it does not begin with session_started")
    return first


def _is_free(locations: Locations, name: str) -> bool:
    from workbench.session.names import session_path

    try:
        return not session_path(locations, name).exists()
    except UsageError:
        return False  # it could not be the name of a file


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _form_of(output: str | None) -> str:
    end = Path(output or "").suffix.lower()
    return next((form for form, ends in FORMS.items() if end in ends), "")


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal():
        raise UsageError(f"--at is the number of an event, not {text!r}")
    return int(text)
