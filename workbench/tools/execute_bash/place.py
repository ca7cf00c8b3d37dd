"""Who and where: the metadata of a command, looked up once or when PATH changes; used by `impl`."""

from __future__ import annotations

import functools
import os
import pwd
import shutil
import socket

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
