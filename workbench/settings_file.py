"""Reads `settings.toml` entry by entry: what is wrong is told with its line, and does not count; used by `config`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from workbench.errors import UsageError
from workbench.toml_lines import line_of, near

_TABLES = ("tools", "models")
"""Tables whose entries stand each for itself."""


def read_settings(
    path: Path, known: Collection[str], check: Callable[[str, Any], object]
) -> tuple[dict[str, Any], list[str]]:
    """The settings that can be used, and a line on each that cannot; `check` raises UsageError for a value."""
    try:
        text = path.read_bytes().decode("utf-8")  # TOML is UTF-8 in every locale
        values = tomllib.loads(text)
    except FileNotFoundError:
        return {}, []
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return {}, [f"cannot read the settings in {path}: {error}"]
    usable: dict[str, Any] = {}
    problems = []
    for name, table, value in _entries(values):
        said = "" if name in known else f"there is no setting {name!r}{near(name, known)}"
        try:
            said or check(name, value)
        except UsageError as error:
            said = str(error)
        if said:
            line = line_of(table, text, name) if table else line_of(name, text)
            problems.append(f"{path}:{line}: {said}")
        elif table:
            usable.setdefault(name, {}).update(value)
        else:
            usable[name] = value
    return usable, problems


def _entries(values: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Each setting, and each entry of the tables, with the entry's name."""
    for name, value in values.items():
        if name in _TABLES and isinstance(value, dict):
            yield from ((name, entry, {entry: part}) for entry, part in value.items())
        else:
            yield name, "", value
