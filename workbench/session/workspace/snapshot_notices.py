"""The notices to the user about the snapshots of one session."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from workbench.protocol.events import FileDelta
from workbench.text import first_line, visible_path

_FREQUENT = 30
"""How many changes of one file by other programs are reported; further ones are not."""
_NAMED = 5


class SnapshotNotices:
    """Composes the notices to the user about one session's snapshots; each is shown once."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._reported: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._newly_frequent: list[str] = []

    def once(self, text: str) -> str:
        """Return the text, or "" if it was returned before."""
        if text in self._reported:
            return ""
        self._reported.add(text)
        return text

    def infrequent(self, files: Sequence[FileDelta]) -> tuple[FileDelta, ...]:
        """Count the changes that other programs made to files; return the files that they do not change too often."""
        self._counts.update(file.path for file in files)
        self._newly_frequent += [file.path for file in files if self._counts[file.path] == _FREQUENT + 1]
        return tuple(file for file in files if self._counts[file.path] <= _FREQUENT)

    def pending(self, problem: str, skipped: Collection[str]) -> str:
        """Return the notices not returned yet: a watcher's `problem`, `skipped` files, and files that change too
        often.
        """
        watcher = f"changes of files are polled, because they are not reported here: {problem}"
        parts = [self.once(watcher) if problem else "", self._new_skipped(skipped), self._frequent()]
        return "; ".join(part for part in parts if part)

    def _new_skipped(self, paths: Collection[str]) -> str:
        new = sorted(path for path in paths if path not in self._reported)
        self._reported.update(new)
        reason = "over 5 MB, unreadable, a repository of its own, or a name that git refuses"
        return f"not in the file versions ({reason}): {_named(new)}" if new else ""

    def _frequent(self) -> str:
        paths, self._newly_frequent = [os.path.relpath(path, self._workspace) for path in self._newly_frequent], []
        return f"changed by others all the time, not reported any more: {_named(paths)}" if paths else ""


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(first_line(visible_path(path), 80) for path in paths[:_NAMED]) + more
