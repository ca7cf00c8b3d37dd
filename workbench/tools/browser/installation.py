"""The requirements of the browser tool: playwright, a Chromium, and a directory for the driver's compile cache."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Final

from workbench.config.locations import Locations, private_directory
from workbench.errors import WorkbenchError
from workbench.processes.spawn import find_program

_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "microsoft-edge-stable",
    "brave-browser",
)
_APPS = ("Chromium.app/Contents/MacOS/Chromium", "Google Chrome.app/Contents/MacOS/Google Chrome")
_LAUNCHERS = {"/usr/bin/chromium": "/usr/lib/chromium/chromium"}
"""Distribution scripts, each with the program that it starts; they first detect the hardware, which takes a third of a
second.
"""
_HOW = "there is no {what}, which the browser needs; install it with {how}"


NO_PLAYWRIGHT = _HOW.format(
    what="playwright", how="`uv tool install '.[browser]'` in a clone of ohw, or add playwright to its packages"
)


class Missing(Exception):
    """Something is not installed; the text says what it is and how to install it."""


def is_missing() -> bool:
    """Return whether playwright, an optional extra, is not installed."""
    return importlib.util.find_spec("playwright") is None


def find_chromium(named: str = "") -> str:
    """Return the path of the browser's program: the configured one or the system's. Raises Missing."""
    if is_missing():
        raise Missing(NO_PLAYWRIGHT)
    if named:
        program = find_program(str(Path(named).expanduser()))
        if program is None:
            raise Missing(
                f"there is no program {named}, which `executable` in [tools.browser] of the settings file names"
            )
        return program
    for name in _NAMES:
        program = find_program(name)
        if program:
            return _itself(program)
    for app in _APPS:
        path = Path("/Applications") / app
        if os.access(path, os.X_OK):
            return str(path)
    how = "`apt-get install chromium` (or that of the system), or name one with `executable` in [tools.browser]"
    raise Missing(_HOW.format(what="Chromium", how=how))


def _itself(path: str) -> str:
    program = _LAUNCHERS.get(path, "")
    return program if program and os.access(program, os.X_OK) else path


CACHE_VARIABLE: Final = "NODE_COMPILE_CACHE"


def cache_environment() -> dict[str, str]:
    """Return the variable that names the driver's private cache directory; empty if the directory cannot be used."""
    try:
        directory = private_directory(Locations.from_environment().data / "browser-code")
    except WorkbenchError:
        return {}
    return {CACHE_VARIABLE: str(directory)}
