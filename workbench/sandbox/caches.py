"""The package managers' caches that programs in the sandbox can write; all others move to a temporary directory."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from workbench.config.caches import CACHES

_MOVED_TO: Final = "caches"


def writable_caches(home: Path, names: Collection[str], env: Mapping[str, str]) -> list[str]:
    """Return the directories of the named caches, as far as they exist."""
    return [path for name in names if os.path.isdir(path := _path(home, name, env))]  # noqa: PTH112 - strings


def cache_variables(home: Path, names: Collection[str], temporary: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that move all caches except the named, existing ones below `temporary`.

    Otherwise a program would fail if its cache does not exist yet or is switched off.
    """
    there = {name for name in names if os.path.isdir(_path(home, name, env))}  # noqa: PTH112
    moved = {variable: name for name, (_, variable) in CACHES.items() if variable and name not in there}
    return {variable.partition("/")[0]: f"{temporary}/{_MOVED_TO}/{name}" for variable, name in moved.items()}


def _path(home: Path, name: str, env: Mapping[str, str]) -> str:
    directory, variable = CACHES[name]
    variable, _, rest = variable.partition("/")
    return os.path.realpath(Path(env[variable]) / rest if env.get(variable) else home / directory)
