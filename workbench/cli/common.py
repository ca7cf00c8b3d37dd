"""Functions shared by the commands: they determine settings, directory and session from the
arguments, and print lines.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config.locations import Locations
from workbench.config.setting_kinds import declared
from workbench.config.settings import Settings, load_settings, origin_of
from workbench.errors import UsageError, WorkbenchError
from workbench.processes.spawn import keep_out_of

if TYPE_CHECKING:
    from workbench.session.storage.session_list import SessionSummary

_DATE_LENGTH = 8
"""The number of digits of the date with which session IDs start; a number with fewer digits is no such prefix."""


def settings_of(arguments: Namespace, *, lenient: bool = False) -> tuple[Locations, Settings]:
    """Return the user's directories, and the settings with the flags applied.

    Raises UsageError if a setting is invalid; if `lenient`, invalid settings of the file are reported in `problems`
    instead.
    """
    where = Locations.from_environment()
    flags = {name: getattr(arguments, name) for name, each in declared(Settings).items() if each.flag}
    settings = load_settings(where, lenient=lenient, **flags)
    from workbench.tools.trust import refreshed

    return where, replace(settings, trusted=refreshed(where, settings.trusted))


def check_models(settings: Settings, *names: str) -> None:
    """Raise ModelError if no provider is known for one of these models or, without names, for that of `--model`.

    Without names, the model in the settings file or the environment is not checked: the session that opens with it
    reports it, and the user can replace it there.
    """
    names = names or ((settings.model,) if settings.model and "model" in settings.from_flags else ())
    if names:
        from workbench.llm.factory import check_provider

        for name in names:
            check_provider(settings.profile(name), settings.models)


def check_default_model(settings: Settings) -> None:
    """Raise WorkbenchError if no provider is known for the model that is set; the message begins with what sets it."""
    if not settings.model:
        return
    try:
        check_models(settings, settings.model)
    except WorkbenchError as error:
        if "model" in settings.from_flags:
            raise
        origin = origin_of("model", settings, os.environ, is_written=True)
        where = "settings.toml" if origin == "your file" else origin
        raise WorkbenchError(f"{where}: {error}") from None


def workspace_of(arguments: Namespace) -> Path:
    """Return the directory to work in. Raises UsageError if it does not exist or is not a directory."""
    workspace = Path(arguments.workspace or ".").expanduser()
    if arguments.workspace == "":
        raise UsageError("--workspace is empty; give a directory")
    if not workspace.is_dir():
        problem = "is not a directory" if workspace.exists() else "does not exist"
        raise UsageError(f"the directory {workspace} {problem}; give another one with --workspace")
    resolved = workspace.resolve()
    keep_out_of(resolved)
    return resolved


def resolve_event(where: Locations, arguments: Namespace) -> None:
    """If the only argument is a short number and no session has that ID, treat it as the event, not as the session."""
    number = arguments.id or ""
    if arguments.event is None and number.isascii() and number.isdecimal() and len(number) < _DATE_LENGTH:
        from workbench.session.session_names import session_path

        if not session_path(where, number).exists():
            arguments.id, arguments.event = None, int(number)


def chosen_session(where: Locations, arguments: Namespace) -> SessionSummary:
    """Return the session with the given ID, or the last one of this directory or, with `--last`, of any directory.

    Raises UsageError if there is none.
    """
    from workbench.session.storage.session_list import find_session, last_session

    if arguments.id and arguments.last:
        raise UsageError("give an ID or --last, not both")
    if arguments.id:
        return find_session(where, arguments.id)
    workspace = None if arguments.last else workspace_of(arguments)
    session = last_session(where, workspace)
    if session is None:
        none = "no session yet" if workspace is None else f"no session in {workspace} yet"
        raise UsageError(f"there is {none}; `ohw sessions` lists all")
    return session


def print_line(text: str) -> None:
    """Print a line to standard output."""
    sys.stdout.write(text + "\n")


def print_error(text: str) -> None:
    """Print a line to standard error."""
    sys.stderr.write(f"ohw: {text}\n")
