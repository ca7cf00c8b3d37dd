"""What the commands share: settings, folder and session from the arguments, and words to the person."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config.locations import Locations
from workbench.config.setting import declared
from workbench.config.settings import Settings, load_settings
from workbench.errors import UsageError
from workbench.processes.start import keep_out_of

if TYPE_CHECKING:
    from workbench.session.storage.catalog import SessionSummary


def settings_of(arguments: Namespace, *, lenient: bool = False) -> tuple[Locations, Settings]:
    """The places, and the settings with what the arguments change in them."""
    where = Locations.from_environment()
    flags = {name: getattr(arguments, name) for name, each in declared(Settings).items() if each.flag}
    settings = load_settings(where, lenient=lenient, **flags)
    from workbench.tools.trust import agreed

    return where, replace(settings, trusted=(*settings.trusted, *agreed(where, settings.trusted)))


def workspace_of(arguments: Namespace) -> Path:
    """The folder to work in; raises UsageError where there is none."""
    folder = Path(arguments.workspace or ".").expanduser()
    if arguments.workspace == "":
        raise UsageError("--workspace is empty; give a folder")
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"the folder {folder} {what}; give another one with --workspace")
    found = folder.resolve()
    keep_out_of(found)
    return found


def chosen_session(where: Locations, arguments: Namespace) -> SessionSummary:
    """The session that is meant: by its id, the last one of this folder, or of all. Raises UsageError."""
    from workbench.session.storage.catalog import find_session, last_session

    if arguments.id and arguments.last:
        raise UsageError("give an ID or --last, not both")
    if arguments.id:
        return find_session(where, arguments.id)
    folder = None if arguments.last else workspace_of(arguments)
    found = last_session(where, folder)
    if found is None:
        here = "no session yet" if folder is None else f"no session in {folder} yet"
        raise UsageError(f"there is {here}; `ohw sessions` lists all")
    return found


def print_line(text: str) -> None:
    """A line for whoever reads the output."""
    sys.stdout.write(text + "\n")


def print_error(text: str) -> None:
    """A line beside the output."""
    sys.stderr.write(f"ohw: {text}\n")
