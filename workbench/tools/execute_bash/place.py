"""Who and where: the metadata of a command, looked up once or when PATH changes; used by `impl`."""

from __future__ import annotations

import functools
import os
import pwd
import shutil
import socket
from pathlib import Path

from workbench.tools.execute_bash.definition import CommandMetadata
from workbench.tools.execute_bash.shell import Shell


@functools.cache
def _username() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


@functools.cache
def _hostname() -> str:
    return socket.gethostname()


@functools.lru_cache(maxsize=8)
def _python(path: str) -> str | None:
    return shutil.which("python", path=path) or shutil.which("python3", path=path)


def working_directory(pid: int) -> str:
    """Return the directory a process is really in, as the kernel says; empty where there is no /proc.

    A directory that was deleted ends in " (deleted)".
    """
    try:
        return os.readlink(f"/proc/{pid}/cwd") if pid > 0 else ""  # noqa: PTH115 - asked for each action
    except OSError:
        return ""


def readers(group: int) -> list[tuple[tuple[str, ...], str]]:
    """Return words and directory of the programs of a process group that may read what is typed: those without
    children, or where there is no /proc nothing. Each costs a few reads of /proc.
    """
    found: list[tuple[tuple[str, ...], str]] = []
    left = [group]
    while left and len(found) < _MOST_READERS:
        pid = left.pop()
        try:
            raw = Path(f"/proc/{pid}/cmdline").read_bytes()
            below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            continue
        left += [int(child) for child in below]
        if not below:
            words = tuple(os.fsdecode(word) for word in raw.rstrip(b"\0").split(b"\0"))
            found.append((words, working_directory(pid)))
    return found


_MOST_READERS = 20


def metadata(shell: Shell | None, folder: str) -> CommandMetadata:
    """What is known about the shell now; its directory comes from the kernel, as `$PWD` may say anything."""
    mark = shell.mark if shell else None
    pid = shell.terminal.guard.pid if shell else -1
    return CommandMetadata(
        pid=pid,
        working_dir=working_directory(pid) or (mark.folder if mark else folder),
        username=_username(),
        hostname=_hostname(),
        py_interpreter_path=_python(mark.path) if mark else None,
    )
