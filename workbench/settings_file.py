"""Reads `settings.toml` entry by entry: what is wrong is told with its line, and does not count; used by `config`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from workbench.errors import UsageError
from workbench.near_names import near
from workbench.toml_lines import broken, line_of

_TABLES = ("tools", "models", "mcpServers")
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
    except tomllib.TOMLDecodeError as error:
        line, reason = broken(error, text)
        return {}, [f"{path}:{line}: {reason}; nothing of the file counts"]
    except (OSError, UnicodeDecodeError) as error:
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


def check_servers(table: object) -> None:
    """`[mcpServers]` as a whole: what else is wrong with a server leaves only that one out. Raises UsageError."""
    if not isinstance(table, dict) or not all(isinstance(server, dict) for server in table.values()):
        raise UsageError("mcpServers must hold a table for each server: [mcpServers.NAME]")
    check_plain("mcpServers", table)


def check_plain(key: str, value: object) -> None:
    """Everything inside must be what JSON can hold too: settings travel to the engine so. Raises UsageError."""
    if isinstance(value, dict):
        for name, part in value.items():
            check_plain(f"{key}.{name}", part)
    elif isinstance(value, list):
        for part in value:
            check_plain(key, part)
    elif not isinstance(value, str | int | float):
        raise UsageError(f"{key} must not hold a date or a time; write it as text")
