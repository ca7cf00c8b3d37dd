"""`ohw restore`: what commands deleted, and any path of any version, back as it was."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.cli.common import print_line, workspace_of
from workbench.config.locations import Locations
from workbench.errors import UsageError, WorkbenchError
from workbench.session.names import session_path
from workbench.session.storage.catalog import list_sessions
from workbench.session.storage.store import Store
from workbench.session.workspace.repository import Repository
from workbench.session.workspace.restore import bring_back
from workbench.session.workspace.safety_copies import Copies
from workbench.text import counted, first_line, revealed

_ID = 8
"""Characters of a version that are shown."""
_NAMED = 3
_TAKEN = "SELECT json FROM events WHERE kind = 'version_taken' ORDER BY seq DESC"


def restore(arguments: Namespace) -> int:
    """List the copies or versions of a folder, or bring one back, whole or some paths of it."""
    locations, folder = Locations.from_environment(), workspace_of(arguments)
    repository = Repository(locations, folder, "restore")
    copies = Copies(repository)
    if arguments.versions:
        return _list_versions(locations, folder)
    if not arguments.id:
        return _list_copies(copies)
    paths = [_inside(path, folder) for path in arguments.paths]
    if copies.named(arguments.id) is not None:
        done = copies.restore(arguments.id, paths, force=arguments.force)
    elif not paths:
        raise UsageError("name the files or directories to bring back from this version; `.` is all of it")
    else:
        done = bring_back(repository, repository.version_named(arguments.id), paths, force=arguments.force)
    print_line(done.told)
    return 0


def _inside(path: str, folder: Path) -> str:
    """The path relative to the folder; raises UsageError for one that is not in it."""
    whole = os.path.normpath(folder / path)
    if not Path(whole).is_relative_to(folder):
        raise UsageError(f"{path} is not in {folder}")
    return os.path.relpath(whole, folder)


def _list_copies(copies: Copies) -> int:
    found = copies.all()
    for copy in found:
        size = f"{copy.size / 1e6:,.1f} MB" if copy.size >= 100_000 else f"{copy.size:,} bytes"
        what = first_line(copy.command, 80, revealed)
        print_line(
            f"{copy.id}  {copy.at[:16].replace('T', ' ')} UTC  {copy.count:>6,} files  {size:>12}  before: {what}"
        )
    if not found:
        print_line("No copies here: no command deleted anything. `ohw restore --versions` lists the versions.")
    return 0


def _list_versions(locations: Locations, folder: Path) -> int:
    """Each version once, the newest first: what its action changed, and how many files."""
    shown: set[str] = set()
    for session in list_sessions(locations):
        if session.damaged or session.workspace != str(folder):
            continue
        for taken in _taken(locations, session.id):
            version, files = taken["version"], [os.path.relpath(file["path"], folder) for file in taken["files"]]
            if not version or version in shown:
                continue
            shown.add(version)
            changed = f"{counted(len(files) + taken['more'], 'file')} changed" if taken["action_id"] else ""
            what = first_line(": ".join(filter(None, (changed, ", ".join(files[:_NAMED])))), 80, revealed)
            print_line(f"{version[:_ID]}  {taken['at'][:19].replace('T', ' ')} UTC  {session.id}  {what}".rstrip())
    if not shown:
        print_line("No versions here: no session has changed anything in this directory.")
    return 0


def _taken(locations: Locations, session_id: str) -> Iterator[dict[str, Any]]:
    """The events `version_taken` of a session, the newest first, without the texts of large files."""
    try:
        with Store.open(session_path(locations, session_id), readonly=True) as store:
            for (line,) in store.query(_TAKEN):
                yield json.loads(line)
    except (WorkbenchError, ValueError):
        return  # a damaged session names no versions
