"""What changes in the directories besides the workspace that the user lets commands write.

No snapshot has these directories. So that their changes are seen nevertheless, the size and times of all files there
are compared before and after a command; git's own files are not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from workbench.text import visible

MOST_FILES: Final = 10_000
"""The most files of one directory that are compared; nothing is said about a larger one."""
_MOST_NAMED: Final = 10
_State = tuple[int, int, int, int]


class GrantedChanges:
    """Compares granted directories with what they are when this is created."""

    def __init__(self, directories: Iterable[str]) -> None:
        self._before = {each: _files(each) for each in directories}

    def notes(self) -> list[str]:
        """Return one note that names what was created, changed and deleted since then; none if nothing was."""
        changes = [line for directory, before in self._before.items() for line in _changes(directory, before)]
        if not changes:
            return []
        more = f" and {len(changes) - _MOST_NAMED} more" if len(changes) > _MOST_NAMED else ""
        listed = visible(", ".join(changes[:_MOST_NAMED]), lines=False)
        return [f"[Outside the workspace, where undo does not cover it, while this ran: {listed}{more}]"]


def _changes(directory: str, before: dict[str, _State] | None) -> Iterator[str]:
    after = _files(directory)
    if before is None or after is None:
        return
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            yield f"{'created' if path not in before else 'changed' if path in after else 'deleted'} {path}"


def _files(directory: str) -> dict[str, _State] | None:
    """Return the state of each file below a directory by its path; None if there are too many."""
    states: dict[str, _State] = {}
    pending = [directory]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                if not entry.is_dir(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    states[entry.path] = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
                elif entry.name != ".git":
                    pending.append(entry.path)
            except OSError:
                continue
        if len(states) > MOST_FILES or len(pending) > MOST_FILES:
            return None
    return states
