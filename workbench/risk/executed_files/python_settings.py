"""Extracts from the settings of Python tools (pylint, flake8, mypy, coverage …) the modules that they load.

Like the rest of the search, this finds keys by regular expressions: a name is used only if such a module exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from workbench.lazy_pattern import lazy_pattern

_MOST_NAMES: Final = 60
_VALUE: Final = (
    r"""["']?[ \t]*[:=][ \t]*(\[[^\]]{0,2000}\]|\"\"\".{0,2000}?\"\"\"|'''.{0,2000}?'''|"""
    r"""[^\n]*(?:\n[ \t]+[^\n]+){0,40})"""
)
_PLUGINS: Final = lazy_pattern(
    rf"^[ \t]*[\"']?(?:load[-_]plugins?|plugins?|local[-_]plugins|extensions?|reporters?|output-format|hooks?){_VALUE}",
    re.M | re.S,
)
_PATHS: Final = lazy_pattern(rf"^[ \t]*[\"']?(?:paths?|python[-_]?path|mypy_path|source-roots){_VALUE}", re.M | re.S)
_CODE: Final = lazy_pattern(rf"^[ \t]*[\"']?init[-_]hook{_VALUE}", re.M | re.S)
_MODULE: Final = lazy_pattern(r"(?<![\w./-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?![\w/-])")
_DIRECTORY: Final = lazy_pattern(r"[\w@+./-]{1,200}")


def plugins_named(text: str) -> tuple[str, ...]:
    """Return the modules that settings list as plugins."""
    names = (name for match in _PLUGINS.finditer(text) for name in _MODULE.findall(match[1]))
    return tuple(dict.fromkeys(islice(names, _MOST_NAMES)))


def directories_named(text: str) -> tuple[str, ...]:
    """Return the directories that settings add to the module search path."""
    names = (name for match in _PATHS.finditer(text) for name in _DIRECTORY.findall(match[1]))
    return tuple(dict.fromkeys(islice(names, _MOST_NAMES)))


def code_in(text: str) -> Iterator[str]:
    """Yield the Python code that settings contain, with one statement per line."""
    for match in _CODE.finditer(text):
        yield match[1].strip().strip("\"'").replace(";", "\n")
