"""Determines whether `go` would download and run another release of Go, because go.mod or go.work requires a newer
one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from workbench.files import recorded_stat
from workbench.lazy_pattern import lazy_pattern

_ASKED: Final = lazy_pattern(r"^[ \t]*(?:go[ \t]+|toolchain[ \t]+go)(?P<version>\d+(?:\.\d+)*)(?P<rest>\S*)", re.M)
_INSTALLED: Final = lazy_pattern(r"go(\d+(?:\.\d+)*)\s")
_SWITCHES: Final = (1, 21)
"""The first release of Go that downloads other releases."""


def downloaded_release(directory: str) -> str:
    """Return the release that `go` may download if it runs in a directory; empty if it runs the installed one."""
    newest: tuple[int, ...] = (0,)
    name = ""
    for path in _files(directory):
        text = recorded_stat.text(path)
        if len(text) > recorded_stat.MOST_TEXT:
            return "another release"
        for match in _ASKED.finditer(text):
            version = _version(match["version"])
            if match["rest"] or version > newest:
                newest, name = ((10**9,) if match["rest"] else version), f"go{match['version']}{match['rest']}"
    return name if newest >= _SWITCHES and newest > _installed() else ""


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _files(directory: str) -> Iterator[str]:
    """Yield the paths of the nearest go.mod and go.work at or above a directory; in `/` if there is none."""
    for name in ("go.mod", "go.work"):
        above = directory
        while above != "/" and not recorded_stat.exists(f"{above}/{name}"):
            above = os.path.dirname(above)  # noqa: PTH120 - a string comes in
        yield f"{above}/{name}"


def _installed() -> tuple[int, ...]:
    """Return the version of the first `go` in PATH; (0,) if there is none or its version is unknown."""
    for directory in os.environ.get("PATH", "").split(":"):
        program = f"{directory}/go"
        if directory.startswith("/") and recorded_stat.is_file(program):
            root = os.path.dirname(os.path.dirname(recorded_stat.real_path(program)))  # noqa: PTH120 - strings
            match = _INSTALLED.match(recorded_stat.text(f"{root}/VERSION"))
            return _version(match[1]) if match else (0,)
    return (0,)
