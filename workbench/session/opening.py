"""Puts a session together: lock, file, tools, model, agent; used by the engine and the headless command."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from workbench import __version__
from workbench.agent.agent import Agent
from workbench.agent.completion import ModelCompletion
from workbench.agent.skills import Skill, skills_of
from workbench.config import Locations, Settings, private_folder
from workbench.errors import UsageError
from workbench.llm.model import ToolChoice
from workbench.llm.router import is_scripted
from workbench.session.events import (
    Event,
    LiveEvent,
    Mode,
    SessionStarted,
    SettingsChanged,
    UserMessage,
    event_from_json,
)
from workbench.session.limits import Limits
from workbench.session.lock import SessionLock
from workbench.session.models import SessionModels
from workbench.session.names import session_path, state_folder
from workbench.session.session import Session
from workbench.session.store import Store, StoreError, delete_file
from workbench.text import first_line
from workbench.tools.selection import Selection, select_tools
from workbench.tools.tool import ToolContext

logger = logging.getLogger(__name__)
_WAIT_FOR_LOCK = 3.0  # seconds: an engine that is just ending gives the session free
OnEvent = Callable[[Event], None]
OnLive = Callable[[LiveEvent], None]


@dataclass(frozen=True)
class Equipment:
    """What the agent of a session works with, beside its model."""

    selection: Selection
    complete: ModelCompletion
    """Brings those tools that need one to the session's model."""
    skills: Sequence[Skill]


@dataclass
class OpenedSession:
    """A session ready to be driven, with everything it holds; `close` gives it all back."""

    id: str
    session: Session
    model_name: str
    """The model's name as litellm writes it."""
    notices: tuple[str, ...]
    """What the person should know from the start, a line each: tools that were left out."""
    _store: Store
    _resources: ExitStack

    @property
    def last_seq(self) -> int:
        """The number of the last event on disk."""
        return self._store.last_seq

    def events(self, after: int = 0) -> Iterator[Event]:
        """The events on disk behind `after`."""
        return self._store.events(after)

    def fail(self, reason: str) -> None:
        """A step failed through a fault of ours: the run ends with one line, the session lives on."""
        try:
            self.session.fail(first_line(f"a fault of the workbench itself, see its log: {reason}", 300))
        except StoreError:
            logger.exception("the end of the run could not be written")

    def close(self) -> None:
        """End children, close the file (an empty session is deleted) and give the lock back; twice is fine."""
        self._resources.close()


def start_session(
    locations: Locations,
    settings: Settings,
    workspace: Path,
    session_id: str,
    *,
    on_event: OnEvent,
    on_live: OnLive,
) -> OpenedSession:
    """A new session in that folder; raises UsageError, ModelError, StoreError or SessionInUse with one line each."""
    folder = checked_workspace(workspace)
    path = session_path(locations, session_id)
    private_folder(path.parent)
    models = SessionModels(settings)
    models.open(settings.model).close()  # a bad name makes no file
    profile = models.profile(settings.model or "")
    with ExitStack() as resources:
        resources.callback(SessionLock.take(path).release)
        store = resources.enter_context(Store.create(path))
        resources.callback(_remove_if_empty, store, state_folder(locations, session_id))
        equipment = _equip(resources, locations, settings, folder, session_id)
        started = SessionStarted(
            id=session_id,
            workspace=str(folder),
            model=settings.model or "",
            mode=cast(Mode, settings.mode),
            tools=tuple(equipment.selection.tools),
            app_version=__version__,
            api_base=None if models.is_named(profile.name) else profile.api_base,
            scripted=is_scripted(profile.model),
        )
        (first,) = store.append(started)
        on_event(first)
        return _put_together(resources, models, started, store, equipment, on_event=on_event, on_live=on_live)


