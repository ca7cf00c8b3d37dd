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


def metadata(shell: Shell | None, folder: str) -> CommandMetadata:
    """What is known about the shell now."""
    mark = shell.mark if shell else None
    return CommandMetadata(
        pid=shell.terminal.guard.pid if shell else -1,
        working_dir=mark.folder if mark else folder,
        username=_username(),
        hostname=_hostname(),
        py_interpreter_path=_python(mark.path) if mark else None,
    )
