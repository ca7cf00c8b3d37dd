"""The directories where the user's shell finds programs, and those where the user's Python installations find
libraries.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from workbench.files.root_directory import real_path
from workbench.risk.paths import within
from workbench.risk.protected_entries import Scope

SYSTEM_PROGRAMS: Final = ("/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin")
_USUAL: Final = (".local/bin", "bin")
_PYTHONS: Final = (
    *(".pyenv/versions", ".asdf/installs/python", ".local/share/mise/installs/python", ".local/share/uv/python"),
    *(".local/share/uv/tools", ".local/share/pipx/venvs", ".local/pipx/venvs", ".virtualenvs", "Library/Python"),
    *(".conda/envs", "miniconda3/envs", "miniforge3/envs", "mambaforge/envs", "anaconda3/envs"),
)
"""Directories in the home directory that contain installations and environments of Python."""
_INSTALLATIONS: Final = (".local", "miniconda3", "miniforge3", "mambaforge", "anaconda3")


def program_directories(home: str, workspace: str) -> tuple[str, ...]:
    """Return the directories of PATH that the user may write to, and the customary ones of the home directory.

    Directories that do not exist yet are included if the user may create them. For root, who may write anywhere, only
    directories in the home directory and the workspace are returned. A relative entry starts at the workspace.
    """
    top, own_home = real_path(workspace), real_path(home)
    directories = [f"{home}/{name}" for name in _USUAL]
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        path = real_path(os.path.join(top, entry))  # noqa: PTH118 - a string comes out
        is_private = any(within(path, each) for each in (top, own_home))
        if (is_private or os.getuid()) and _is_writable(path):
            directories.append(path)
    return tuple(dict.fromkeys(map(real_path, directories)))


def _is_writable(path: str) -> bool:
    """Return whether the user may write to a directory, or create it if it does not exist."""
    while not os.path.exists(path) and path != "/":  # noqa: PTH110 - strings
        path = path.rpartition("/")[0] or "/"
    return os.access(path, os.W_OK)


def python_directories(home: str, workspace: str) -> tuple[tuple[str, Scope], ...]:
    """Return the library directories that the user may write to, for Python installations outside the workspace.

    For each directory, the result also says how it is searched.
    """
    directories: list[tuple[str, Scope]] = [(f"{home}/{name}", "prefixes") for name in _PYTHONS]
    directories += [(f"{home}/{name}", "prefix") for name in _INSTALLATIONS]
    directories += [(path, "prefix") for path in _prefixes_in_use(home)]
    top = real_path(workspace)
    real: dict[tuple[str, Scope], None] = {(real_path(path), scope): None for path, scope in directories}
    return tuple(each for each in real if not within(each[0], top))


def _prefixes_in_use(home: str) -> Iterator[str]:
    """Yield the Python installations of this program and of environment variables, if they belong to the user."""
    named = [os.environ.get(name, "") for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONUSERBASE")]
    for path in filter(os.path.isabs, (sys.prefix, *named)):
        with suppress(OSError):
            is_own = os.stat(path).st_uid == os.getuid()  # noqa: PTH116 - a string
            if is_own and (os.getuid() or within(real_path(path), real_path(home))):
                yield path