def open_session(
    locations: Locations, settings: Settings, session_id: str, *, on_event: OnEvent, on_live: OnLive
) -> OpenedSession:
    """A session from its file, made whole after a stop in the middle; settings given by flag change it."""
    path = session_path(locations, session_id)
    if not path.is_file():
        raise UsageError(f"there is no session {session_id}; `ohw sessions` lists them")
    with ExitStack() as resources:
        resources.callback(SessionLock.take(path, _WAIT_FOR_LOCK).release)
        store = resources.enter_context(Store.open(path))
        resources.callback(_remove_if_empty, store, state_folder(locations, session_id))
        models = SessionModels(settings)
        started = _last_settings(store, models)
        given = {name: getattr(settings, name) for name in ("model", "mode", "max_steps") if name in settings.given}
        started = started.model_copy(update={"model": given.get("model", started.model)})
        if "api_base" in settings.given:
            models.remember(started.model, settings.api_base)
        folder = checked_workspace(Path(started.workspace))
        equipment = _equip(resources, locations, settings, folder, session_id)
        opened = _put_together(resources, models, started, store, equipment, on_event=on_event, on_live=on_live)
    with ExitStack() as undo:
        undo.callback(opened.close)
        opened.session.recover()
        opened.session.set(**given)
        undo.pop_all()
    return opened


def checked_workspace(folder: Path) -> Path:
    """The folder, absolute; raises UsageError with one line when nobody could work there."""
    whole = folder.expanduser().absolute()
    if not whole.exists():
        raise UsageError(f"the folder {whole} does not exist; give another one with --workspace")
    if not whole.is_dir():
        raise UsageError(f"{whole} is not a folder; give one with --workspace")
    try:
        with tempfile.TemporaryFile(dir=whole):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"the folder {whole} cannot be written ({why}); give another one with --workspace") from error
    return whole.resolve()


def _equip(
    resources: ExitStack,
    locations: Locations,
    settings: Settings,
    workspace: Path,
    session_id: str,
) -> Equipment:
    """Tools and skills; raises UsageError for tools that cannot be as the settings want them."""
    complete = ModelCompletion()
    folder = private_folder(state_folder(locations, session_id))
    selection = select_tools(settings, locations.settings_file, ToolContext(str(workspace), folder, complete))
    resources.callback(selection.close)
    return Equipment(selection, complete, skills_of(workspace, [locations.skills]))


def _put_together(
    resources: ExitStack,
    models: SessionModels,
    started: SessionStarted,
    store: Store,
    equipment: Equipment,
    *,
    on_event: OnEvent,
    on_live: OnLive,
) -> OpenedSession:
    settings, tools, skills = models.settings, equipment.selection.tools, equipment.skills
    choice = cast(ToolChoice, settings.tool_choice)
    agent = Agent(models.open(started.model), tools, Path(started.workspace), tool_choice=choice, skills=skills)
    equipment.complete.use(lambda: agent.model)
    resources.callback(lambda: agent.model.close())
    limits = Limits(
        max_steps=settings.max_steps,
        max_observe=settings.max_observe,
        token_limit=settings.token_limit,
        max_cost=settings.max_cost,
        stop_loops=settings.stop_loops,
        allowed=settings.allowed,
        condense_percent=settings.condense_percent,
        condense_events=settings.condense_events,
        context_window=0 if models.have_windows else settings.context_window,
    )
    session = Session(store, agent, tools, limits=limits, open_model=models.open, on_event=on_event, on_live=on_live)
    resources.callback(session.close)
    name = models.profile(started.model).model
    return OpenedSession(started.id, session, name, equipment.selection.notices, store, resources.pop_all())


def _last_settings(store: Store, models: SessionModels) -> SessionStarted:
    """How the session was started, with the model it had last; the first one's address is its own alone."""
    started: SessionStarted | None = None
    for seq, line in store.lines():
        if seq > 1 and '"settings_changed"' not in line:
            continue  # a long log is not read twice
        try:
            event = event_from_json(line)
        except ValidationError:
            continue  # the session notes it as a gap
        if isinstance(event, SessionStarted):
            started = event
            if event.api_base and not models.is_named(event.model):
                models.remember(event.model, event.api_base)
        elif isinstance(event, SettingsChanged) and started is not None and event.model not in (None, started.model):
            started = started.model_copy(update={"model": event.model})
    if started is None:
        raise StoreError(f"the session file {store.path} does not say how it began; start a new session")
    return started


def _remove_if_empty(store: Store, folder: Path) -> None:
    """A session in which nobody said anything is not worth a line in the list; one that cannot be read whole stays."""
    has_words = any(isinstance(event, UserMessage) for event in store.events())
    if store.readonly or has_words or store.gaps:
        return
    store.close()
    delete_file(store.path)
    shutil.rmtree(folder, ignore_errors=True)
