"""In-place edits of `settings.toml` that preserve comments and order; a crash leaves the old file or the new one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any, TypeAlias

import tomlkit
from tomlkit.exceptions import TOMLKitError

from workbench.errors import UsageError
from workbench.files.state_files import replace_file
from workbench.lazy_pattern import lazy_pattern

_BARE = lazy_pattern(r"[A-Za-z0-9_-]+")
_NO_EDIT = "its layout does not allow this edit; change it in an editor"
KeyPath: TypeAlias = tuple[str, ...]
"""The path of an entry: its tables, then its name."""


def write_settings(path: Path, changes: Mapping[KeyPath, Any]) -> None:
    """Set entries; a value of None removes one. Raises UsageError, leaving the file unchanged."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("not a regular file")
        before = path.read_bytes().decode() if path.exists() else ""
        replace_file(path, _changed(before, changes).encode())
    except (OSError, ValueError, TOMLKitError) as error:
        raise _unchanged(path, error) from error


def rename_table(path: Path, table: str, old: str, new: str, changes: Mapping[KeyPath, Any]) -> None:
    """Rename `[TABLE.OLD]` in place, then set entries. Raises UsageError, leaving the file unchanged."""
    try:
        before = path.read_bytes().decode()
        expected = tomllib.loads(before)
        expected[table] = {new if name == old else name: value for name, value in expected[table].items()}
        header = rf"""(?m)^(\s*\[\s*{table}\s*\.\s*)(["']?){re.escape(old)}\2(?=\s*[.\]])"""
        key = new if _BARE.fullmatch(new) else f'"{new}"'
        after = re.sub(header, lambda match: match[1] + key, before)
        if tomllib.loads(after) != expected:
            raise ValueError(_NO_EDIT)
        replace_file(path, _changed(after, changes).encode())
    except (OSError, ValueError, KeyError, TOMLKitError) as error:
        raise _unchanged(path, error) from error


def _unchanged(path: Path, error: Exception) -> UsageError:
    reason = error.strerror or error if isinstance(error, OSError) else error
    return UsageError(f"{path} cannot be changed: {reason}")


def _changed(before: str, changes: Mapping[KeyPath, Any]) -> str:
    """Return the edited text. Raises ValueError if it does not parse to the old values with the changes."""
    expected: dict[str, Any] = tomllib.loads(before)
    document = tomlkit.parse(before)
    for path, value in changes.items():
        _put(expected, path, value, dict)
        _put(document, path, value, tomlkit.table)
    after = document.as_string()
    if "\r\n" in before:
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    if tomllib.loads(after) != expected:
        raise ValueError(_NO_EDIT)
    return after


def _put(values: MutableMapping[str, Any], path: KeyPath, value: Any, table: Any) -> None:
    *tables, name = path
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
