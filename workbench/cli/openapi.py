"""`ohw openapi`: the documents of the settings; a changed one is looked at and approved."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping

from workbench.cli.common import print_line, settings_of
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import UsageError
from workbench.text import visible
from workbench.tools.openapi.documents import BadDocument
from workbench.tools.openapi.pinned import Pinned, changed_lines, parts_of
from workbench.tools.openapi.source import Source, read_source

_NONE = "No OpenAPI documents. [tools.openapi.NAME] of the settings names one (see the guide on openapi)."


def openapi(arguments: Namespace) -> int:
    """List the documents, show what differs in one, or approve it; raises UsageError."""
    where, settings = settings_of(arguments)
    sources = list(_sources(settings))
    if (arguments.action or "list") == "list":
        lines = [f"{source.name}  {_state(where, source)}\n  {source.document}" for source in sources]
        print_line("\n".join(visible(line) for line in lines) or _NONE)
        return 0
    names = ", ".join(source.name for source in sources) or "none"
    for source in sources:
        if source.name == arguments.name:
            _look(where, source, arguments.hash if arguments.action == "approve" else None)
            return 0
    raise UsageError(f"which document? There are: {names}")


def _sources(settings: Settings) -> Iterator[Source]:
    table = settings.tools.get("openapi")
    for name, told in table.items() if isinstance(table, Mapping) else ():
        if name != "on":
            yield read_source(name, told)


def _state(where: Locations, source: Source) -> str:
    if not source.is_remote:
        return "a file"
    pinned = Pinned(source.document, where)
    if pinned.waiting is not None:
        return f"has changed; what was agreed to is used until you have looked: ohw openapi changes {source.name}"
    return "as it was agreed to" if pinned.agreed is not None else "never fetched"


def _look(where: Locations, source: Source, approved: str | None) -> None:
    """Show what differs, or agree to what was shown: what has the hash `approved`; an empty one means shown last."""
    pinned = Pinned(source.document, where)
    new = pinned.waiting if source.is_remote else None
    if new is None:
        print_line(f"nothing of {source.name} waits for approval")
        return
    if approved is None:
        _show(pinned, new, source.name)
        return
    agreed, look = approved or pinned.shown, f"look at it first: ohw openapi changes {source.name}"
    if agreed != pinned.mark(new):
        why = "has changed since it was shown" if agreed else "was not shown yet"
        raise UsageError(f"what waits of {source.name} {why}; {look}")
    if not pinned.approve(new):
        raise UsageError(f"{source.name} has changed again since; {look}")
    print_line(f"approved: {source.name}")


def _show(pinned: Pinned, new: bytes, name: str) -> None:
    try:
        lines = list(changed_lines(parts_of(pinned.agreed or b""), parts_of(new)))
    except BadDocument as error:
        raise UsageError(f"the changed document cannot be used: {error}") from error
    for line in lines:
        print_line(visible(line, lines=False))
    pinned.show(new)
    print_line(f"To use it so from the next session on: ohw openapi approve {name} {pinned.mark(new)}")
