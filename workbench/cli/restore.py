"""`ohw restore` restores files that commands deleted, and any path from any version."""

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
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store
from workbench.session.workspace.repository import SnapshotRepository
from workbench.session.workspace.restore import restore_paths
from workbench.session.workspace.safety_copies import SafetyCopies
from workbench.text import counted, first_line, revealed, visible_path

_ID = 8
"""The number of characters of a version's ID that are shown."""
_NAMED = 3
_TAKEN = "SELECT json FROM events WHERE kind = 'version_taken' ORDER BY seq DESC"


def restore(arguments: Namespace) -> int:
    """List the copies or versions of a directory, restore a copy or some paths of it, or restore paths of a version."""
    locations, workspace = Locations.from_environment(), workspace_of(arguments)
    repository = SnapshotRepository(locations, workspace, "restore")
    copies = SafetyCopies(repository)
    if arguments.versions:
        return _list_versions(locations, workspace)
    if not arguments.id:
        return _list_copies(copies)
    paths = [_inside(path, workspace) for path in arguments.paths]
    if copies.named(arguments.id) is not None:
        done = copies.restore(arguments.id, paths, force=arguments.force)
    elif not paths:
        raise UsageError("name the files or directories to restore from this version; `.` is all of it")
    else:
        done = restore_paths(repository, repository.version_named(arguments.id), paths, force=arguments.force)
    print_line(done.summary)
    return 0


def _inside(path: str, workspace: Path) -> str:
    """Return the path relative to the workspace. Raises UsageError if it is outside."""
    whole = os.path.normpath(workspace / path)
    if not Path(whole).is_relative_to(workspace):
        raise UsageError(f"{path} is not in {workspace}")
    return os.path.relpath(whole, workspace)


def _list_copies(copies: SafetyCopies) -> int:
    listed = copies.all()
    for copy in listed:
        size = f"{copy.size / 1e6:,.1f} MB" if copy.size >= 100_000 else f"{copy.size:,} bytes"
        what = first_line(copy.command, 80, revealed)
        print_line(
            f"{copy.id}  {copy.at[:16].replace('T', ' ')} UTC  {copy.count:>6,} files  {size:>12}  before: {what}"
        )
    if not listed:
        print_line("No copies for this directory. `ohw restore --versions` lists its versions.")
    return 0


def _list_versions(locations: Locations, workspace: Path) -> int:
    """Print each version once, with the files that its action changed; of each session, the newest first."""
    printed: set[str] = set()
    for session in list_sessions(locations):
        if session.damaged or session.workspace != str(workspace):
            continue
        for taken in _taken(locations, session.id):
            version, files = taken["version"], [os.path.relpath(file["path"], workspace) for file in taken["files"]]
            if not version or version in printed:
                continue
            printed.add(version)
            changed = f"{counted(len(files) + taken['more'], 'file')} changed" if taken["action_id"] else ""
            named = ", ".join(map(visible_path, files[:_NAMED]))
            what = first_line(": ".join(filter(None, (changed, named))), 80, revealed)
            print_line(f"{version[:_ID]}  {taken['at'][:19].replace('T', ' ')} UTC  {session.id}  {what}".rstrip())
    if not printed:
        print_line("No versions for this directory: no session has changed anything in it.")
    return 0


def _taken(locations: Locations, session_id: str) -> Iterator[dict[str, Any]]:
    """Yield the `version_taken` events of a session, the newest first."""
    try:
        with Store.open(session_path(locations, session_id), readonly=True) as store:
            for (line,) in store.query(_TAKEN):
                yield json.loads(line)
    except (WorkbenchError, ValueError):
        # A damaged session has no versions to list.
        return
