"""The scripts, recipes and package scripts that an action runs; rules are matched against their text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from workbench.risk.assessment import Part
from workbench.risk.executed_files.action_files import finder_of
from workbench.risk.executed_files.recipes import recipe_text

_LARGEST: Final = 256_000
_MOST: Final = 40
_MOST_DEPTH_OF_CODE: Final = 3
"""The depth to which scripts in other languages than the shell's, and the modules they import, are searched."""


class Script(NamedTuple):
    """The text of a script that will run, its path, and whether a shell interprets it."""

    path: str
    text: str
    is_shell: bool


def scripts_run(parts: Sequence[Part], workspace: str, text: str = "", code: str = "") -> Iterator[Script]:
    """Yield the scripts that an action runs, directly or through other scripts, at most `_MOST` of them.

    Recipes are limited to the requested targets and their dependencies, and scripts in other languages to those near
    the command line (`_MOST_DEPTH_OF_CODE`).
    """
    directory = next((directory for part in parts for directory in part.directories), workspace)
    finder = finder_of(parts, workspace, directory, text=text, code=code)
    for path, line in finder.lines[:_MOST]:
        yield Script(path, line, is_shell=True)
    for path, (kind, depth) in list(finder.scripts.items())[:_MOST]:
        if kind == "shell" or (kind in {"python", "other"} and depth <= _MOST_DEPTH_OF_CODE):
            yield Script(path, _content(path), kind == "shell")
        elif kind == "recipes":
            yield Script(path, recipe_text(_content(path), finder.targets), is_shell=True)


def _content(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(_LARGEST).decode(errors="replace")
    except OSError:
        return ""
