"""What changed in the tools of a server since they were agreed to, as lines of a diff; for the screen and `ohw mcp`."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from workbench.errors import UsageError
from workbench.mcp.catalog import Catalog, Entry
from workbench.mcp.servers import Server
from workbench.text import visible


def changed_lines(entry: Entry) -> Iterator[str]:
    """Each changed file, changed, new or missing tool with the lines of its definition that differ, and bold words."""
    for path, how in entry.changed_files.items():
        yield f"the file {path} it is started from {how}"
        yield from (
            f"  {sign} {each[path]}" for sign, each in (("-", entry.files), ("+", entry.files_now)) if path in each
        )
    for name, new in entry.waiting.items():
        old = entry.tools.get(name)
        word = "is gone" if new is None else "is new" if old is None else "has changed"
        yield f"the tool {name} {word}"
        if new is not None:
            yield from _diff(old, new)
    for name in entry.claiming:
        yield f"the tool {name} says that it {_claim(entry.usable[name])}"


def _claim(tool: dict[str, Any]) -> str:
    return "only reads" if (tool.get("annotations") or {}).get("readOnlyHint") is True else "may be repeated"


def _diff(old: dict[str, Any] | None, new: dict[str, Any] | None) -> Iterator[str]:
    for line in difflib.unified_diff(_lines(old), _lines(new), lineterm="", n=2):
        if not line.startswith(("---", "+++", "@@")):
            yield f"  {line}"


def _lines(definition: dict[str, Any] | None) -> list[str]:
    return json.dumps(definition, indent=1, ensure_ascii=False).splitlines() if definition is not None else []


_NOTHING = "nothing of {} waits for approval"


def show_changes(catalog: Catalog, server: Server, say: Callable[[str], None]) -> None:
    """Say what waits, and remember that it was shown."""
    entry = catalog.entry(server)
    if not (entry.waits or entry.claiming):
        say(_NOTHING.format(server.name))
        return
    for line in changed_lines(entry):
        say(visible(line, lines=False))
    with suppress(OSError):  # then its hash has to be given
        catalog.shown(server).write_text(mark_of(entry), encoding="ascii")
    until = "These are off" if entry.waits else "What they say does not count, and each call is asked about,"
    say(f"{until} until you approve them: ohw mcp approve {server.name} {mark_of(entry)}")


def approve(catalog: Catalog, server: Server, given: str, say: Callable[[str], None]) -> None:
    """Pin what was shown: what has this hash, or was shown last. Raises UsageError for anything else."""
    entry = catalog.entry(server)
    if not (entry.waits or entry.claiming):
        say(_NOTHING.format(server.name))
        return
    agreed = given or _last_shown(catalog, server)
    if agreed != mark_of(entry):
        why = "has changed since it was shown" if agreed else "was not shown yet"
        raise UsageError(f"what waits of {server.name} {why}; look at it first: ohw mcp changes {server.name}")
    left = catalog.approve(server, entry)
    if left.waits:
        what = ", ".join((*left.waiting, *left.changed_files))
        raise UsageError(f"{what} changed meanwhile; look again: ohw mcp changes {server.name}")
    catalog.shown(server).unlink(missing_ok=True)
    names = (*entry.changed_files, *entry.waiting, *entry.claiming)
    say(f"approved: {', '.join(visible(name, lines=False) for name in names)}")


def mark_of(entry: Entry) -> str:
    """A short hash of what waits, and of what it would replace."""
    told: dict[str, Any] = {name: [entry.tools.get(name), new] for name, new in entry.waiting.items()}
    told |= {f"{name} ": entry.usable[name] for name in entry.claiming}
    told["/"] = dict(entry.files_now)
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def _last_shown(catalog: Catalog, server: Server) -> str:
    try:
        return catalog.shown(server).read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
