"""Opens the screen on a session and prints a farewell afterwards; called by the commands."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from workbench.client.client import Client
from workbench.client.deferred_client import DeferredClient
from workbench.config.devcontainer import files_of_project
from workbench.config.locations import Locations
from workbench.config.modes import NEVER
from workbench.config.settings import NO_MODEL, Settings, read_container, wants_never, without_never
from workbench.demo import DEMO_MODEL, DEMO_PROMPT, DEMO_RULES, copy_demo
from workbench.files.state_files import on_own_write
from workbench.processes.spawn import keep_out_of
from workbench.protocol.commands import NoteWritten
from workbench.secrets.secret_names import PASSED_ON
from workbench.session.session_names import session_path, state_directory, unsent_directory
from workbench.tools.trust import refreshed
from workbench.tui.app import WorkbenchApp
from workbench.tui.palette_entries import PastSession
from workbench.tui.session_switcher import SessionSources
from workbench.tui.settings.apply import apply_settings
from workbench.tui.settings.providers import Way, ways
from workbench.tui.settings.settings_model import SettingsModel
from workbench.tui.textual_seam.crash import print_instead_of_traceback
from workbench.view.app_session import AppSession
from workbench.view.approval.never_ask import NeverAskQuestion
from workbench.view.approval.trust import trust_question
from workbench.view.farewell import farewell
from workbench.view.state import SessionState

if TYPE_CHECKING:
    from workbench.batch.watched_run import WatchedRun
    from workbench.client.remote_client import RemoteClient
    from workbench.client.ssh_url import SshUrl
    from workbench.view.batch_watch import WatchPosition

_TURN = 0.001
"""Switch interval of threads, in seconds; short, because keys are read and frames written in other threads."""
_SESSION_FLAGS = ("model", "mode", "max_steps", "api_base")
_SIZE = ("COLUMNS", "LINES")
"""Variables removed from the environment: Python, Rich and Textual would prefer them to the terminal's real size."""


def open_screen(
    locations: Locations,
    settings: Settings,
    workspace: Path,
    *,
    prompt: str = "",
    session_id: str | None = None,
    demo: bool = False,
    remote: RemoteClient | None = None,
    new_id: str = "",
    is_viewer: bool = False,
    ends_run: bool = True,
    race: str = "",
) -> int:
    """Show a new session, `session_id`, the demo or a `remote` session until the app ends; return its exit code.

    The engine starts after the first frame, except on another machine. A new session gets `new_id` as its id, or one of
    its own. A viewer can do nothing to its session. A signal, such as that of a closed terminal, ends the run too,
    unless `ends_run` is false. `race` is the name of a race to show first.
    """
    _prepare_process(locations)
    PASSED_ON.set(settings.pass_env)
    opener = Opener(locations, settings, new_ids=[new_id] if new_id else [], is_viewer=is_viewer)
    session = opener.demo() if demo else opener.session(workspace, prompt, session_id, remote)
    settings_model = SettingsModel(locations, settings)
    app = WorkbenchApp(
        msgspec.structs.replace(session, race=race),
        settings,
        SessionSources() if is_viewer else opener.sources(workspace),
        themes=locations.themes,
        history=None if is_viewer else locations.prompt_history,  # prompts of all sessions
        settings_file=locations.settings_file,
        settings_model=settings_model,
    )
    settings_model.subscribe(opener.update_settings)
    settings_model.subscribe(partial(apply_settings, app))
    _follow_writes(app, locations)
    code = app.run(mouse=bool(settings.terminal.get("mouse", True)))
    _leave(app, locations, ends_run=ends_run)
    return code if code is not None else app.return_code or 0


def open_client(locations: Locations, settings: Settings, session: AppSession) -> int:
    """Show one session through its own client until the app ends; return its exit code.

    The session continues as it would without the screen, and no other one can be opened from it. The process may open
    other screens afterwards.
    """
    _prepare_process(locations)
    app = WorkbenchApp(
        session,
        settings,
        themes=locations.themes,
        settings_file=locations.settings_file,
        settings_model=SettingsModel(locations, settings),
    )
    code = app.run(mouse=bool(settings.terminal.get("mouse", True)))
    if session.client is not None:
        session.client.close()
    return code if code is not None else app.return_code or 0


def open_watch(locations: Locations, settings: Settings, run: WatchedRun, position: WatchPosition) -> int:
    """Show what a run does until the app ends, and return its exit code; `position.opened` is what to show next."""
    from workbench.tui.batch_watch_app import BatchWatchApp

    _prepare_process(locations)
    app = BatchWatchApp(run, position, settings, themes=locations.themes, settings_file=locations.settings_file)
    code = app.run(mouse=bool(settings.terminal.get("mouse", True)))
    return code if code is not None else app.return_code or 0


