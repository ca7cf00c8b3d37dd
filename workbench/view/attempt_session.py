"""The session of an attempt, to be shown in place of the app or of its session."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from workbench.batch.attempt_files import running_data
from workbench.batch.run_directory import RunDirectory
from workbench.client.client import Client
from workbench.client.deferred_client import DeferredClient
from workbench.client.engine_client import EngineClient
from workbench.client.stored_client import NoticeClient, StoredClient
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.engine.launch import Launch
from workbench.errors import WorkbenchError
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store, first_event
from workbench.view.app_session import AppSession
from workbench.view.batch_watch import OpenedAttempt


def data_of_run(locations: Locations, directory: RunDirectory) -> Locations:
    """Return where the sessions of a run's attempts are on this machine while they run. Raises WorkbenchError."""
    return replace(locations, data=running_data(locations, directory.options().nonce))


def attempt_session(data: Locations, settings: Settings, run: Path, opened: OpenedAttempt, notice: str) -> AppSession:
    """Return the session of an attempt: what is stored of one that has ended, else the running one in `data`.

    `notice` is shown first.
    """
    if opened.file is not None:
        workspace = _workspace(opened.file, run)
        client = NoticeClient(StoredClient(opened.file), notice)
        return AppSession(client, workspace, file=opened.file, elsewhere=replace(data, data=run))
    file = session_path(data, opened.session)
    workspace = _workspace(file, run)

    def connect() -> Client:
        launch = Launch(data, settings, opened.session, str(workspace), starts_engine=False)
        return EngineClient(launch)

    return AppSession(NoticeClient(DeferredClient(connect), notice), workspace, file=file, elsewhere=data)


def _workspace(file: Path, default: Path) -> Path:
    """Return the workspace of a session, which may be gone."""
    try:
        with Store.open(file, readonly=True) as store:
            return Path(first_event(store).workspace)
    except WorkbenchError:
        return default
