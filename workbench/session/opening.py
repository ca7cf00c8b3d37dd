"""Puts a session together: lock, file, tools, model, agent; used by the engine and the headless command."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack, cast

import msgspec.structs

from workbench import __version__
from workbench.agent.agent import Agent
from workbench.config.locations import Locations, private_directory
from workbench.config.modes import NEVER
from workbench.config.settings import NO_MODEL, Settings
from workbench.errors import UsageError
from workbench.llm.factory import is_scripted
from workbench.llm.model import ToolChoice
from workbench.protocol.events import Event, SessionStarted, SettingsChanged
from workbench.protocol.live import LiveEvent
from workbench.protocol.risk import Mode
from workbench.rules.book import RuleBook
from workbench.session.actions.decide import tell_of_answer
from workbench.session.limits.budget import Allowance
from workbench.session.limits.limits import Limits, limits_of
from workbench.session.names import new_id, session_path, state_folder
from workbench.session.session import Session
from workbench.session.storage.exchange import take_powers
from workbench.session.storage.leftovers import sweep, sweep_unfinished
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.past import last_settings, not_ours, remove_if_empty
from workbench.session.storage.store import Store, StoreError
from workbench.session.subagents.delegates import Delegates
from workbench.session.toolset import Equipment, Place, equip
from workbench.session.turn.models import SessionModels
from workbench.session.workspace.repository import Repository
from workbench.session.workspace.snapshots import Recorder
from workbench.text import first_line
from workbench.tools.trust import is_trusted

if TYPE_CHECKING:
    from workbench.mcp.toolsets import OfferedServers
    from workbench.session.actions.server_questions import ServerAsks

logger = logging.getLogger(__name__)
_WAIT_FOR_LOCK = 3.0
"""Seconds: an engine that is just ending gives the session free, and so does a start that sweeps."""
OnEvent = Callable[[Event], None]
OnLive = Callable[[LiveEvent], None]


class Heard(TypedDict):
    """Who listens to a session."""

    on_event: OnEvent
    on_live: OnLive


@dataclass(frozen=True)
class Parent:
    """The session whose agent gives work to a sub-agent: its id, the models it may use, and what is left to spend."""

    id: str
    models: SessionModels
    allowance: Allowance


@dataclass(frozen=True)
class Parts:
    """What a session is put together from."""

    started: SessionStarted
    store: Store
    equipment: Equipment
    models: SessionModels
    limits: Limits
    notices: tuple[str, ...] = ()


@dataclass
class OpenedSession:
    """A session ready to be driven, with everything it holds; `close` gives it all back."""

    id: str
    session: Session
    model_name: str
    """The model's name as litellm writes it."""
    notices: tuple[str, ...]
    """What the person should know from the start, a line each: tools that were left out."""
    delegates: Delegates
    """The sub-agents that work for it."""
    servers: OfferedServers | None
    """Its MCP servers, where it has any."""
    server_asks: ServerAsks | None
    """What its MCP servers ask, where it has any."""
    _store: Store
    _resources: ExitStack

    @property
    def last_seq(self) -> int:
        """The number of the last event on disk."""
        return self._store.last_seq

    def events(self, after: int = 0) -> Iterator[Event]:
        """The events on disk behind `after`."""
        return self._store.events(after)

    @property
    def obstacle(self) -> str:
        """Why the session cannot be gone on with from its file; empty while it can."""
        try:
            self._store.check_in_place()
        except StoreError as error:
            return self.session.unsaved or f"not being saved: {error}"
        gone = self.session.workspace_gone
        return self.session.unsaved or (f"{gone}; once it is back: ohw resume {self.id}" if gone else "")

    def fail(self, reason: str) -> None:
        """A step failed: the run ends with this one line, the session lives on."""
        try:
            self.session.fail(first_line(reason, 300))
        except StoreError:
            logger.exception("the end of the run could not be written")

    def close(self) -> None:
        """End children, close the file (an empty session is deleted) and give the lock back; twice is fine."""
        try:
            self._resources.close()
        except OSError:  # a disk that failed or has turned read-only: what happened before is still to be told
            logger.exception("not everything that the session held could be cleaned up")


