"""Signatures (times, sizes, modes) of recorded files, which show a change without reading the file or running git."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TypeAlias

MOST = 40_000
"""The most files whose signatures are remembered; the first version may use half of them."""
_FEW = 1_000
"""Up to this many files, modes are compared one by one."""
TICK = 10_000_000
"""The longest tick of a system's clock, in nanoseconds; two changes within one tick may leave the same times."""
Signature: TypeAlias = tuple[int, ...] | None


_UNSETTLED: Signature = ()
"""Stands for the signature of a file that changed just before it was recorded; it equals no file's signature."""


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
        """Return whether a file is remembered and its signature is the same."""
        return path in self._by_path and self._by_path[path] == signature(f"{self._directory}/{path}")

    def is_changed(self, path: str) -> bool:
        """Return whether a file is remembered and its signature differs, if only in its times."""
        before = self._by_path.get(path, _UNSETTLED)
        return before != _UNSETTLED and before != signature(f"{self._directory}/{path}")

    def with_other_mode(self) -> list[str]:
        """Return the remembered files whose mode differs, or may differ; git does not report all of them.

        Returns none if there are more than `_FEW` files, because checking each would take longer than git does for the
        rest.
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
        """Remember signatures, as many as the limit allows; `now` is a time (in nanoseconds) before they were taken.

        A file that changed in the last tick before `now` is remembered as unsettled, since its next change may not
        show.
        """
        most = MOST // 2 if is_first else MOST
        for path, each in islice(signatures.items(), max(0, most - len(self._by_path))):
            self._by_path[path] = each if each is None or each[1] < now - TICK else _UNSETTLED
