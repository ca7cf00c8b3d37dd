"""The times and sizes of recorded files, by which a change is noticed without reading the file or running git."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TypeAlias

MOST = 40_000
"""The most files whose signatures are remembered; the first version takes half of them at most."""
_FEW = 1_000
"""The most files whose modes are compared one by one."""
TICK = 10_000_000
"""The longest tick of a system's clock, in nanoseconds: two changes within one may leave the same times."""
Signature: TypeAlias = tuple[int, ...] | None


_UNSETTLED: Signature = ()
"""Stands for the signature of a file that had just been changed: no file has it."""


def signature(path: str) -> Signature:
    """Return the file's times, size, inode and mode, or None if there is no file."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return signature_of(status)


def signature_of(status: os.stat_result) -> tuple[int, ...]:
    """Return the signature of a file with this status."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode


class FileSignatures:
    """The signatures of files as they were recorded, by their paths relative to a directory."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = os.fspath(directory)
        self._by_path: dict[str, Signature] = {}

    def __contains__(self, path: object) -> bool:
        return path in self._by_path

    def is_unchanged(self, path: str) -> bool:
        """Return whether a file is remembered and looks the same as then."""
        return path in self._by_path and self._by_path[path] == signature(f"{self._directory}/{path}")

    def is_changed(self, path: str) -> bool:
        """Return whether a file is remembered and looks different now, if only by its times."""
        before = self._by_path.get(path, _UNSETTLED)
        return before != _UNSETTLED and before != signature(f"{self._directory}/{path}")

    def with_other_mode(self) -> list[str]:
        """Return the remembered files whose mode differs or may differ, which git mostly ignores; none of very many.

        Where there are more than `_FEW` files, looking at each would take longer than git does for everything else.
        """
        if len(self._by_path) > _FEW:
            return []
        return [path for path, before in self._by_path.items() if before is not None and self._may_differ(path, before)]

    def _may_differ(self, path: str, before: tuple[int, ...]) -> bool:
        if before == _UNSETTLED:
            return True
        now = signature(f"{self._directory}/{path}")
        return now is not None and now[-1] != before[-1]

    def clear(self) -> None:
        """Forget all files."""
        self._by_path.clear()

    def forget(self, paths: Iterable[str]) -> None:
        """Forget these files."""
        for path in paths:
            self._by_path.pop(path, None)

    def remember(self, signatures: Mapping[str, Signature], now: int, *, is_first: bool) -> None:
        """Remember files as far as there is room; `now` is the time in nanoseconds before their signatures were taken.

        A file changed within the last tick counts as changed from now on: another change might not show in its times.
        """
        most = MOST // 2 if is_first else MOST
        for path, each in islice(signatures.items(), max(0, most - len(self._by_path))):
            self._by_path[path] = each if each is None or each[1] < now - TICK else _UNSETTLED
