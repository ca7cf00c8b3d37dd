"""Finds the writable caches, and moves all others into the session's temporary directory."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from workbench.config.caches import CACHES

_MOVED_TO: Final = "caches"


def writable_caches(home: Path, names: Collection[str], env: Mapping[str, str]) -> list[str]:
    """Return the existing directories of these caches."""
    return [path for name in names if os.path.isdir(path := _path(home, name, env))]  # noqa: PTH112 - strings


def cache_variables(home: Path, names: Collection[str], temporary: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that move all other caches below a directory.

    Otherwise a program whose cache does not exist yet, or is switched off, would fail.
    """
    there = {name for name in names if os.path.isdir(_path(home, name, env))}  # noqa: PTH112
    moved = {variable: name for name, (_, variable) in CACHES.items() if variable and name not in there}
    return {variable.partition("/")[0]: f"{temporary}/{_MOVED_TO}/{name}" for variable, name in moved.items()}


def _path(home: Path, name: str, env: Mapping[str, str]) -> str:
    directory, variable = CACHES[name]
    variable, _, rest = variable.partition("/")
    return os.path.realpath(Path(env[variable]) / rest if env.get(variable) else home / directory)
