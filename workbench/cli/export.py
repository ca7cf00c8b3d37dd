"""`ohw export` writes a session in one of several formats."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.cli.common import chosen_session, print_error, print_line, settings_of
from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.files.output_file import save_lines
from workbench.lazy_pattern import lazy_pattern
from workbench.session.session_names import SUFFIX, session_path
from workbench.session.storage.store import Store, first_event
from workbench.text import visible_path

if TYPE_CHECKING:
    from workbench.view.transcript.transcript import Recorded

FORMS = {
    "markdown": (".md", ".markdown"),
    "html": (".html", ".htm"),
    "jsonl": (".jsonl",),
    "svg": (".svg",),
    "cast": (".cast",),
    "patch": (".patch", ".diff"),
}
"""The formats, each with the file extensions that select it."""
_EXTENSIONS = [end for ends in FORMS.values() for end in ends]
PICTURED = ("svg", "cast")
_SIZE = lazy_pattern(r"(\d{2,3})x(\d{1,3})")


@dataclass(frozen=True)
class PictureStyle:
    """The size and theme of pictures of the screen."""

    columns: int = 120
    rows: int = 40
    theme: str = "ohw-dark"


@dataclass(frozen=True)
class ExportRequest:
    """The format of an export and its last event; if `until` is None, all events are exported."""

    form: str
    until: int | None = None
    style: PictureStyle = PictureStyle()


def export(arguments: Namespace) -> int:
    """Print a session, or save it to a file."""
    where, settings = settings_of(arguments)
    request = _request_of(arguments, settings.theme)
    if Path(arguments.id or "").suffix.lower() in _EXTENSIONS:
        raise UsageError(f"{arguments.id} looks like a file: `ohw export -o {arguments.id}` writes it")
    arguments.last = False
    path = _file_of(where, arguments)
    if request.form == "patch":
        if request.until is not None:
            raise UsageError("a patch has the changes up to now; leave --at out")
        from workbench.cli.container_copy import print_patch

        with Store.open(path, readonly=True) as store:
            workspace = Path(first_event(store).workspace)
        print_patch(where, workspace, arguments.output)
        return 0
    with Store.open(path, readonly=True) as store:
        lines = _lines_of(store, request)
        if arguments.output and arguments.output != "-":
            save_lines(lines, Path(arguments.output))
        else:
            for line in lines:
                print_line(line)
        for gap in store.gaps:
            events = f"event {gap.first}" if gap.first == gap.last else f"events {gap.first} to {gap.last}"
            print_error(f"omitted: {events} ({gap.reason})")
    return 0


def _file_of(where: Locations, arguments: Namespace) -> Path:
    """Return the session file: that of the session with the ID, the file itself if it is named, or that of the last
    session here. Raises UsageError.
    """
    named = Path(arguments.id or "").expanduser()
    if named.suffix != SUFFIX:
        return session_path(where, chosen_session(where, arguments).id)
    if not named.is_file():
        raise UsageError(f"there is no session file {visible_path(str(named))}")
    return named


def _request_of(arguments: Namespace, theme: str) -> ExportRequest:
    """Return the export that the arguments describe. Raises UsageError if one is invalid."""
    form = arguments.form or _form_of(arguments.output) or "markdown"
    size = _SIZE.fullmatch(arguments.size)
    columns, rows = (int(size[1]), int(size[2])) if size else (0, 0)
    if not (20 <= columns <= 500 and 5 <= rows <= 200):
        raise UsageError("--size is COLUMNSxROWS, such as 120x40, from 20x5 to 500x200")
    return ExportRequest(form, _number(arguments.at), PictureStyle(columns, rows, theme))


def _lines_of(store: Store, request: ExportRequest) -> Iterator[str]:
    """Return the lines of the export. Raises UsageError if no event has the number `until`."""
    from workbench.view.transcript.transcript import Recorded

    last = store.last_seq
    if request.until is not None and not 1 <= request.until <= last:
        raise UsageError(f"the session has the events 1 to {last}; there is no {request.until}")
    return _written(Recorded(store, request.until), request)


def _written(recorded: Recorded, request: ExportRequest) -> Iterator[str]:
    if request.form == "jsonl":
        return recorded.lines()
    if request.form in PICTURED:
        return _pictured(recorded, request)
    if request.form == "markdown":
        from workbench.view.transcript.markdown import markdown_of

        return markdown_of(recorded.state())
    from workbench.view.transcript.html import page_of

    picture = "\n".join(_pictured(recorded, request)) if request.until is not None else ""
    return page_of(recorded.read(), picture)


def _pictured(recorded: Recorded, request: ExportRequest) -> Iterator[str]:
    events, style = list(recorded.events()), request.style
    if not events:
        raise UsageError("the session has no event to show")
    size, themes = (style.columns, style.rows), Locations.from_environment().themes
    if request.form == "cast":
        from workbench.tui.screen_export import cast
        from workbench.view.transcript.transcript import title_of

        yield from cast(events, size, style.theme, title_of(recorded.state()), themes)
    else:
        from workbench.tui.screen_export import picture

        yield picture(events, size, style.theme, themes)


def _form_of(output: str | None) -> str:
    """Return the format that the file's extension selects; empty without an extension. Raises UsageError."""
    end = Path(output or "").suffix.lower()
    if end and end not in _EXTENSIONS:
        listed = ", ".join(_EXTENSIONS[:-1])
        raise UsageError(f"no format has the extension {end}: it can be {listed} or {_EXTENSIONS[-1]}")
    return next((form for form, ends in FORMS.items() if end in ends), "")


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal():
        raise UsageError(f"--at is the number of an event, not {text!r}")
    return int(text)
