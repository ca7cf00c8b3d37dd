"""Temporary files of those of our processes that were killed; the next start deletes them.

Names contain the pid and pid namespace of the process that created them, because containers that share a directory may
use the same pids.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from workbench.lazy_pattern import lazy_pattern

SWEPT: Final = ("shell", "cells", "browser", "merge", "mcp", "sandbox", "container")
"""Kinds of temporary directories that contain no user data."""
SHELL_FILE: Final = "shell-"
"""Prefix of a file name in a shell's directory; the rest is the nonce in the environment of the shell's processes."""
_NAME: Final = lazy_pattern(rf"ohw-(?:{'|'.join(SWEPT)})-(\d+)-(\d+)-.*")

_EDITED: Final = lazy_pattern(r"\.ohw-(\d+)-(\d+)-[0-9a-f]{16}\.tmp")


def prefix(kind: str) -> str:
    """Return the name prefix of this process's temporary directories of a kind."""
    return f"ohw-{kind}-{mark()}-"


def mark() -> str:
    """Return the pid and the pid namespace of this process, joined by a hyphen, for use in a file name."""
    return f"{os.getpid()}-{_namespace()}"


def has_ended(pid: str, namespace: str) -> bool:
    """Return whether the process with this pid has ended; False if that cannot be determined, as in another
    namespace.
    """
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
    """Return whether the process has ended but its parent has not read its exit status; False without /proc."""
    # In a container, process 1 often fetches the exit codes of orphans late, or never.
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (OSError, IndexError):
        return False


def sweep_temporary(end_shells: Callable[[Collection[str]], None]) -> None:
    """Delete the temporary directories of those of our processes that have ended.

    `end_shells` receives the nonces of their shells, and kills the processes of these shells that still run because the
    supervisor was killed too.
    """
    with suppress(OSError):
        for entry in Path(tempfile.gettempdir()).glob("ohw-*-*"):
            match = _NAME.fullmatch(entry.name)
            if match and has_ended(*match.groups()) and _is_own_directory(entry):
                nonces = [path.name.removeprefix(SHELL_FILE) for path in entry.glob(f"{SHELL_FILE}*")]
                if nonces:
                    end_shells(nonces)
                shutil.rmtree(entry, ignore_errors=True)


def sweep_edited(directory: Path) -> None:
    """Delete the temporary files that interrupted edits left in this directory."""
    with suppress(OSError):
        for entry in directory.glob(".ohw-*-*-*.tmp"):
            match = _EDITED.fullmatch(entry.name)
            info = entry.lstat()
            is_own = stat.S_ISREG(info.st_mode) and info.st_uid == os.getuid()
            if match and is_own and has_ended(*match.groups()):
                entry.unlink()


def _is_own_directory(path: Path) -> bool:
    try:
        info = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid()


@cache
def _namespace() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)  # noqa: PTH116 - not worth a Path
    except OSError:
        return "0"