def _leave(app: WorkbenchApp, locations: Locations, *, ends_run: bool) -> None:
    """Close the client, which stops the run after a signal if `ends_run`, and print how to resume the session."""
    if app.session.client is not None:
        by_signal = app.return_code is not None and app.return_code > 128
        app.session.client.close(stop=by_signal and ends_run)
    message = farewell(locations, app.state)
    if message:
        sys.stdout.write(message + "\n")


def _crash_line(locations: Locations, error: BaseException) -> str:
    from workbench.files.crash_reports import crash_line

    return crash_line("screen", error, locations)


def _follow_writes(app: WorkbenchApp, locations: Locations) -> None:
    on_own_write(partial(_notify_engine, app, locations.compared))


def _notify_engine(app: WorkbenchApp, compared: Sequence[Path], path: str, digest: bytes) -> None:
    """Tell the engine that the screen writes a file of settings or approvals, which the engine compares."""
    client = app.session.client
    if client is not None and any(Path(path).is_relative_to(directory) for directory in compared):
        client.send(NoteWritten(path=path, digest=digest.hex()))


def _prepare_process(locations: Locations) -> None:
    """Configure the process: crashes, thread switching, environment variables and garbage collection."""
    print_instead_of_traceback(partial(_crash_line, locations))
    sys.setswitchinterval(_TURN)
    for name in _SIZE:
        os.environ.pop(name, None)
    gc.freeze()  # the objects loaded so far stay, so the collector need not visit them while the screen is painted


def _without_session_flags(settings: Settings) -> Settings:
    """Return the settings for a session that the flags do not apply to; the flag's URL is not that of its model."""
    from_flags = tuple(name for name in settings.from_flags if name not in _SESSION_FLAGS)
    api_base = None if "api_base" in settings.from_flags else settings.api_base
    return replace(settings, from_flags=from_flags, api_base=api_base)