def start_session(
    locations: Locations,
    settings: Settings,
    workspace: Path,
    session_id: str,
    *,
    parent: Parent | None = None,
    **heard: Unpack[Heard],
) -> OpenedSession:
    """A new session in that folder; raises UsageError, ModelError, StoreError or SessionInUse with one line each."""
    folder = checked_workspace(workspace)
    private_directory(locations.sessions)
    path = session_path(locations, session_id)
    models = parent.models if parent else SessionModels(settings)
    models.open(settings.model).close()  # a bad name makes no file
    profile, notices = models.profile(settings.model or ""), _swept(locations, parent)
    with ExitStack() as resources:
        resources.callback(SessionLock.take(path, _WAIT_FOR_LOCK).release)
        store = resources.enter_context(Store.create(path))
        resources.callback(remove_if_empty, store, state_folder(locations, session_id))
        equipment = equip(resources, Place(locations, settings, folder, session_id), heard["on_live"], bool(parent))
        started = SessionStarted(
            id=session_id,
            workspace=str(folder),
            model=settings.model or "",
            mode=cast(Mode, settings.mode),
            tools=tuple(equipment.tools),
            app_version=__version__,
            api_base=None if models.is_named(profile.name) else profile.api_base,
            scripted=is_scripted(profile.model),
            parent=parent.id if parent else "",
        )
        for event in store.append(started, *(SettingsChanged(rule=rule) for rule in settings.rules)):
            heard["on_event"](event)
        usual = limits_of(settings, knows_windows=models.have_windows)
        limits = parent.allowance.of(usual) if parent else usual
        parts = Parts(started, store, equipment, models, limits, notices)
        return _put_together(resources, locations, settings, parts, **heard)


def open_session(
    locations: Locations, settings: Settings, session_id: str, *, parent: Parent | None = None, **heard: Unpack[Heard]
) -> OpenedSession:
    """A session from its file, made whole after a stop; a sub-agent goes on for its `parent`; flags change settings."""
    path = session_path(locations, session_id)
    if not path.is_file():
        raise UsageError(f"there is no session {session_id}; `ohw sessions` lists them")
    with ExitStack() as resources:
        resources.callback(SessionLock.take(path, _WAIT_FOR_LOCK).release)
        sweep_unfinished(locations, session_id)
        is_foreign = _is_foreign(path, settings)
        store = resources.enter_context(Store.open(path))
        resources.callback(remove_if_empty, store, state_folder(locations, session_id))
        models = parent.models if parent else SessionModels(settings)
        started = _as_set(store, settings, models, is_foreign=is_foreign)
        if parent and started.parent != parent.id:
            raise UsageError(f"session {session_id} works for another one")
        given = {
            name: getattr(settings, name) for name in ("model", "mode", "max_steps") if name in settings.from_flags
        }
        started = msgspec.structs.replace(started, model=given.get("model", started.model))
        if "api_base" in settings.from_flags:
            models.remember(started.model, settings.api_base)
        folder = checked_workspace(Path(started.workspace))
        place = Place(locations, settings, folder, session_id)
        equipment = equip(resources, place, heard["on_live"], bool(started.parent))
        usual = limits_of(settings, knows_windows=models.have_windows)
        limits = parent.allowance.of(usual, goes_on=True) if parent else usual
        parts = Parts(started, store, equipment, models, limits, _swept(locations, parent))
        opened = _put_together(resources, locations, settings, parts, **heard)
    with ExitStack() as undo:
        undo.callback(opened.close)
        opened.session.recover()
        opened.session.set(**given)
        undo.pop_all()
    return opened


def _swept(locations: Locations, parent: Parent | None) -> tuple[str, ...]:
    """Sweep what killed sessions left, but not for a sub-agent; what is to be said of it."""
    removed = sweep(locations) if parent is None else []
    if not removed:
        return ()
    were = "sessions that were" if len(removed) > 1 else "session that was"
    return (f"{len(removed)} {were} killed before anything was in it is removed; nothing was lost",)


def _is_foreign(path: Path, settings: Settings) -> bool:
    """Whether the file may be somebody else's; raises UsageError unless the user agreed to open it."""
    why = not_ours(path)
    if why and not settings.accepts_foreign:
        raise UsageError(f"the session file {path.stem} {why}; `ohw resume {path.stem}` asks whether to open it")
    return bool(why)


