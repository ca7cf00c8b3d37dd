"""`ohw export`: a session written in one of several forms."""

from __future__ import annotations

import os
import re
import tempfile
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.cli.common import chosen_session, print_error, print_line, settings_of
from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.session.names import session_path
from workbench.session.storage.store import Store

if TYPE_CHECKING:
    from workbench.view.transcript.transcript import Recorded

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
class PictureStyle:
    """How the screen looks on pictures: columns, rows, and the name of a theme."""

    columns: int = 120
    rows: int = 40
    theme: str = "ohw-dark"


@dataclass(frozen=True)
class ExportRequest:
    """An export as it was asked for; `until` is its last event, all where it is None."""

    form: str
    until: int | None = None
    look: PictureStyle = PictureStyle()


def export(arguments: Namespace) -> int:
    """A session, line by line, or into a file."""
    where, settings = settings_of(arguments)
    wanted = _wanted_of(arguments, settings.theme)
    if Path(arguments.id or "").suffix.lower() in {end for ends in FORMS.values() for end in ends}:
        raise UsageError(f"{arguments.id} looks like a file: `ohw export -o {arguments.id}` writes it")
    arguments.last = False
    with Store.open(session_path(where, chosen_session(where, arguments).id), readonly=True) as store:
        lines = _lines_of(store, wanted)
        if arguments.output and arguments.output != "-":
            _save(lines, Path(arguments.output))
        else:
            for line in lines:
                print_line(line)
        for gap in store.gaps:
            events = f"event {gap.first}" if gap.first == gap.last else f"events {gap.first} to {gap.last}"
            print_error(f"left out: {events} ({gap.reason})")
    return 0


def _wanted_of(arguments: Namespace, theme: str) -> ExportRequest:
    """What the arguments of the command ask for. Raises UsageError."""
    form = arguments.form or _form_of(arguments.output) or "markdown"
    size = _SIZE.fullmatch(arguments.size)
    columns, rows = (int(size[1]), int(size[2])) if size else (0, 0)
    if not (20 <= columns <= 500 and 5 <= rows <= 200):
        raise UsageError("--size is COLUMNSxROWS, such as 120x40, from 20x5 to 500x200")
    return ExportRequest(form, _number(arguments.at), PictureStyle(columns, rows, theme))


def _lines_of(store: Store, wanted: ExportRequest) -> Iterator[str]:
    """The export, line by line. Raises UsageError where there is no event of that number."""
    from workbench.view.transcript.transcript import Recorded

    last = store.last_seq
    if wanted.until is not None and not 1 <= wanted.until <= last:
        raise UsageError(f"the session has the events 1 to {last}; there is no {wanted.until}")
    return _written(Recorded(store, wanted.until), wanted)


def _written(recorded: Recorded, wanted: ExportRequest) -> Iterator[str]:
    if wanted.form == "jsonl":
        return recorded.lines()
    if wanted.form in PICTURED:
        return _pictured(recorded, wanted)
    if wanted.form == "markdown":
        from workbench.view.transcript.markdown import markdown_of

        return markdown_of(recorded.state())
    from workbench.view.transcript.html import page_of

    picture = "\n".join(_pictured(recorded, wanted)) if wanted.until is not None else ""
    return page_of(recorded.state(), picture)


def _pictured(recorded: Recorded, wanted: ExportRequest) -> Iterator[str]:
    events, look = list(recorded.events()), wanted.look
    if not events:
        raise UsageError("the session holds no event that could be shown")
    size, themes = (look.columns, look.rows), Locations.from_environment().themes
    if wanted.form == "cast":
        from workbench.tui.recording import cast
        from workbench.view.transcript.markdown import title_of

        yield from cast(events, size, look.theme, title_of(recorded.state()), themes)
    else:
        from workbench.tui.recording import picture

        yield picture(events, size, look.theme, themes)


def _save(lines: Iterable[str], file: Path) -> None:
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


def _form_of(output: str | None) -> str:
    end = Path(output or "").suffix.lower()
    return next((form for form, ends in FORMS.items() if end in ends), "")


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal():
        raise UsageError(f"--at is the number of an event, not {text!r}")
    return int(text)
