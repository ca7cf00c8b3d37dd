"""`ohw import`: a session brought back from JSON lines."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path

from workbench.commands.given import say
from workbench.config import Locations, private_folder
from workbench.errors import UsageError
from workbench.session.names import new_id, session_path
from workbench.session.storage.exchange import import_lines
from workbench.session.storage.lock import SessionLock


def import_session(arguments: Namespace) -> int:
    """A new session of its own, from a file or stdin."""
    name = _brought_back(Locations.from_environment(), arguments.file)
    say(f"{name}\nGo on with: ohw resume {name}")
    return 0


def _brought_back(locations: Locations, source: str) -> str:
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
    try:
        return not session_path(locations, name).exists()
    except UsageError:
        return False  # it could not be the name of a file


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest
