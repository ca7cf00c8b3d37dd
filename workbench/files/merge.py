"""Merges an edit with what somebody else made of the file meanwhile, by `git merge-file`; used by `files`."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from workbench.files.git import run_git
from workbench.processes.leftovers import prefix

_TIMEOUT = 3.0
_MOST_CONFLICTS = 127  # git says no more, and means an error with a higher number


@dataclass(frozen=True)
class Merged:
    """Both changes in one text; where they meet (`conflicts` places) it has the edit's lines.

    `conflicts` is None when they could not be merged: then the text is the edit's alone.
    """

    text: str
    conflicts: int | None = 0


def merge(seen: str, theirs: str, wanted: str) -> Merged:
    """What `seen` becomes with their change and the wanted one; conflict marks are never in it."""
    if theirs in (seen, wanted):
        return Merged(wanted)
    try:
        with tempfile.TemporaryDirectory(prefix=prefix("merge")) as folder:
            for name, text in (("wanted", wanted), ("seen", seen), ("theirs", theirs)):
                (Path(folder) / name).write_bytes(text.encode())
            return _merged(folder, wanted)
    except (OSError, UnicodeError):
        return Merged(wanted, None)


def _merged(folder: str, wanted: str) -> Merged:
    names = ("wanted", "seen", "theirs")
    answer = run_git(("merge-file", "-p", "-q", *names), cwd=folder, timeout=_TIMEOUT)
    conflicts = answer.code
    if conflicts:
        answer = run_git(("merge-file", "-p", "-q", "--ours", *names), cwd=folder, timeout=_TIMEOUT)
    if conflicts is None or not 0 <= conflicts <= _MOST_CONFLICTS or not answer.ok:
        return Merged(wanted, None)
    return Merged(answer.output.decode(), conflicts)
