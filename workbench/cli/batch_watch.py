"""`ohw batch watch` shows what a run does, and the sessions of its attempts."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import NoReturn

from workbench.batch.run_directory import RunDirectory
from workbench.batch.watched_run import WatchedRun
from workbench.cli.common import settings_of
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import UsageError
from workbench.processes.spawn import end_process
from workbench.view.attempt_session import attempt_session, data_of_run
from workbench.view.batch_watch import WatchPosition

_NOTICE = "Ctrl+Q returns to the run"


def batch_watch(arguments: Namespace) -> int:
    """Watch a run until the user quits; sessions that are opened meanwhile are shown in between.

    Raises UsageError if there is no run, or no terminal.
    """
    where, settings = settings_of(arguments, lenient=True)
    directory = RunDirectory(Path(arguments.run))
    directory.check()
    watch_run(where, settings, directory, "`ohw batch report RUN` shows what came of the run")


def watch_run(where: Locations, settings: Settings, directory: RunDirectory, instead: str) -> NoReturn:
    """Watch a run, and end the process with the exit code of the screen.

    Raises UsageError without a terminal; `instead` says what to use there.
    """
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError(f"not a terminal; {instead}")
    if os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError(f"this terminal (TERM=dumb) cannot show a screen; {instead}")
    from workbench.tui.start import open_client, open_watch

    data = data_of_run(where, directory)
    run, position = WatchedRun(directory, data.sessions), WatchPosition()
    while True:
        code = open_watch(where, settings, run, position)
        if position.opened is None:
            end_process(code)
        session = attempt_session(data, settings, directory.path, position.opened, _NOTICE)
        code = open_client(where, settings, session)
        if code > 128:  # a signal, such as that of a closed terminal
            end_process(code)
