"""Opens the screen on a session and prints a farewell afterwards; called by the commands."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from workbench.client.client import Client
from workbench.client.deferred_client import DeferredClient
from workbench.config.locations import Locations
from workbench.config.modes import NEVER
from workbench.config.settings import NO_MODEL, Settings
from workbench.demo import DEMO_MODEL, DEMO_PROMPT, DEMO_RULES, copy_demo
from workbench.files.state_files import on_own_write
from workbench.processes.spawn import keep_out_of
from workbench.protocol.commands import NoteWritten
from workbench.secrets.secret_names import PASSED_ON
from workbench.session.session_names import state_directory, unsent_directory
from workbench.tools.trust import refreshed
from workbench.tui.app import WorkbenchApp
from workbench.tui.palette_entries import PastSession
from workbench.tui.session_switcher import SessionSources
from workbench.tui.settings.apply import apply_settings
from workbench.tui.settings.providers import Way, ways
from workbench.tui.settings.settings_model import SettingsModel
from workbench.view.app_session import AppSession
from workbench.view.approval.never_ask import NeverAskQuestion, wants_never, without_never
from workbench.view.approval.trust import trust_question
from workbench.view.farewell import farewell
from workbench.view.state import SessionState

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
) -> int:
    """Show a new session, the session `session_id` or the demo until the app ends, and return the exit code.

    The engine starts after the first frame.
    """
    _prepare_process()
    PASSED_ON.set(settings.pass_env)
    opener = Opener(locations, settings)
    session = opener.demo() if demo else opener.session(workspace, prompt, session_id)
    settings_model = SettingsModel(locations, settings)
    app = WorkbenchApp(
        session,
        settings,
        opener.sources(workspace),
        themes=locations.themes,
        history=locations.prompt_history,
        settings_file=locations.settings_file,
        settings_model=settings_model,
    )
    settings_model.subscribe(opener.update_settings)
    settings_model.subscribe(partial(apply_settings, app))
    compared = tuple(Path(os.path.realpath(each)) for each in (locations.config, locations.data / "mcp"))
    on_own_write(partial(_notify_engine, app, compared))
    code = app.run(mouse=bool(settings.terminal.get("mouse", True)))
    if app.session.client is not None:
        app.session.client.close(stop=app.return_code is not None and app.return_code > 128)  # a signal ended it
    message = farewell(locations, app.state)
    if message:
        sys.stdout.write(message + "\n")
    return code if code is not None else app.return_code or 0


def _notify_engine(app: WorkbenchApp, compared: Sequence[Path], path: str, digest: bytes) -> None:
    """Tell the engine that the screen writes a file of settings or approvals, which the engine compares."""
    client = app.session.client
    if client is not None and any(Path(path).is_relative_to(directory) for directory in compared):
        client.send(NoteWritten(path=path, digest=digest.hex()))


def _prepare_process() -> None:
    """Configure the process: thread switching, environment variables and garbage collection."""
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

    def update_settings(self, settings: Settings) -> None:
        """Use these settings for sessions that are opened from now on."""
        self.settings = settings

    def sources(self, workspace: Path) -> SessionSources:
        """Return the functions that open sessions; new sessions begin in this workspace."""
        return SessionSources(
            demo=self.demo,
            start=partial(self.on_model, workspace=workspace),
            new=partial(self.like, workspace),
            shell=partial(self.without_model, workspace),
            ways=self.ways,
            sessions=self.past,
            resume=self.resume,
            fork=self.fork,
        )

    def session(self, workspace: Path, prompt: str = "", session_id: str | None = None) -> AppSession:
        """Return a new session, or the existing one with that id; a new one has no client if no model is set."""
        unsent = None if session_id or prompt else unsent_directory(self.locations, workspace)
        if not (self.settings.model or session_id):
            return AppSession(None, workspace, prompt, unsent=unsent)
        keep_out_of(workspace)
        trusted = refreshed(self.locations, self.settings.trusted)
        asked = trust_question(self.locations, workspace, trusted, self.refused)
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
        SessionModels(settings, dict(os.environ)).open(name).close()
        return replace(self, settings=settings).session(workspace)

    def like(self, start: Path, state: SessionState) -> AppSession:
        """Return a new session with the directory, model and mode of another; after the demo, an ordinary one in
        `start`.

        The mode that never asks is not copied.
        """
        if state.scripted:
            return self.session(start)
        model = self.settings.model if state.model == NO_MODEL else state.model
        mode = self.settings.mode if state.mode == NEVER else state.mode
        settings = replace(self.settings, model=model, mode=mode)
        return replace(self, settings=settings).session(Path(state.workspace))

    def without_model(self, workspace: Path) -> AppSession:
        """Return a new session without a model, for the user's own commands; a model can be chosen for it later."""
        return replace(self, settings=replace(self.settings, model=NO_MODEL)).session(workspace)

    def ways(self) -> list[Way]:
        """Return the models to start with, from profiles, servers on this machine, and keys in the environment."""
        return list(ways(self.settings))

    def demo(self) -> AppSession:
        """Return a session with the scripted model in a fresh copy of the demo project. Raises UsageError."""
        workspace = copy_demo()
        settings = replace(self.settings, model=DEMO_MODEL, tools={}, mcpServers={}, rules=DEMO_RULES)
        if wants_never(settings, is_new=True):
            settings = without_never(settings)  # the demo shows how approvals are asked for
        return AppSession(
            DeferredClient(lambda: self._client(settings, workspace, "demo", None)), workspace, DEMO_PROMPT
        )

    def past(self) -> list[PastSession]:
        """Return the sessions that can be resumed, last used first, except damaged ones and those with a parent."""
        from workbench.session.storage.session_list import list_sessions

        return [
            PastSession(
                each.id, each.title, f"{each.updated.astimezone():%Y-%m-%d %H:%M} · {Path(each.workspace).name}"
            )
            for each in list_sessions(self.locations)
            if not each.damaged and not each.parent
        ]

    def resume(self, name: str) -> AppSession:
        """Return the session with that id. Raises UsageError if there is none.

        The flags of this start are for the session that it opened first, so this one keeps its own settings.
        """
        from workbench.session.storage.session_list import find_session

        workspace = Path(find_session(self.locations, name).workspace)
        return replace(self, settings=_without_session_flags(self.settings)).session(workspace, session_id=name)

    def fork(self, name: str, event: int | None) -> AppSession:
        """Return a fork of the session with that id, from a checkpoint or its end. Raises WorkbenchError."""
        from workbench.session.forks import fork_at

        return self.resume(fork_at(self.locations, name, event).id)

    def _client(self, settings: Settings, workspace: Path, hint: str, session_id: str | None) -> Client:
        from workbench.client.engine_client import EngineClient
        from workbench.engine.launch import Launch
        from workbench.session.session_names import new_id

        name = session_id or new_id(hint or workspace.name)
        return EngineClient(Launch(self.locations, settings, name, str(workspace), is_new=session_id is None))
