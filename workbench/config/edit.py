"""Writes entries of the person's `settings.toml`: their comments and their order stay, and it is never half written."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any, TypeAlias

import tomlkit
from tomlkit.exceptions import TOMLKitError

from workbench.errors import UsageError
from workbench.suggest import near
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


_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_REASONS = {
    "Invalid value": 'no value can be read here; text stands in quotes, as in name = "text"',
    "Expected '='": "a name is followed by = and its value",
    "Expected newline": "something is left over behind the value",
    "Invalid statement": "a line is name = value or [table]",
    "Invalid initial character": "a name is missing; a line is name = value or [table]",
    "Illegal character": "a quote is not closed, or a character may not stand here",
    "Unterminated string": "a quote is not closed",
    'Expected "\'"': "a quote is not closed",
    "Expected '\"'": "a quote is not closed",
    "Unclosed": "a bracket is not closed",
    "Expected ']'": "a bracket is not closed",
    "Cannot overwrite": "this name is set a second time",
    "Duplicate": "this name is set a second time",
    "Cannot declare": "this table stands here a second time",
    "Unescaped": "a backslash stands twice in text, or the text in single quotes",
}
"""How the parser's messages begin, and the same for a person."""


def line_of(key: str, text: str, table: str = "") -> int:
    """The line that sets a key of the file's head, or of one of its tables; 1 where it cannot be found."""
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([^\]]*?)\s*\]", line):
            inside = header[1].replace('"', "")
            if inside == (f"{table}.{key}" if table else key) or (not table and inside.startswith(f"{key}.")):
                return number
        elif inside == table and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[.=]""", line):
            return number
    return 1


def broken(error: tomllib.TOMLDecodeError, text: str) -> tuple[int, str]:
    """The line where a file stops being TOML, and what to look for there."""
    said = str(error)
    line, column = map(int, found.groups()) if (found := _PLACE.search(said)) else (len(text.splitlines()) or 1, 0)
    reason = next((ours for theirs, ours in _REASONS.items() if said.startswith(theirs)), "this is no TOML")
    return line, f"{reason} (at character {column} of the line)" if column else f"{reason} (at the end of the file)"


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