def _as_set(store: Store, settings: Settings, models: SessionModels, *, is_foreign: bool) -> SessionStarted:
    """How the session is set; one that is not the user's takes its mode and model from the settings."""
    if not is_foreign:
        return last_settings(store, models)
    mode = Settings().mode if settings.mode == NEVER else settings.mode
    take_powers(store, settings.model or NO_MODEL, cast(Mode, mode), settings.max_steps)
    started = last_settings(store, models)
    models.forget_addresses()
    return started


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


def _put_together(
    resources: ExitStack, locations: Locations, settings: Settings, parts: Parts, **heard: Unpack[Heard]
) -> OpenedSession:
    started, store, equipment, models = parts.started, parts.store, parts.equipment, parts.models
    folder, agent = Path(started.workspace), _agent_of(settings, parts)
    resources.callback(lambda: agent.model.close())
    trusted, unknown = is_trusted(folder, settings.trusted), settings.confirm_unknown
    book = RuleBook(locations.rules_file, folder, trusted=trusted, confirm_unknown=unknown)
    session = Session(
        store,
        agent,
        equipment.tools,
        limits=parts.limits,
        rules=book,
        open_model=models.open,
        state_dir=equipment.state_dir,
        recorder=None if started.parent else Recorder(Repository(locations, folder, started.id)),
        resources=equipment.servers,
        address_of=models.address,
        **heard,
    )
    if started.parent:
        session.files.keep_copies_in(Repository(locations, folder, started.parent))
    resources.callback(session.close)
    parent = Parent(started.id, models, session.allowance)
    start = partial(_start_child, locations, settings, Path(started.workspace), parent, session)
    equipment.delegates.use(start, session.sub_agents_asking)
    if equipment.server_asks is not None:
        equipment.server_asks.mode = lambda: session.chosen[1]
    return OpenedSession(
        id=started.id,
        session=session,
        model_name=models.profile(started.model).model,
        notices=(*parts.notices, *_left_out(store), *_notices(models.address(started.model), equipment, book)),
        delegates=equipment.delegates,
        servers=equipment.servers,
        server_asks=equipment.server_asks,
        _store=store,
        _resources=resources.pop_all(),
    )


def _left_out(store: Store) -> tuple[str, ...]:
    """What of the log could not be read, in one line."""
    if not store.gaps:
        return ()
    first, more = store.gaps[0], len(store.gaps) - 1
    others = f", and {more} more" if more else ""
    return (f"not all of this session can be read: event {first.first} ({first.reason}){others}",)


def _notices(address: str, equipment: Equipment, book: RuleBook) -> tuple[str, ...]:
    """What the user should know from the start: where the model is asked, tools left out, faults in rule files."""
    where = (f"the model is asked at {address}, which is not its provider's own address",) if address else ()
    return (*where, *equipment.notices, *book.faults, *book.strangers(equipment.names))


def _agent_of(settings: Settings, parts: Parts) -> Agent:
    """The agent with its tools; those that ask a model by themselves ask its own."""
    equipment, started = parts.equipment, parts.started
    agent = Agent(
        parts.models.open(started.model),
        equipment.tools,
        Path(started.workspace),
        tool_choice=cast(ToolChoice, settings.tool_choice),
        skills=equipment.skills,
    )
    agent.before_call = equipment.servers.before_call if equipment.servers else None
    equipment.complete.use(lambda: agent.model)
    equipment.complete.on_answer = tell_of_answer
    return agent


def _start_child(
    locations: Locations,
    settings: Settings,
    workspace: Path,
    parent: Parent,
    session: Session,
    /,
    *,
    agent: str,
    max_steps: int,
    session_id: str,
    **heard: Unpack[Heard],
) -> OpenedSession:
    """A sub-agent's session, new or the one of that id, with the model and the mode its parent has now."""
    model, mode, rules = session.chosen
    if session_id:
        same = replace(settings, model=model, mode=mode, max_steps=max_steps, from_flags=("model", "mode"))
        opened = open_session(locations, same, session_id, parent=parent, **heard)
    else:
        steps = session.allowance.steps(max_steps)
        chosen = replace(settings, model=model, mode=mode, max_steps=steps, rules=rules)
        opened = start_session(locations, chosen, workspace, new_id(agent), parent=parent, **heard)
    opened.session.refused.above = session.refused
    return opened
