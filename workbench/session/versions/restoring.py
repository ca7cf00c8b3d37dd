"""Puts the files of a workspace back as a version holds them; only what differs is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress

from workbench.session.versions.repository import Change, Repository, VersionsFail
from workbench.text import visible
from workbench.tools.anchored import Root
from workbench.tools.str_replace_editor import atomic

_LINK = "120000"


def restore(repository: Repository, version: str) -> list[Change]:
    """Make the workspace hold what the version holds; the changes that were made. Raises VersionsFail."""
    changes = repository.difference(repository.take(), version)
    write(repository, changes)
    return changes


def write(repository: Repository, changes: Sequence[Change]) -> None:
    """Carry changes out in the workspace: what has to go first, then what has to be there. Raises VersionsFail."""
    contents = repository.contents(list(dict.fromkeys(change.after for change in changes if change.after)))
    root = repository.root
    try:
        for change in changes:
            if not change.after or change.mode_before not in ("000000", change.mode_after):
                _remove(root, change.path)
        for change in changes:
            if change.after:
                _put(root, change, contents[change.after])
    except OSError as error:
        name = visible(str(error.filename or repository.workspace), lines=False)
        raise VersionsFail(f"{name} could not be put back: {error.strerror or error}") from error


def _remove(root: Root, path: str) -> None:
    """Delete the file, and the folders that are empty then; those on the way must be no links to elsewhere."""
    whole = root.path / path
    with suppress(FileNotFoundError), root.entry(whole) as entry:
        if not stat.S_ISDIR(entry.mode()):
            entry.unlink()
    for folder in whole.parents:
        if folder == root.path:
            return
        try:
            with root.entry(folder) as entry:
                entry.rmdir()
        except OSError:
            return


def _put(root: Root, change: Change, raw: bytes) -> None:
    whole = root.path / change.path
    with root.entry(whole, make=True) as entry:
        now = entry.mode()
        if change.mode_after == _LINK:
            entry.unlink()
            entry.symlink_to(os.fsdecode(raw))
            return
        if stat.S_ISDIR(now):
            entry.rmdir()
        elif now and not stat.S_ISREG(now):
            entry.unlink()
    if stat.S_ISREG(now):
        atomic.replace(whole, raw, root)
    else:
        atomic.write_new(whole, raw, root)
    with root.entry(whole) as entry:
        mode = stat.S_IMODE(entry.stat().st_mode)
        wanted = mode | (mode & 0o444) >> 2 if change.mode_after == "100755" else mode & ~0o111
        if wanted != mode:
            entry.chmod(wanted)
