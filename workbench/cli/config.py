"""`ohw config` prints every setting with its value and origin; `ohw locate` prints the paths of the user's files."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping

from workbench.cli.common import print_error, print_line, settings_of
from workbench.config.locations import Locations
from workbench.config.setting_kinds import Setting, declared
from workbench.config.settings import Settings, origin_of, written_settings
from workbench.text import visible, visible_path


def config(arguments: Namespace) -> int:
    """Print one line for each setting, and each problem of the file on stderr; return 1 if there are problems."""
    locations, settings = settings_of(arguments, lenient=True)
    written, problems = written_settings(locations)
    rows = [
        (name, _value(each, getattr(settings, name)), origin_of(name, settings, os.environ, is_written=name in written))
        for name, each in declared(Settings).items()
    ]
    width = max(len(name) for name, *_ in rows)
    for name, value, origin in rows:
        print_line(visible(f"{name:<{width}}  {value or '–'}  ({origin})", lines=False))
    for problem in problems:
        print_error(visible(problem, lines=False))
    return 1 if problems else 0


def _value(setting: Setting, value: object) -> str:
    """Return the value in one line: for a table the names of its entries, for a secret only whether it is set."""
    if isinstance(value, Mapping):
        return ", ".join(value)
    if setting.is_secret:
        return "set, not shown" if value else ""
    return setting.kind.show(value) if value is not None else ""


def locate(_: Namespace) -> int:
    """Print the path of each of the user's files and directories, one per line."""
    where = Locations.from_environment()
    rows = {
        "settings": where.settings_file,
        "rules": where.rules_file,
        "themes": where.themes,
        "sessions": where.sessions,
        "logs": where.logs,
        "sockets": where.runtime,
    }
    for name, path in rows.items():
        print_line(f"{name:<10}{visible_path(str(path))}")
    return 0
