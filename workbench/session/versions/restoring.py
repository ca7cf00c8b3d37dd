"""Puts the files of a workspace back as a version holds them; only what differs is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from workbench.session.versions.repository import Change, Repository, VersionsFail
from workbench.text import visible
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
    root = Path(os.path.realpath(repository.workspace))
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


def _remove(root: Path, path: str) -> None:
    """Delete the file, and the folders that are empty then; those on the way must be no links to elsewhere."""
    whole = _inside(root, path)
    if not stat.S_ISDIR(_mode(whole)):
        whole.unlink(missing_ok=True)
    for folder in whole.parents:
        if folder == root:
            return
        try:
            folder.rmdir()
        except OSError:
            return


def _put(root: Path, change: Change, raw: bytes) -> None:
    whole = _inside(root, change.path)
    now = _mode(whole)
    if change.mode_after == _LINK:
        if now:
            whole.unlink()
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.symlink_to(os.fsdecode(raw))
        return
    if stat.S_ISREG(now):
        atomic.replace(whole, raw)
    else:
        if stat.S_ISDIR(now):
            whole.rmdir()
        atomic.write_new(whole, raw)
    mode = stat.S_IMODE(whole.stat().st_mode)
    wanted = mode | (mode & 0o444) >> 2 if change.mode_after == "100755" else mode & ~0o111
    if wanted != mode:
        whole.chmod(wanted)


def _mode(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_mode
    return 0


def _inside(root: Path, path: str) -> Path:
    """The path in the workspace; raises OSError where a link on the way leads elsewhere."""
    whole = root / path
    if Path(os.path.realpath(whole.parent)) != whole.parent:
        raise OSError(f"a link stands in the way of {visible(path, lines=False)}")
    return whole
