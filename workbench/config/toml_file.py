"""Reads settings from a TOML file and reports each problem with its line; the other entries are still used."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from workbench.errors import UsageError
from workbench.lazy_pattern import lazy_pattern
from workbench.suggest import near

EntryPath: TypeAlias = tuple[str, str, str]
"""The path of a value: a table of tables, an entry in it, and a key in the entry, as in `models.fast.price`."""
MOST_BYTES = 10_000_000
"""The size, in bytes, of the largest settings file that is read."""
_POSITION = lazy_pattern(r"\(at line (\d+), column (\d+)\)")
_REASONS = {
    "Invalid value": 'this is not a value; text needs quotes, as in name = "text"',
    "Expected '='": "a name is followed by = and its value",
    "Expected newline": "something is left over after the value",
    "Invalid statement": "a line is name = value or [table]",
    "Invalid initial character": "a name is missing; a line is name = value or [table]",
    "Illegal character": "a quote is not closed, or a character is not allowed here",
    "Unterminated string": "a quote is not closed",
    'Expected "\'"': "a quote is not closed",
    "Expected '\"'": "a quote is not closed",
    "Unclosed": "a bracket is not closed",
    "Expected ']'": "a bracket is not closed",
    "Cannot overwrite": "this name is set a second time",
    "Duplicate": "this name is set a second time",
    "Cannot declare": "this table is declared a second time",
    "Unescaped": "write a backslash twice, or put the text in single quotes",
}
"""Beginnings of `tomllib` messages, each with the text to show the user instead."""
_TABLES = ("tools", "models", "terminal", "agents", "mcpServers")
"""The tables whose entries are checked one by one, so that an invalid entry leaves the others in effect."""


def _line_of_entry(key: str, text: str, table: str, entry: str) -> int:
    """Return the number of the line that sets `key` in `[TABLE.ENTRY]`; of the line of the entry if none is found."""
    line = line_of(key, text, f"{table}.{entry}")
    return line if line > 1 else line_of(entry, text, table)


def line_of(key: str, text: str, table: str = "") -> int:
    """Return the number of the line that sets a key at the top level or in a table, or 1 if it cannot be found."""
    current = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([^\]]*?)\s*\]", line):
            current = header[1].replace('"', "")
            if current == (f"{table}.{key}" if table else key) or (not table and current.startswith(f"{key}.")):
                return number
        elif current == table and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[.=]""", line):
            return number
    return 1


def syntax_problem(error: tomllib.TOMLDecodeError, text: str) -> tuple[int, str]:
    """Return the number of the line where a file stops being valid TOML, and the reason."""
    message = str(error)
    if position := _POSITION.search(message):
        line, where = int(position[1]), f"at character {position[2]} of the line"
    else:
        line, where = len(text.splitlines()) or 1, "at the end of the file"
    reason = next((ours for theirs, ours in _REASONS.items() if message.startswith(theirs)), "this is not TOML")
    return line, f"{reason} ({where})"


def read_small_file(path: Path) -> bytes:
    """Return the content of a regular file of at most MOST_BYTES; never waits for a pipe. Raises OSError."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if info.st_size > MOST_BYTES:
            raise OSError(errno.EFBIG, f"it is larger than {MOST_BYTES // 1_000_000} MB", str(path))
        return file.read(MOST_BYTES)


def read_settings(
    path: Path,
    names: Collection[str],
    check: Callable[[str, Any], object],
    relations: Callable[[Mapping[str, Any]], Iterable[tuple[EntryPath, str]]],
) -> tuple[dict[str, Any], list[str]]:
    """Return the valid settings of a file and a line about each problem.

    `check` raises UsageError if a value is invalid; `relations` gets all valid values, and yields the entries in nested
    tables that contradict other settings. A file that does not exist has no settings and no problems.
    """
    try:
        # Decoded explicitly, because TOML is UTF-8 in every locale.
        text = read_small_file(path).decode("utf-8")
        values = tomllib.loads(text)
    except FileNotFoundError:
        return {}, []
    except tomllib.TOMLDecodeError as error:
        line, reason = syntax_problem(error, text)
        return {}, [f"{path}:{line}: {reason}; the whole file is ignored"]
    except (OSError, UnicodeDecodeError) as error:
        return {}, [f"cannot read the settings in {path}: {error}"]
    valid: dict[str, Any] = {}
    problems = []
    for name, entry, value in _entries(values):
        problem = _problem(name, value, names, check)
        if problem:
            line = line_of(entry, text, name) if entry else line_of(name, text)
            problems.append(f"{path}:{line}: {problem}")
        elif entry:
            valid.setdefault(name, {}).update(value)
        else:
            valid[name] = value
    for (name, entry, key), problem in list(relations(valid)):
        line = _line_of_entry(key, text, name, entry)
        problems.append(f"{path}:{line}: {problem}")
        valid[name][entry] = {each: part for each, part in valid[name][entry].items() if each != key}
    return valid, problems


def _problem(name: str, value: Any, names: Collection[str], check: Callable[[str, Any], object]) -> str:
    if name not in names:
        return f"there is no setting {name!r}{near(name, names)}"
    try:
        check(name, value)
    except UsageError as error:
        return str(error)
    return ""


def _entries(values: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield each setting as its name, an empty string and its value.

    A table in `_TABLES` is yielded entry by entry: the table's name, the entry's name, and a table with only that
    entry.
    """
    for name, value in values.items():
        if name in _TABLES and isinstance(value, dict):
            yield from ((name, entry, {entry: part}) for entry, part in value.items())
        else:
            yield name, "", value
