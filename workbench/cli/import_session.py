"""`ohw import` creates a session from exported JSON lines."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from workbench.cli.common import print_error, print_line, settings_of
from workbench.config.locations import Locations, private_directory
from workbench.config.modes import NEVER
from workbench.config.settings import NO_MODEL, Settings
from workbench.errors import UsageError
from workbench.session.session_names import new_id, session_path
from workbench.session.storage.jsonl import import_lines
from workbench.session.storage.lock import SessionLock
from workbench.text import visible_path

if TYPE_CHECKING:
    from workbench.protocol.risk import Mode


def import_session(arguments: Namespace) -> int:
    """Create a session from a file or stdin. Mode, model and rules come from the user's settings, not from the file."""
    locations, settings = settings_of(arguments, lenient=True)
    if settings.mode == NEVER:
        # The user has to confirm that mode when the session is opened.
        settings = replace(settings, mode=Settings().mode)
    name, workspace = _imported_from(locations, settings, arguments.file)
    print_line(f"{name}\nResume with: ohw resume {name}")
    model = settings.model or "none yet"
    print_error(f"mode ({settings.mode}), model ({model}) and rules are yours; pending actions were closed")
    print_error(f"it works in {visible_path(workspace)}")
    return 0


def _imported_from(locations: Locations, settings: Settings, source: str) -> tuple[str, str]:
    """Create a session from the file `source` (`-` is stdin); return its ID and directory.

    Raises StoreError or UsageError if that fails.
    """
    try:
        if source == "-":
            return _imported(locations, settings, sys.stdin)
        with Path(source).open(encoding="utf-8") as lines:
            return _imported(locations, settings, lines)
    except UnicodeDecodeError as error:
        raise UsageError(f"{source} is not an exported session: it is not UTF-8") from error
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror or error}") from error


def _imported(locations: Locations, settings: Settings, source: Iterable[str]) -> tuple[str, str]:
    lines = (line for line in source if line.strip())
    first = _beginning(next(lines, ""))
    name = str(first["id"])
    if not _is_free(locations, name):
        name = new_id("imported")
    path = session_path(locations, name)
    private_directory(path.parent)
    lock = SessionLock.acquire(path)
    try:
        chained = _chain(json.dumps({**first, "id": name}), lines)
        import_lines(chained, path, model=settings.model or NO_MODEL, mode=cast("Mode", settings.mode)).close()
    finally:
        lock.release()
    return name, str(first.get("workspace", ""))


def _beginning(line: str) -> dict[str, object]:
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        first = None
    if not isinstance(first, dict) or first.get("kind") != "session_started" or not isinstance(first.get("id"), str):
        raise UsageError("this is not an exported session: it does not start with session_started")
    workspace = first.get("workspace")
    # A relative path would depend on the user's current directory.
    if isinstance(workspace, str) and not Path(workspace).is_absolute():
        raise UsageError("this is not an exported session: its directory is not an absolute path")
    return first


def _is_free(locations: Locations, name: str) -> bool:
    try:
        return not session_path(locations, name).exists()
    except UsageError:
        # The ID cannot be a file name.
        return False


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest
