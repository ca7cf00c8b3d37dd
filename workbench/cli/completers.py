"""The values that completion in shells offers for each argument; they are read from files, never from an engine.

Completion must be fast while the user types, so this module imports no settings, sessions or tools at the top, and
reads the files itself. If a file cannot be read, its values are missing.
"""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from workbench.cli.command_help import COMMANDS, SUBCOMMANDS
from workbench.config.base_directories import config_directory, data_directory
from workbench.config.setting_kinds import declared
from workbench.config.setting_names import names, parse_name
from workbench.config.table import Settings
from workbench.config.toml_file import read_small_file
from workbench.errors import UsageError
from workbench.rules.rule_text import rule_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Offers: TypeAlias = Iterable[str] | Mapping[str, str]
    Completer: TypeAlias = Callable[[str, argparse.Namespace], Offers]

_SESSION = ".session"


def nothing(_: str, __: argparse.Namespace) -> Offers:
    """Offer nothing: the value is free text."""
    return ()


def paths(prefix: str, _: argparse.Namespace) -> Offers:
    """Offer files and directories; names that start with a dot only after a dot was typed."""
    return _entries(prefix, files=True)


def directories(prefix: str, _: argparse.Namespace) -> Offers:
    """Offer directories."""
    return _entries(prefix, files=False)


def _entries(prefix: str, *, files: bool) -> list[str]:
    """Return the paths that start with the prefix, which may start with `~/`; directories end with a slash."""
    head, slash, tail = prefix.rpartition("/")
    directory = os.path.expanduser(head + slash) or "."  # noqa: PTH111
    try:
        with os.scandir(directory) as entries:
            names = sorted(
                each.name + ("/" if each.is_dir() else "")
                for each in entries
                if (files or each.is_dir()) and each.name.startswith(tail) and each.name.startswith(".") <= bool(tail)
            )
    except OSError:
        return []
    return [head + slash + name for name in names]


def batch_sources(prefix: str, arguments: argparse.Namespace) -> Offers:
    """Offer files and directories with tasks, and the sub-commands of `ohw batch`."""
    names = {name.partition(" ")[2]: about for name, about in SUBCOMMANDS.items() if name.startswith("batch ")}
    return {**names, **dict.fromkeys(paths(prefix, arguments), "")}


def session_ids(_: str, __: argparse.Namespace) -> Offers:
    """Offer the sessions, the most recently changed first."""
    times = {}
    try:
        with os.scandir(data_directory(os.environ) / "sessions") as entries:
            for each in entries:
                if each.name.endswith(_SESSION):
                    times[each.name.removesuffix(_SESSION)] = each.stat().st_mtime
    except OSError:
        return ()
    return sorted(times, key=lambda name: times[name], reverse=True)


def races(_: str, __: argparse.Namespace) -> Offers:
    """Offer the races, the newest first."""
    try:
        return sorted((each.name for each in (data_directory(os.environ) / "races").iterdir()), reverse=True)
    except OSError:
        return ()


def repairable(prefix: str, arguments: argparse.Namespace) -> Offers:
    """Offer sessions, but only after `repair`."""
    return session_ids(prefix, arguments) if getattr(arguments, "action", None) else ()


def models(_: str, __: argparse.Namespace) -> Offers:
    """Offer the saved models, and the model in the settings."""
    settings = _settings()
    offers = {name: str(table.get("model", "")) for name, table in _tables(settings, "models").items()}
    current = settings.get("model")
    return {current: "", **offers} if isinstance(current, str) else offers


def themes(_: str, __: argparse.Namespace) -> Offers:
    """Offer the built-in themes and the user's own."""
    package = Path(__file__).parent.parent
    where = (package / "themes", package.parent / "themes", config_directory(os.environ) / "themes")
    return sorted({path.stem for directory in where for path in directory.glob("*.toml")})


def tools(_: str, __: argparse.Namespace) -> Offers:
    """Offer the built-in tools."""
    from workbench.tools.manifest import BUILTIN_TOOLS, OPTIONAL_TOOLS

    return (*BUILTIN_TOOLS, *OPTIONAL_TOOLS)


def servers(_: str, arguments: argparse.Namespace) -> Offers:
    """Offer the MCP servers of the settings and of the directory's `.mcp.json`."""
    import json

    try:
        own = json.loads(read_small_file(_workspace(arguments) / ".mcp.json"))
    except (OSError, ValueError):
        own = {}
    return {**_tables(_settings(), "mcpServers"), **_tables(own, "mcpServers")}.keys()


def command_of_server(prefix: str, arguments: argparse.Namespace) -> Offers:
    """Offer paths in the command of a new server, after `mcp add NAME`."""
    return paths(prefix, arguments) if (arguments.action, bool(arguments.name)) == ("add", True) else ()


def restored_paths(prefix: str, arguments: argparse.Namespace) -> Offers:
    """Offer paths, but only after the ID of a copy or version to restore them from."""
    return paths(prefix, arguments) if arguments.id else ()


def documents(_: str, __: argparse.Namespace) -> Offers:
    """Offer the OpenAPI documents of the settings."""
    tools = _settings().get("tools")
    return _tables(tools, "openapi").keys()


def setting_names(_: str, __: argparse.Namespace) -> Offers:
    """Offer the names of settings, including those of saved models and kinds of sub-agents."""
    values = _settings()
    entries = {name: parse_name(name, values).setting for name in names(values)}
    return {name: "" if setting is None else setting.about for name, setting in entries.items()}


def setting_values(prefix: str, arguments: argparse.Namespace) -> Offers:
    """Offer the values of the setting named after `config set`."""
    if arguments.action != "set" or not arguments.name:
        return ()
    try:
        name = parse_name(arguments.name, _settings())
    except UsageError:
        return ()
    if name.setting is None:
        return ("yes", "no") if name.path[0] == "tools" else ()
    offer = _BY_SETTING.get(name.path[-1])
    return offer(prefix, arguments) if offer else dict(name.setting.kind.choices)


def rules(_: str, arguments: argparse.Namespace) -> Offers:
    """Offer the rules of the user and of the directory, in one-line notation."""
    files = (config_directory(os.environ) / "rules.toml", _workspace(arguments) / ".ohw" / "rules.toml")
    return [
        _rule(verdict, table)
        for values in map(_read, files)
        for verdict in ("deny", "ask", "allow")
        for table in _list(values.get(verdict))
    ]


def _rule(verdict: str, table: Mapping[str, Any]) -> str:
    """Return the text of a rule. The tool is omitted if there is a command, because that implies the shell."""
    fields = {name: str(table.get(name, "")) for name in ("tool", "path", "content", "command")}
    return rule_text(verdict, **({**fields, "tool": ""} if fields["command"] else fields))


def rules_to_try(prefix: str, arguments: argparse.Namespace) -> Offers:
    """Offer rules after `rules try`, and nothing after `rules test`, whose commands are free text."""
    return rules(prefix, arguments) if getattr(arguments, "action", None) == "try" else ()


def worktrees(_: str, arguments: argparse.Namespace) -> Offers:
    """Offer the branches of the worktrees, but only after `remove`."""
    if getattr(arguments, "action", None) != "remove":
        return ()
    workspace = _workspace(arguments).absolute()
    branches = []
    for directory in (workspace, *workspace.parents):
        for head in directory.glob(".git/worktrees/*/HEAD"):
            try:
                branches.append(read_small_file(head).decode().strip().removeprefix("ref: refs/heads/"))
            except (OSError, ValueError):
                continue
    return sorted(branches)


_FREE_TEXT = (
    *("PROMPT", "COMMAND", "TEXT", "NOTE", "WORDS", "EVENT", "SEQ", "CxR", "N", "DATE", "HASH"),
    *("NAME=VALUE", "NAME:VALUE", "IMAGE", "URL", "HOST", "PORT"),
    *("A,B", "MODEL=N/min", "MINUTES", "ADDRESS"),
)
_BY_METAVAR: Mapping[str, Completer] = {
    **dict.fromkeys(_FREE_TEXT, nothing),
    "DIR": directories,
    "FILE": paths,
    "FILE[:FROM-TO]": paths,
    "ID": session_ids,
    "PATH": paths,
    "RACE": races,
    "RUN": directories,
    "RUN1": directories,
    "RUN2": directories,
    "TASKS": paths,
}
_BY_COMMAND: Mapping[tuple[str, str], Completer] = {
    ("", "prompt"): lambda *_: COMMANDS,
    ("batch", "source"): batch_sources,
    ("config", "name"): setting_names,
    ("config", "value"): setting_values,
    ("decisions", "--rule"): rules,
    ("decisions", "--tool"): tools,
    ("mcp", "name"): servers,
    ("mcp", "words"): command_of_server,
    ("models", "name"): models,
    ("openapi", "name"): documents,
    ("restore", "id"): nothing,
    ("restore", "paths"): restored_paths,
    ("rules", "--tool"): tools,
    ("rules", "commands"): rules_to_try,
    ("sandbox", "program"): paths,
    ("sessions", "id"): repairable,
    ("worktree", "name"): worktrees,
}
_BY_SETTING: Mapping[str, Completer] = {"model": models, "theme": themes}


def completer_for(command: str, action: argparse.Action) -> Completer:
    """Return the completer of an argument of a command. Raises KeyError if no completer is defined for it."""
    name = action.option_strings[-1] if action.option_strings else action.dest
    if action.choices is not None:
        return _listed(dict.fromkeys(map(str, action.choices), ""))
    if (command, name) in _BY_COMMAND:
        return _BY_COMMAND[command, name]
    setting = declared(Settings).get(action.dest)
    if setting is not None and setting.flag == name:
        return _BY_SETTING.get(action.dest) or _listed(dict(setting.kind.choices))
    return _BY_METAVAR[str(action.metavar)]


def _listed(choices: Mapping[str, str]) -> Completer:
    return lambda *_: choices


def _workspace(arguments: argparse.Namespace) -> Path:
    return Path(getattr(arguments, "workspace", None) or ".")


def _settings() -> Mapping[str, Any]:
    return _read(config_directory(os.environ) / "settings.toml")


def _read(path: Path) -> Mapping[str, Any]:
    """Return the values of a TOML file; empty if it cannot be read."""
    try:
        return tomllib.loads(read_small_file(path).decode())
    except (OSError, ValueError):
        return {}


def _tables(values: object, name: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the tables inside the table `name`, without entries of other types."""
    tables = values.get(name) if isinstance(values, Mapping) else None
    entries = tables.items() if isinstance(tables, Mapping) else ()
    return {key: value for key, value in entries if isinstance(value, Mapping)}


def _list(values: object) -> list[Mapping[str, Any]]:
    return [each for each in values if isinstance(each, Mapping)] if isinstance(values, list) else []
