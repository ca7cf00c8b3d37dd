"""Merges two changes of one text file with `git merge-file`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from workbench.files.git import run_git
from workbench.processes.leftovers import prefix

_TIMEOUT = 3.0


# Git reports no more conflicts than this; a higher exit code is an error.
_MOST_CONFLICTS = 127


class Merged(msgspec.Struct, frozen=True):
    """Both changes merged into one text; where they conflict, the text has the lines of `edited`.

    `conflicts` is None if the texts could not be merged: then the text is `edited`.
    """

    text: str
    conflicts: int | None = 0


def merge(base: str, theirs: str, edited: str) -> Merged:
    """Merge two changes of `base`: `theirs` on disk and `edited`. The result never contains conflict markers."""
    if theirs in (base, edited):
        return Merged(edited)
    try:
        with tempfile.TemporaryDirectory(prefix=prefix("merge")) as directory:
            for name, text in (("wanted", edited), ("seen", base), ("theirs", theirs)):
                (Path(directory) / name).write_bytes(text.encode())
            return _merged(directory, edited)
    except (OSError, UnicodeError):
        return Merged(edited, None)


def _merged(directory: str, edited: str) -> Merged:
    names = ("wanted", "seen", "theirs")
    answer = run_git(("merge-file", "-p", "-q", *names), cwd=directory, timeout=_TIMEOUT)
    conflicts = answer.code
    if conflicts:
        answer = run_git(("merge-file", "-p", "-q", "--ours", *names), cwd=directory, timeout=_TIMEOUT)
    if conflicts is None or not 0 <= conflicts <= _MOST_CONFLICTS or not answer.ok:
        return Merged(edited, None)
    return Merged(answer.output.decode(), conflicts)
