"""The Landlock rules of the partial sandbox: which files its programs reach.

Landlock rules can only allow. So a secret is excluded by allowing everything beside it: the other entries of each
directory on the path to it. Files that appear there later are not readable until the next start. File names can be
listed everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Final

from workbench.processes import landlock
from workbench.risk.paths import within
from workbench.risk.protected_repositories import directories_above
from workbench.sandbox.mounts import PROGRAMS_IN_RUN, REPLACED, FileAccess

_DEVICES: Final = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty"))
_SHARED_MEMORY: Final = "/dev/shm"
"""Needed by Python's process pools."""
_TO_DEVICES: Final = landlock.READ_FILE | landlock.WRITE_FILE | landlock.TRUNCATE | landlock.CONTROL_DEVICE
_EVERYTHING: Final = landlock.READ | landlock.WRITE


def ruleset(access: FileAccess, writable: Iterable[str], readable: Iterable[str], version: int) -> int:
    """Return the descriptor of the ruleset. Raises OSError.

    `writable` and `readable` are directories that one program needs in addition; `version` is the kernel's version of
    Landlock.
    """
    network = landlock.TCP if version >= landlock.SINCE_TCP else 0
    scopes = landlock.ABSTRACT_SOCKETS | landlock.SIGNALS if version >= landlock.SINCE_SCOPES else 0
    rules = landlock.Ruleset(landlock.rights_over_files(version), network, scopes)
    for path, rights in _rights(access, writable, readable):
        # What has gone since, or is a link now, is not allowed.
        with suppress(OSError):
            rules.allow(path, rights)
    return rules.descriptor


def _rights(access: FileAccess, writable: Iterable[str], readable: Iterable[str]) -> Iterator[tuple[str, int]]:
    hidden = _existing(access.hidden)
    closed = [*hidden, *_existing((*REPLACED, "/dev", access.temporary))]
    yield "/", landlock.READ_DIRECTORY
    for path in _beside("/", closed):
        yield path, landlock.READ
    for program in _existing((*PROGRAMS_IN_RUN, *access.programs)):
        if any(within(program, each) for each in closed):
            for path in _beside(program, hidden):
                yield path, landlock.READ
    for path in readable:
        yield path, landlock.READ
    for path in (
        access.workspace,
        *access.granted,
        *access.protected.git_directories,
        *access.caches,
        *writable,
        access.private,
    ):
        yield path, _EVERYTHING
    yield _SHARED_MEMORY, _EVERYTHING
    for path in _DEVICES:
        yield path, _TO_DEVICES


def _beside(root: str, closed: Collection[str]) -> Iterator[str]:
    """Yield paths that together cover everything below `root` except the closed paths."""
    avoided = {path for path in closed if path != root and within(path, root)}
    if not avoided:
        yield root
        return
    above = {root, *(directory for path in avoided for directory in directories_above(path, root))}
    waiting = [root]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.path in above and entry.path not in avoided:
                    waiting.append(entry.path)
                elif entry.path not in avoided and not entry.is_symlink():
                    yield entry.path


def _existing(paths: Iterable[str]) -> list[str]:
    """Return those paths that exist, are no links, and can be read by this user at all."""
    return [path for path in paths if path and os.access(path, os.R_OK) and not os.path.islink(path)]  # noqa: PTH114
