"""`ohw openapi` lists the OpenAPI documents of the settings, and shows and approves changes of one."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping

from workbench.cli.common import print_line, settings_of
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import UsageError
from workbench.text import visible
from workbench.tools.openapi.documents import BadDocument, Pinned, changed_lines, parts_of
from workbench.tools.openapi.source import Source, read_source

_NONE = "No OpenAPI documents. Add one as [tools.openapi.NAME] in settings.toml (see the guide on OpenAPI)."


def openapi(arguments: Namespace) -> int:
    """List the documents, or show or approve the changes of one. Raises UsageError for an invalid request."""
    where, settings = settings_of(arguments)
    sources = list(_sources(settings))
    if (arguments.action or "list") == "list":
        lines = [f"{source.name}  {_state(where, source)}\n  {source.document}" for source in sources]
        print_line("\n".join(visible(line) for line in lines) or _NONE)
        return 0
    names = ", ".join(source.name for source in sources) or "none"
    for source in sources:
        if source.name == arguments.name:
            _review(where, source, arguments.hash if arguments.action == "approve" else None)
            return 0
    raise UsageError(f"which document? There are: {names}")


def _sources(settings: Settings) -> Iterator[Source]:
    table = settings.tools.get("openapi")
    for name, values in table.items() if isinstance(table, Mapping) else ():
        if name != "on":
            yield read_source(name, values)


def _state(where: Locations, source: Source) -> str:
    if not source.is_remote:
        return "a file"
    pinned = Pinned(source.document, where)
    if pinned.waiting is not None:
        return f"changed; the approved version is used until you review it: ohw openapi changes {source.name}"
    return "as approved" if pinned.agreed is not None else "never fetched"


def _review(where: Locations, source: Source, approved: str | None) -> None:
    """Show the changes of a document if `approved` is None; otherwise approve them.

    `approved` must be the hash of the changes; if empty, they must be those that were shown last. Raises UsageError
    otherwise.
    """
    pinned = Pinned(source.document, where)
    new = pinned.waiting if source.is_remote else None
    if new is None:
        print_line(f"{source.name} has no changes to approve")
        return
    if approved is None:
        _show(pinned, new, source.name)
        return
    agreed, advice = approved or pinned.last_reviewed, f"review it first: ohw openapi changes {source.name}"
    if agreed != pinned.mark(new):
        why = "changed since they were shown" if agreed else "were not shown yet"
        raise UsageError(f"the changes of {source.name} {why}; {advice}")
    if not pinned.approve(new):
        raise UsageError(f"{source.name} has changed again; {advice}")
    print_line(f"approved: {source.name}")


def _show(pinned: Pinned, new: bytes, name: str) -> None:
    try:
        lines = list(changed_lines(parts_of(pinned.agreed or b""), parts_of(new)))
    except BadDocument as error:
        raise UsageError(f"the changed document cannot be used: {error}") from error
    for line in lines:
        print_line(visible(line, lines=False))
    pinned.record_review(new)
    print_line(f"To use them from the next session on: ohw openapi approve {name} {pinned.mark(new)}")
