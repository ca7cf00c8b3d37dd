"""What a killed process of ours left behind, told from what a living one uses; swept by the next start.

Names carry the process that made them and its pid namespace: containers that share a folder have the same numbers.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

SWEPT: Final = ("shell", "cells", "browser", "merge", "mcp")
"""Kinds of temporary folders that hold nothing of the user's."""
SHELL_FILE: Final = "shell-"
"""The beginning of the name of a file in the folder of a shell; its processes have the rest in their environment."""
_NAME: Final = re.compile(rf"ohw-(?:{'|'.join(SWEPT)})-(\d+)-(\d+)-.*")

_EDITED: Final = re.compile(r"\.ohw-(\d+)-(\d+)-[0-9a-f]{16}\.tmp")


def prefix(kind: str) -> str:
    """The beginning of the name of a temporary folder of this process."""
    return f"ohw-{kind}-{mark()}-"


def mark() -> str:
    """The process and its pid namespace, for a name."""
    return f"{os.getpid()}-{_namespace()}"


def is_left(pid: str, namespace: str) -> bool:
    """Whether the process with this mark has ended; False where that cannot be known."""
    if namespace != _namespace():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return _is_zombie(pid)


def _is_zombie(pid: str) -> bool:
    """Whether the process has ended and its exit code was not fetched; False where there is no /proc."""
    # In a container, process 1 often fetches the exit codes of orphans late, or never.
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (OSError, IndexError):
        return False


def sweep_temporary(end_shells: Callable[[Collection[str]], None]) -> None:
    """Delete the temporary folders of processes of ours that have ended.

    What their shells left running, since the supervisor was killed as well, goes by its nonces to `end_shells`.
    """
    with suppress(OSError):
        for entry in Path(tempfile.gettempdir()).glob("ohw-*-*"):
            match = _NAME.fullmatch(entry.name)
            if match and is_left(*match.groups()) and _is_own_folder(entry):
                nonces = [path.name.removeprefix(SHELL_FILE) for path in entry.glob(f"{SHELL_FILE}*")]
                if nonces:
                    end_shells(nonces)
                shutil.rmtree(entry, ignore_errors=True)


def sweep_edited(folder: Path) -> None:
    """Delete what killed edits of files in this folder left there."""
    with suppress(OSError):
        for entry in folder.glob(".ohw-*-*-*.tmp"):
            match = _EDITED.fullmatch(entry.name)
            found = entry.lstat()
            is_own = stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()
            if match and is_own and is_left(*match.groups()):
                entry.unlink()


def _is_own_folder(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


@cache
def _namespace() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)  # noqa: PTH116 - a Path for one call
    except OSError:
        return "0"
