"""`ohw batch watch` shows what a run does, and the sessions of its attempts."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from workbench.batch.attempt_files import running_data
from workbench.batch.run_directory import RunDirectory
from workbench.batch.watched_run import WatchedRun
from workbench.cli.common import settings_of
from workbench.client.client import Client
from workbench.client.deferred_client import DeferredClient
from workbench.client.engine_client import EngineClient
from workbench.client.stored_client import NoticeClient, StoredClient
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.engine.launch import Launch
from workbench.errors import UsageError, WorkbenchError
from workbench.processes.spawn import end_process
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store, first_event
from workbench.view.app_session import AppSession
from workbench.view.batch_watch import OpenedAttempt, WatchPosition

_NOTICE = "Ctrl+Q returns to the run"


def batch_watch(arguments: Namespace) -> int:
    """Watch a run until the user quits; sessions that are opened meanwhile are shown in between.

    Raises UsageError if there is no run, or no terminal.
    """
    where, settings = settings_of(arguments, lenient=True)
    directory = RunDirectory(Path(arguments.run))
    directory.check()
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError("not a terminal; `ohw batch report RUN` shows what came of the run")
    if os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("this terminal (TERM=dumb) cannot show a screen; use `ohw batch report RUN`")
    from workbench.tui.start import open_client, open_watch

    data = replace(where, data=running_data(where, directory.options().nonce))
    run, position = WatchedRun(directory, data.sessions), WatchPosition()
    while True:
        code = open_watch(where, settings, run, position)
        if position.opened is None:
            end_process(code)
        code = open_client(where, settings, _session(data, settings, directory.path, position.opened))
        if code > 128:  # a signal, such as that of a closed terminal
            end_process(code)


def _session(data: Locations, settings: Settings, run: Path, opened: OpenedAttempt) -> AppSession:
    """Return the session of an attempt: what is stored of one that has ended, else the running one in `data`."""
    if opened.file is not None:
        workspace = _workspace(opened.file, run)
        return AppSession(NoticeClient(StoredClient(opened.file), _NOTICE), workspace, file=opened.file)
    file = session_path(data, opened.session)
    workspace = _workspace(file, run)

    def client() -> Client:
        launch = Launch(data, settings, opened.session, str(workspace), starts_engine=False)
        return EngineClient(launch)

    return AppSession(NoticeClient(DeferredClient(client), _NOTICE), workspace, file=file)


def _workspace(file: Path, default: Path) -> Path:
    """Return the workspace of a session, which may be gone."""
    try:
        with Store.open(file, readonly=True) as store:
            return Path(first_event(store).workspace)
    except WorkbenchError:
        return default
