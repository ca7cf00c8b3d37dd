"""What the person is told of the versions, each thing once; used by the recorder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from workbench.protocol.events import FileDelta
from workbench.text import first_line

_OFTEN = 30
"""Changes of one file by others that are told of."""
_NAMED = 5


class Sayings:
    """Remembers what was said in one session."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._said: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._restless: list[str] = []

    def once(self, text: str) -> str:
        """The text; empty when it was said before."""
        if text in self._said:
            return ""
        self._said.add(text)
        return text

    def worth_telling(self, files: Sequence[FileDelta]) -> tuple[FileDelta, ...]:
        """The files others changed, without those that they change all the time."""
        self._counts.update(file.path for file in files)
        self._restless += [file.path for file in files if self._counts[file.path] == _OFTEN + 1]
        return tuple(file for file in files if self._counts[file.path] <= _OFTEN)

    def now(self, problem: str, left_out: Collection[str]) -> str:
        """What is to be said now: of a watcher that has a `problem`, of files left out, of those that never rest."""
        watcher = f"changes of files are looked for now and then, as they are not told here: {problem}"
        said = [self.once(watcher) if problem else "", self._left_out(left_out), self._never_resting()]
        return "; ".join(part for part in said if part)

    def _left_out(self, paths: Collection[str]) -> str:
        fresh = sorted(path for path in paths if path not in self._said)
        self._said.update(fresh)
        return (
            f"not in the file versions (over 5 MB, unreadable or a repository of its own): {_named(fresh)}"
            if fresh
            else ""
        )

    def _never_resting(self) -> str:
        paths, self._restless = [os.path.relpath(path, self._workspace) for path in self._restless], []
        return f"changed by others all the time, no more is told of it: {_named(paths)}" if paths else ""


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(first_line(path, 80) for path in paths[:_NAMED]) + more
