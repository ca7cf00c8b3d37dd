"""Finds the files of packages that are installed in a workspace, in node_modules or in Python environments."""

from __future__ import annotations

import glob
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from workbench.lazy_pattern import lazy_pattern

_LARGEST: Final = 1_000_000
_INSTALLED: Final = lazy_pattern(r"(.*/node_modules/(?:@[^/]+/)?[^/.@][^/]*)/")
_NAME: Final = lazy_pattern(r"((?:@[\w.~-]+/)?[\w.~-]+)(?:@[^/]*)?(?=/|\Z)")
_ENVIRONMENTS: Final = (".venv", "venv", "env", ".env")
_MAIN: Final = ("main", "module", "exports")
_MOST_TARGETS: Final = 20


def settings_of(path: str, pending: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the content of a package.json; empty if it cannot be read. `pending` contains future texts, by path."""
    text = pending.get(path)
    try:
        if text is None:
            if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - a string comes in
                return {}
            text = Path(path).read_text(errors="replace")[:_LARGEST]
        settings = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def settings_around(path: str) -> Iterator[str]:
    """Yield the paths of files that control what the program at a path does.

    For a file in node_modules, these are each package.json from its directory up to the package's own; for a program in
    a Python environment, `pyvenv.cfg`, which names the directory of the standard library.
    """
    if path.rpartition("/")[0].endswith(("/bin", "/Scripts")):
        yield f"{path.rpartition('/')[0].rpartition('/')[0]}/pyvenv.cfg"
    package = _INSTALLED.match(path)
    directory = os.path.dirname(path) if package else ""  # noqa: PTH120 - strings
    while package and directory.startswith(package[1]):
        yield f"{directory}/package.json"
        directory = os.path.dirname(directory)  # noqa: PTH120


def node_package(name: str, directory: str, workspace: str) -> str:
    """Return the directory of the package that Node.js finds for a name; empty if there is none in the workspace."""
    match = _NAME.match(name)
    if match is None or name.startswith("."):
        return ""
    while directory.startswith(workspace):
        path = f"{directory}/node_modules/{match[1]}"
        if any(os.access(f"{path}/{name}", os.F_OK) for name in ("package.json", "index.js")):
            return path
        directory = os.path.dirname(directory)  # noqa: PTH120
    return ""


def programs_of(settings: Mapping[str, Any]) -> list[str]:
    """Return the files that run when a program of the package is started, as paths relative to the package."""
    listed = settings.get("bin")
    return list(_strings(listed if isinstance(listed, dict) else [listed]))[:_MOST_TARGETS]


def mains_of(settings: Mapping[str, Any]) -> list[str]:
    """Return the files that are loaded when a package is imported by its name, as paths relative to the package."""
    named = [text for key in _MAIN for text in _strings(settings.get(key))]
    return [*(f"{name}{ending}" for name in named or ["index"] for ending in ("", ".js"))][:_MOST_TARGETS]


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < 4:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each, depth + 1)


def site_packages(workspace: str, script: str = "") -> tuple[str, ...]:
    """Return the directories of packages installed in the workspace's environments, or in a script's environment."""
    environments = [f"{workspace}/{name}" for name in _ENVIRONMENTS]
    if script.rpartition("/")[0].endswith("/bin"):
        environments.append(script.rpartition("/")[0].removesuffix("/bin"))
    there = (path for path in dict.fromkeys(environments) if os.access(f"{path}/lib", os.F_OK))
    patterns = (f"{glob.escape(path)}/lib/python3*/site-packages" for path in there)
    return tuple(path for pattern in patterns for path in glob.glob(pattern))  # noqa: PTH207 - strings
