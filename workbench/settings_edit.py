"""Writes entries of the person's `settings.toml`: their comments and their order stay, and it is never half written."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any, TypeAlias

import tomlkit
from tomlkit.exceptions import TOMLKitError

from workbench.errors import UsageError
from workbench.whole_files import replace_file

_BARE = re.compile(r"[A-Za-z0-9_-]+")
Place: TypeAlias = tuple[str, ...]
"""Where an entry stands: its name, behind those of its tables."""


def write_settings(path: Path, changes: Mapping[Place, Any]) -> None:
    """Set these entries; None takes one out. Raises UsageError, and then the file is as it was."""
    try:
        before = path.read_bytes().decode() if path.exists() else ""
        after = _changed(before, changes)
        replace_file(path, after.encode())
    except (OSError, ValueError, TOMLKitError) as error:
        said = error.strerror or error if isinstance(error, OSError) else error
        raise UsageError(f"{path} cannot be changed: {said}") from error


def rename_table(path: Path, table: str, old: str, new: str, changes: Mapping[Place, Any]) -> None:
    """Give `[TABLE.OLD]` another name where it stands, and set entries; raises UsageError and changes nothing."""
    try:
        before = path.read_bytes().decode()
        wanted = tomllib.loads(before)
        wanted[table] = {new if name == old else name: value for name, value in wanted[table].items()}
        head = rf"""(?m)^(\s*\[\s*{table}\s*\.\s*)(["']?){re.escape(old)}\2(?=\s*[.\]])"""
        after = re.sub(head, lambda found: f'{found[1]}"{new}"' if not _BARE.fullmatch(new) else found[1] + new, before)
        if tomllib.loads(after) != wanted:
            raise ValueError("the way it is written leaves no room for this; change it with an editor")
        replace_file(path, _changed(after, changes).encode())
    except (OSError, ValueError, KeyError, TOMLKitError) as error:
        said = error.strerror or error if isinstance(error, OSError) else error
        raise UsageError(f"{path} cannot be changed: {said}") from error


def _changed(before: str, changes: Mapping[Place, Any]) -> str:
    wanted: dict[str, Any] = tomllib.loads(before)
    document = tomlkit.parse(before)
    for place, value in changes.items():
        _put(wanted, place, value, dict)
        _put(document, place, value, tomlkit.table)
    after = document.as_string()
    if "\r\n" in before:
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    if tomllib.loads(after) != wanted:
        raise ValueError("the way it is written leaves no room for this; change it with an editor")
    return after


def _put(values: MutableMapping[str, Any], place: Place, value: Any, table: Any) -> None:
    *tables, name = place
    for each in tables:
        if not isinstance(values.get(each), MutableMapping):
            if value is None:
                return
            values[each] = table()
        values = values[each]
    if value is not None:
        values[name] = value
    else:
        values.pop(name, None)
