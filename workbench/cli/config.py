"""`ohw config` prints, gets, sets and edits the settings; `ohw locate` prints the paths of the user's files."""

from __future__ import annotations

import os
import shlex
import sys
import tomllib
from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.cli.common import print_error, print_line, settings_of, workspace_of
from workbench.config.locations import Locations, private_directory
from workbench.config.setting_kinds import Setting, declared
from workbench.config.setting_names import SettingName, parse_name
from workbench.config.settings import (
    Settings,
    check_setting,
    fallback_problems,
    origin_of,
    read_container,
    read_telemetry,
    read_terminal,
    written_settings,
)
from workbench.config.toml_file import read_small_file, syntax_problem
from workbench.errors import UsageError, WorkbenchError
from workbench.files.crash_reports import crash_directory
from workbench.files.toml_edit import write_settings
from workbench.llm.errors import public_url
from workbench.processes.spawn import run
from workbench.secrets.masker import MASKER
from workbench.secrets.secret_names import holds_secret
from workbench.text import visible, visible_path

_HIDDEN = "set, not shown"
_READERS = {"terminal": read_terminal, "container": read_container, "telemetry": read_telemetry}
"""The functions that read a table with declared entries, by its name."""
_SWITCH = {"yes": True, "no": False, "true": True, "false": False}


def config(arguments: Namespace) -> int:
    """Print the settings, or get, set, unset or edit one; return 1 if the file has problems or there is no value."""
    locations, settings = settings_of(arguments, lenient=True)
    if arguments.action in ("get", "set", "unset") and not arguments.name:
        raise UsageError(f"`ohw config {arguments.action}` needs the name of a setting; `ohw config` lists them")
    if arguments.action == "get":
        return _get(settings, arguments.name)
    if arguments.action == "set":
        return _set(locations, arguments.name, arguments.value)
    if arguments.action == "unset":
        return _unset(locations, arguments.name)
    if arguments.action == "edit":
        return _edit(locations, arguments)
    if arguments.action == "path":
        print_line(visible_path(str(locations.settings_file)))
        return 0
    return _list(locations, settings)


def _list(locations: Locations, settings: Settings) -> int:
    written, problems = written_settings(locations)
    rows = [
        (name, _value(each, getattr(settings, name)), origin_of(name, settings, os.environ, is_written=name in written))
        for name, each in declared(Settings).items()
    ]
    width = max(len(name) for name, *_ in rows)
    for name, value, origin in rows:
        print_line(visible(f"{name:<{width}}  {value or '–'}  ({origin})", lines=False))
    return _report(problems)


def _report(problems: list[str]) -> int:
    for problem in problems:
        print_error(visible(problem, lines=False))
    return 1 if problems else 0


def _value(setting: Setting, value: object) -> str:
    """Return a value on one line: of a table the names of its entries, of a secret only whether it is set."""
    if isinstance(value, Mapping):
        return ", ".join(value)
    if setting.is_secret:
        return _HIDDEN if value else ""
    return _without_secrets(setting.kind.show(value)) if value is not None else ""


def _get(settings: Settings, text: str) -> int:
    """Print the value in effect; a table is printed as one line for each of its entries."""
    name = parse_name(text, vars(settings))
    value = _in_effect(settings, name)
    if isinstance(value, tuple) and value and isinstance(value[0], Mapping):
        value = {str(number): table for number, table in enumerate(value, 1)}
    if isinstance(value, Mapping):
        for path, leaf in _leaves(name.path, value):
            print_line(visible(f"{'.'.join(path)}  {_leaf_text(path, leaf)}", lines=False))
        return 0 if value else 1
    if value is None or value == "":
        return 1
    line = _leaf_text(name.path, value, name.setting)
    if line == _HIDDEN:
        print_error(f"{text} is set; it is not shown, because it is or contains a secret")
        return 1
    print_line(visible(line, lines=False))
    return 0


def _in_effect(settings: Settings, name: SettingName) -> Any:
    """Return the value in effect, which may be the default; None if there is none."""
    first, *rest = name.path
    value: Any = getattr(settings, first)
    if rest and first in _READERS:
        return getattr(_READERS[first](value), rest[0])
    if len(rest) == 2 and first == "models" and rest[0] in value:
        return getattr(settings.profile(rest[0]), rest[1])
    return _at(value, rest)


def _at(values: Any, path: list[str]) -> Any:
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    return values