@dataclass
class Opener:
    """Opens sessions; the engine of a session starts when its client is first asked for the history."""

    locations: Locations
    settings: Settings
    refused: set[str] = field(default_factory=set)
    """Hashes of the directory contents that the user has refused to trust; kept until the process ends."""
    new_ids: list[str] = field(default_factory=list)
    """The ids for the next new sessions; without any, each gets one of its own."""
    is_viewer: bool = False

    def update_settings(self, settings: Settings) -> None:
        """Use these settings for sessions that are opened from now on."""
        self.settings = settings

    def sources(self, workspace: Path) -> SessionSources:
        """Return the functions that open sessions; new sessions begin in this workspace."""
        return SessionSources(
            demo=self.demo,
            start=partial(self.on_model, workspace=workspace),
            new=partial(self.like, workspace),
            at=self.in_directory,
            there=self.on_machine,
            shell=partial(self.without_model, workspace),
            ways=self.ways,
            sessions=self.past,
            resume=self.resume,
            fork=self.fork,
        )

    def session(
        self, workspace: Path, prompt: str = "", session_id: str | None = None, remote: RemoteClient | None = None
    ) -> AppSession:
        """Return a new session, the existing one with that id, or that on another machine.

        A new one has no client if no model is set.
        """
        if remote is not None:
            return self.remote(remote, prompt)
        unsent = None if session_id or prompt else unsent_directory(self.locations, workspace)
        if not (self.settings.model or session_id):
            return AppSession(None, workspace, prompt, unsent=unsent)
        keep_out_of(workspace)
        if self.is_viewer:
            return AppSession(DeferredClient(lambda: self._client(self.settings, workspace, "", session_id)), workspace)
        trusted = refreshed(self.locations, self.settings.trusted)
        files = files_of_project(read_container(self.settings.container), workspace)
        asked = trust_question(self.locations, workspace, trusted, self.refused, files)
        never_ask = NeverAskQuestion() if wants_never(self.settings, is_new=session_id is None) else None

        def client() -> Client:
            answer = asked.wait() if asked is not None else ()
            settings = replace(self.settings, trusted=(*refreshed(self.locations, self.settings.trusted), *answer))
            if never_ask is not None and not never_ask.wait():
                settings = without_never(settings)
            return self._client(settings, workspace, prompt, session_id)

        return AppSession(
            DeferredClient(client),
            workspace,
            prompt,
            asked,
            never_ask,
            partial(state_directory, self.locations),
            unsent,
        )

    def on_model(self, name: str, workspace: Path) -> AppSession:
        """Return a new session with the named model. Raises WorkbenchError if it cannot be used, e.g. without a key."""
        from workbench.session.model_keys import SessionModels

        settings = replace(self.settings, model=name)
        SessionModels(settings, dict(os.environ)).open_chosen(name).close()
        return replace(self, settings=settings).session(workspace)

    def like(self, start: Path, state: SessionState) -> AppSession:
        """Return a new session with the directory, model and mode of another; after the demo, an ordinary one in
        `start`.

        The mode that never asks is not copied.
        """
        if origin := self._origin(state):
            from workbench.client.ssh_url import SshUrl

            return self.on_machine(state, SshUrl.parse(origin), "")
        return self.session(start) if state.scripted else self.in_directory(state, Path(state.workspace))

    def in_directory(self, state: SessionState, directory: Path) -> AppSession:
        """Return a new session in a directory, with the model and mode of another; not with the mode that never asks.

        The demo's model is not copied either.
        """
        if state.scripted:
            return self.session(directory)
        model = self.settings.model if state.model in ("", NO_MODEL) else state.model
        mode = self.settings.mode if state.mode == NEVER else state.mode
        return replace(self, settings=replace(self.settings, model=model, mode=mode)).session(directory)

    def without_model(self, workspace: Path) -> AppSession:
        """Return a new session without a model, for the user's own commands; a model can be chosen for it later."""
        return replace(self, settings=replace(self.settings, model=NO_MODEL)).session(workspace)

    def ways(self) -> list[Way]:
        """Return the models to start with: saved models, and those of providers and of servers on this machine."""
        return list(ways(self.settings))

    def demo(self) -> AppSession:
        """Return a session with the scripted model in a fresh copy of the demo project. Raises UsageError."""
        workspace = copy_demo()
        settings = replace(self.settings, model=DEMO_MODEL, tools={}, mcpServers={}, hooks=(), rules=DEMO_RULES)
        if wants_never(settings, is_new=True):
            settings = without_never(settings)  # the demo shows how approvals are asked for
        return AppSession(
            DeferredClient(lambda: self._client(settings, workspace, "demo", None)),
            workspace,
            DEMO_PROMPT,
            scripted=DEMO_MODEL,
        )

    def past(self) -> list[PastSession]:
        """Return the sessions that can be resumed, last used first, except damaged ones and those with a parent."""
        from workbench.session.storage.session_list import list_sessions
        from workbench.view import clock
        from workbench.view.formatting.sessions import when

        return [
            PastSession(each.id, each.title, f"{when(each.updated, clock.now())} · {Path(each.workspace).name}")
            for each in list_sessions(self.locations)
            if not each.damaged and not each.parent
        ]

    def resume(self, name: str) -> AppSession:
        """Return the session with that id. Raises UsageError if there is none.

        The flags of this start are for the session that it opened first, so this one keeps its own settings.
        """
        from workbench.session.storage.session_list import find_session

        entry = find_session(self.locations, name)
        if entry.origin:
            from workbench.client.remote_client import copied_session

            return self.remote(copied_session(self.locations, entry.id, entry.origin, {}, may_ask=False))
        workspace = Path(entry.workspace)
        return replace(self, settings=_without_session_flags(self.settings)).session(workspace, session_id=name)

    def fork(self, name: str, event: int | None) -> AppSession:
        """Return a fork of the session with that id, from a checkpoint or its end. Raises WorkbenchError."""
        from workbench.session.forks import fork_at

        return self.resume(fork_at(self.locations, name, event).id)

    def remote(self, client: RemoteClient, prompt: str = "") -> AppSession:
        """Return a session on another machine, to which the client is connected."""
        url = client.session.url
        keep = partial(state_directory, self.locations)
        return AppSession(client, url.display_path, prompt, keep=keep, url=url, machine=url.destination_in_url)

    def _origin(self, state: SessionState) -> str:
        """Return the URL of a session that is on another machine."""
        from workbench.session.storage.origin import origin_of

        return origin_of(session_path(self.locations, state.session_id)) if state.session_id else ""

    def on_machine(self, state: SessionState, url: SshUrl, session_id: str) -> AppSession:
        """Return the session with that id in a directory on another machine.

        For "", return a new one with the model and mode of another; not with the mode that never asks.
        """
        from workbench.client.remote_client import named_session, new_session

        if session_id:
            return self.remote(named_session(self.locations, url, session_id, {}, may_ask=False))
        flags = {"model": state.model, "mode": Settings().mode if state.mode == NEVER else state.mode}
        flags = {name: value for name, value in flags.items() if value}
        return self.remote(new_session(self.locations, url, "", flags, may_ask=False))

    def _client(self, settings: Settings, workspace: Path, hint: str, session_id: str | None) -> Client:
        from workbench.client.engine_client import EngineClient
        from workbench.engine.launch import Launch
        from workbench.session.session_names import new_id

        name = session_id or (self.new_ids.pop() if self.new_ids else new_id(hint or workspace.name))
        launch = Launch(self.locations, settings, name, str(workspace), is_new=session_id is None)
        return EngineClient(launch, is_viewer=self.is_viewer)
