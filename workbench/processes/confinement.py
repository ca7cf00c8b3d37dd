"""Confines a thread, and every thread and process that it starts from then on, so that they can write only below given
directories.

Linux enforces this (Landlock), and nothing can lift it. Reading is not restricted, nor is changing the permissions and
times of files. Since Linux 6.12, the confined processes cannot signal any process outside the confinement either.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from workbench.processes import landlock

_DEVICES, _SHARED_MEMORY = Path("/dev"), Path("/dev/shm")
_TO_DEVICES: Final = landlock.WRITE_FILE | landlock.TRUNCATE


def confine(directories: Iterable[Path]) -> bool:
    """Let this thread write only below the directories, to existing devices and to shared memory.

    Returns False, with the thread unconfined, if the system does not support this. Raises OSError if a directory cannot
    be opened.
    """
    try:
        version = landlock.version()
        writes = landlock.rights_over_files(version) & landlock.WRITE
        scopes = landlock.SIGNALS if version >= landlock.SINCE_SCOPES else 0
        rules = landlock.Ruleset(writes, scopes=scopes)
    except OSError:
        return False
    try:
        for directory in directories:
            _allow(rules, directory, writes)
        _allow(rules, _DEVICES, _TO_DEVICES)
        if _SHARED_MEMORY.is_dir():
            _allow(rules, _SHARED_MEMORY, writes)
        return _restricts(rules)
    finally:
        os.close(rules.descriptor)


def _allow(rules: landlock.Ruleset, directory: Path, rights: int) -> None:
    descriptor = os.open(directory, os.O_PATH | os.O_CLOEXEC)
    try:
        rules.allow_opened(descriptor, rights)
    finally:
        os.close(descriptor)


def _restricts(rules: landlock.Ruleset) -> bool:
    try:
        landlock.restrict(rules.descriptor)
    except OSError:
        return False
    return True