def _leaves(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not isinstance(value, Mapping):
        yield path, value
        return
    for name, part in value.items():
        yield from _leaves((*path, name), part)


def _leaf_text(path: tuple[str, ...], value: Any, setting: Setting | None = None) -> str:
    """Return a value as text; if it is or may contain a secret, only that it is set."""
    if declared(Settings)[path[0]].is_secret or (path[0] in ("tools", "container") and holds_secret(path[-1])):
        return _HIDDEN
    if setting is not None:
        return _without_secrets(setting.kind.show(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _without_secrets(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))


def _without_secrets(text: str) -> str:
    return MASKER.masked(public_url(text) if "://" in text and "@" in text else text)


def _set(locations: Locations, text: str, value: str | None) -> int:
    """Check a value and write it to the settings file, without changing the file's comments and order."""
    if value is None:
        raise UsageError(f"give a value: `ohw config set {text} VALUE`; `ohw config unset {text}` restores the default")
    file, written = locations.settings_file, _written(locations)
    name = parse_name(text, written)
    if declared(Settings)[name.path[0]].is_secret:
        raise UsageError(_REFUSED[name.path[0]])
    if name.is_table or (name.setting is None and name.path[0] in ("models", "agents")):
        raise UsageError(f"{text} is a table; set one of its entries, or open the file with `ohw config edit`")
    parsed = _parsed(name, value, written)
    _check(name.path, _with(written, name.path, parsed))
    write_settings(file, {name.path: parsed})
    print_line(visible(f"{text} is set in {visible_path(str(file))}{_effect(name)}", lines=False))
    return 0


_REFUSED = {
    "api_key": "keys are not stored in settings; set api_key_env, or api_key_file of a saved model, or paste the key "
    "when `ohw` asks for it",
    "mcpServers": "`ohw mcp add` adds a server; `ohw config edit` changes one",
}


def _parsed(name: SettingName, text: str, written: Mapping[str, Any]) -> Any:
    """Parse a value for the settings file. Raises UsageError if it is invalid."""
    if name.setting is not None:
        value = name.setting.kind.parse(name.text, text.strip())
        return list(value) if isinstance(value, tuple) else value
    if name.path[0] == "keys":
        from workbench.tui.keys import check_key

        try:
            check_key(name.path[1], text, written.get("keys", {}))
        except ValueError as error:
            raise UsageError(f"{name.text}: {error}") from None
        return text
    return _SWITCH[text] if text in _SWITCH else _literal(text)


def _literal(text: str) -> Any:
    """Parse a text as a TOML value; return the text itself if it is none."""
    try:
        return tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
    except tomllib.TOMLDecodeError:
        return text


def _effect(name: SettingName) -> str:
    """Return a clause that says when a change takes effect, or what overrides it."""
    setting = declared(Settings)[name.path[0]]
    if setting.variable and os.environ.get(setting.variable):
        return f"; {setting.variable} overrides it while it is set"
    return f" and takes effect {(name.setting or setting).takes_effect}"


def _unset(locations: Locations, text: str) -> int:
    """Remove a setting from the file, so that its default applies again."""
    written = _written(locations)
    name = parse_name(text, written)
    if _at(written, list(name.path)) is None:
        raise UsageError(f"{text} is not set in {visible_path(str(locations.settings_file))}")
    _check(name.path, _with(written, name.path, None))
    write_settings(locations.settings_file, {name.path: None})
    print_line(visible(f"{text} is no longer set in {visible_path(str(locations.settings_file))}", lines=False))
    return 0


def _written(locations: Locations) -> dict[str, Any]:
    """Return the values in the settings file, unchecked. Raises UsageError if the file is not valid TOML."""
    file = locations.settings_file
    try:
        text = read_small_file(file).decode()
        return tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as error:
        line, reason = syntax_problem(error, text)
        raise UsageError(f"{file}:{line}: {reason}; `ohw config edit` opens it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the settings in {file}: {error}") from error


def _with(values: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a copy of the values with the one at `path` changed; None removes it."""
    first, *rest = path
    if rest:
        inner = values.get(first)
        value = _with(inner if isinstance(inner, Mapping) else {}, tuple(rest), value)
    changed = {**values, first: value}
    return {name: part for name, part in changed.items() if part is not None}


def _check(path: tuple[str, ...], values: Mapping[str, Any]) -> None:
    """Check the changed setting or, of a table, the changed entry. Raises UsageError if it is invalid."""
    first, *rest = path
    value = values.get(first)
    if value is None:
        return
    if rest and isinstance(value, Mapping):
        value = {rest[0]: value[rest[0]]} if rest[0] in value else {}
    check_setting(first, value)
    if first == "models" and rest and (problem := fallback_problems(values["models"]).get(rest[0])):
        raise UsageError(problem)


def _edit(locations: Locations, arguments: Namespace) -> int:
    """Open the settings file in the user's editor, and report what is invalid in it afterwards."""
    file = locations.settings_file
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(f"not a terminal; the settings are in {file}")
    workspace = workspace_of(arguments)  # whose own programs are no editors
    private_directory(file.parent)
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        ended = run([*shlex.split(command), str(file)], cwd=workspace, is_users=True).returncode
    except (OSError, ValueError) as error:
        raise WorkbenchError(f"{command}: {error}; set EDITOR to your editor") from error
    if ended:
        raise WorkbenchError(f"{Path(command).name} ended with code {ended}")
    return _report(written_settings(locations)[1])


def locate(_: Namespace) -> int:
    """Print the path of each of the user's files and directories, one per line."""
    where = Locations.from_environment()
    rows = {
        "settings": where.settings_file,
        "rules": where.rules_file,
        "themes": where.themes,
        "sessions": where.sessions,
        "logs": where.logs,
        "crashes": crash_directory(where),
        "sockets": where.runtime,
    }
    for name, path in rows.items():
        print_line(f"{name:<10}{visible_path(str(path))}")
    return 0
