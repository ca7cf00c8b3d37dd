"""Opens sessions with everything they need: lock, file, model, tools and agent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, Unpack, cast

import msgspec.structs

from workbench import __version__
from workbench.agent.agent import ActiveModel, Agent, BeforeCall
from workbench.agent.agent_kinds import AgentKind, AgentKinds, agent_kinds
from workbench.agent.prompts import kind_prompt
from workbench.config.locations import Locations, private_directory
from workbench.config.modes import NEVER
from workbench.config.settings import NO_MODEL, Profile, Settings
from workbench.errors import UsageError
from workbench.llm.factory import is_scripted
from workbench.llm.model import ModelRequest, ToolChoice, open_early
from workbench.protocol.events import Event, SessionStarted, SettingsChanged
from workbench.protocol.live import NOT_SAVED, LiveEvent
from workbench.protocol.risk import Mode
from workbench.rules.rule_set import RuleSet
from workbench.sandbox.session_sandbox import SessionSandbox
from workbench.session.actions.refusals import Refusals
from workbench.session.actions.unsaved_files import EditorChecks
from workbench.session.limits import TokenCount, limits_of
from workbench.session.model_keys import SessionModels
from workbench.session.opening_notices import notices_of, show_sandbox, swept, unreadable
from workbench.session.saved_state import StateCache
from workbench.session.session import Session, SessionOptions, SessionParts
from workbench.session.session_names import new_id, session_path, state_directory
from workbench.session.state import State
from workbench.session.storage.cleanup import discard_unfinished, sweep_unfinished
from workbench.session.storage.jsonl import reset_permissions
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.permissions import permissions_in
from workbench.session.storage.store import Store, StoreError, first_event, last_model, not_ours, remove_if_empty
from workbench.session.stored_permissions import apply_flags, has_own_url, model_of, session_flags, unsigned_url
from workbench.session.sub_agent_budget import Budget
from workbench.session.sub_agents import Delegates, Starter
from workbench.session.toolset import (
    NO_OVERRIDES,
    Confinement,
    Overrides,
    SessionLocation,
    ToolServices,
    notifier,
    open_toolset,
)
from workbench.session.workspace.repository import SnapshotRepository
from workbench.session.workspace_check import checked_workspace
from workbench.text import first_line
from workbench.tools.tool import ToolDefinition

if TYPE_CHECKING:
    from workbench.mcp.toolsets import SessionServers
    from workbench.sandbox.container import Container
    from workbench.session.actions.host_questions import HostQuestions
    from workbench.session.actions.mcp_questions import ServerQuestions

logger = logging.getLogger(__name__)
_LOCK_TIMEOUT = 3.0
"""Seconds to wait for the lock: an engine that is ending, or a start that cleans up, releases it soon."""


class Listeners(TypedDict):
    """The listeners of a session. `has_user`: a user can answer, now or later. `overrides` replace settings."""

    on_event: Callable[[Event], None]
    on_live: Callable[[LiveEvent], None]
    on_request: NotRequired[Callable[[ModelRequest], None]]
    has_user: NotRequired[bool]
    overrides: NotRequired[Overrides]


@dataclass(frozen=True)
class ParentSession:
    """The parts of its parent that a sub-agent's session uses: models, budget, refusals, its editor, and the kinds."""

    id: str
    models: SessionModels
    budget: Budget
    refusals: Refusals
    kinds: AgentKinds
    editor_checks: EditorChecks
    confinement: Callable[[], Confinement | None] = lambda: None
    """Returns what confines its tools, once they are open."""
    agent: str = ""
    """The kind of a new sub-agent; empty for one without a kind."""


@dataclass
class OpenedSession:
    """A session that is ready to run, with everything that it has opened; `close` releases it."""

    id: str
    session: Session
    profile: Profile
    """The profile of its model when it was opened."""
    notices: tuple[str, ...]
    """Messages to show the user at the start, one line each."""
    delegates: Delegates
    """The session's sub-agents."""
    servers: SessionServers | None
    server_questions: ServerQuestions | None
    host_questions: HostQuestions | None
    """The session's MCP servers, their questions, and those about hosts that its sandbox asks, if there are any."""
    sandbox: SessionSandbox
    container: Container | None
    """The container in which its commands run, if there is one."""
    tools: Mapping[str, ToolDefinition]
    _begin: Callable[[], None]
    _store: Store
    _resources: ExitStack

    @property
    def workspace(self) -> Path:
        """The directory that the session works in."""
        return self.session.directory

    @property
    def last_seq(self) -> int:
        """The number of the last event on disk."""
        return self._store.last_seq

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the events on disk with numbers above `after`."""
        return self._store.events(after)

    @property
    def obstacle(self) -> str:
        """Why the session cannot be resumed from its file; empty if it can."""
        try:
            self._store.check_not_replaced()
        except StoreError as error:
            return self.session.unsaved or f"{NOT_SAVED}{error}"
        gone = self.session.workspace_gone
        return self.session.unsaved or (f"{gone}; once it is back: ohw resume {self.id}" if gone else "")

    def begin(self) -> None:
        """Complete the log of an earlier process, and let MCP servers ask the user about hosts from then on."""
        self.session.recover()
        self._begin()

    def fail(self, reason: str) -> None:
        """End the run with this line because a step failed; the session stays usable."""
        try:
            self.session.fail(first_line(reason, 300))
        except StoreError:
            logger.exception("the end of the run could not be written")

    def close(self) -> None:
        """Release everything: end child processes, close the file, delete an empty one, unlock. May be called twice."""
        try:
            self._resources.close()
        except OSError:  # the disk failed or is read-only; the caller must still be able to report earlier errors
            logger.exception("not everything that belonged to the session could be cleaned up")


def start_session(
    locations: Locations,
    settings: Settings,
    workspace: Path,
    session_id: str,
    *,
    parent: ParentSession | None = None,
    **listeners: Unpack[Listeners],
) -> OpenedSession:
    """Start a session in `workspace`. Raises UsageError, ModelError, StoreError or SessionInUse, with one line."""
    directory = checked_workspace(workspace)
    private_directory(locations.sessions)
    path = session_path(locations, session_id)
    models = _models(settings, parent, listeners)
    models.open(settings.model).close()  # before the file is created
    profile, notices = models.profile(settings.model or ""), swept(locations, is_child=parent is not None)
    with ExitStack() as resources:
        resources.callback(SessionLock.acquire(path, _LOCK_TIMEOUT).release)
        discard_unfinished(path)
        cache = StateCache(path, state_directory(locations, session_id))
        store = _entered(resources, Store.create(path), cache)
        started = SessionStarted(
            id=session_id,
            workspace=str(directory),
            model=settings.model or "",
            mode=cast(Mode, settings.mode),
            app_version=__version__,
            api_base=None if models.is_named(profile.name) else profile.api_base,
            scripted=is_scripted(profile.model),
            parent=parent.id if parent else "",
            agent=parent.agent if parent else "",
        )
        builder = _Builder(resources, _Request(locations, settings, models, parent, listeners), started)
        first = msgspec.structs.replace(started, tools=tuple(builder.toolset.tools))
        for event in store.append(first, *(SettingsChanged(rule=rule) for rule in settings.rules)):
            listeners["on_event"](event)
        opened = builder.build(store, cache, notices)
    opened.begin()
    return opened


def _entered(resources: ExitStack, store: Store, cache: StateCache) -> Store:
    """Return the store, closed with the resources; its state is encoded before that and written after it."""
    resources.callback(cache.write)
    resources.enter_context(store)
    resources.callback(remove_if_empty, store, cache.directory)
    resources.callback(cache.collect, store)
    return store


def open_session(
    locations: Locations,
    settings: Settings,
    session_id: str,
    *,
    parent: ParentSession | None = None,
    **listeners: Unpack[Listeners],
) -> OpenedSession:
    """Open a session from its file, and complete its log if it was stopped during a run; flags change its settings.

    `parent` is given for the session of a sub-agent. Raises UsageError, ModelError, StoreError or SessionInUse.
    """
    path = session_path(locations, session_id)
    if not path.is_file():
        raise UsageError(f"there is no session {session_id}; `ohw sessions` lists them")
    with ExitStack() as resources:
        resources.callback(SessionLock.acquire(path, _LOCK_TIMEOUT).release)
        is_foreign = _is_foreign(path, settings)
        sweep_unfinished(locations, session_id)
        cache = StateCache(path, state_directory(locations, session_id), is_usable=not is_foreign)
        store = _entered(resources, cache.open_store(), cache)
        models = _models(settings, parent, listeners)
        started = _stored_settings(store, settings, models, cache, is_foreign=is_foreign)
        url = "" if is_foreign or has_own_url(settings, models, started) else unsigned_url(store, started.model)
        if parent and started.parent != parent.id:
            raise UsageError(f"session {session_id} belongs to another session")
        flags = session_flags(settings, parent.kinds.recorded(started.agent) if parent else None, unusable=bool(url))
        started = msgspec.structs.replace(started, model=flags.get("model", started.model))
        if "api_base" in settings.from_flags:
            models.remember(started.model, settings.api_base)
        checked_workspace(Path(started.workspace))
        request = _Request(locations, settings, models, parent, listeners, is_foreign=is_foreign)
        builder = _Builder(resources, request, started, goes_on=True)
        opened = builder.build(store, cache, swept(locations, is_child=parent is not None))
    with ExitStack() as undo:
        undo.callback(opened.close)
        opened.begin()
        notices = apply_flags(path, opened.session, builder.state, flags, url)
        undo.pop_all()
    return replace(opened, notices=(*opened.notices, *notices))


def _models(settings: Settings, parent: ParentSession | None, listeners: Listeners) -> SessionModels:
    """Return the models that a session may use; a sub-agent shares its parent's, unless it is another program."""
    if models := listeners.get("overrides", NO_OVERRIDES).models:
        return models
    return parent.models if parent is not None else SessionModels(settings)


def _is_foreign(path: Path, settings: Settings) -> bool:
    """Return whether the file may be somebody else's. Raises UsageError if so, unless the user agreed to open it."""
    reason = not_ours(path)
    if reason and not settings.accepts_foreign:
        raise UsageError(f"the session file {path.stem} {reason}; `ohw resume {path.stem}` asks whether to open it")
    return bool(reason)


def _stored_settings(
    store: Store, settings: Settings, models: SessionModels, cache: StateCache, *, is_foreign: bool
) -> SessionStarted:
    """Return the settings stored in a session; a foreign session gets its mode and model from `settings` instead."""
    if is_foreign:
        mode = Settings().mode if settings.mode == NEVER else settings.mode
        reset_permissions(store, settings.model or NO_MODEL, cast(Mode, mode), settings.max_steps)
    first = first_event(store)
    is_own = not is_foreign and permissions_in(store.path).is_api_base_signed
    if first.api_base and is_own and not models.is_named(first.model):
        models.remember(first.model, first.api_base)
    # The tools' directory is named after the session file, whatever id the log contains.
    return msgspec.structs.replace(
        first,
        id=store.path.stem,
        model=last_model(store, cache.seq) or cache.model or first.model,
        parent="" if is_foreign else first.parent,
    )


class _Request(msgspec.Struct, frozen=True):
    """The arguments with which one session is opened."""

    locations: Locations
    settings: Settings
    models: SessionModels
    parent: ParentSession | None
    listeners: Listeners
    is_foreign: bool = False
    """Whether the session file may be somebody else's."""


class _Builder:
    """Creates the parts of one session, starting with those that others read: state, token count and refusals."""

    def __init__(
        self, resources: ExitStack, request: _Request, started: SessionStarted, *, goes_on: bool = False
    ) -> None:
        """Open the model and the tools; `goes_on` means that the session existed before.

        Raises UsageError or ModelError.
        """
        self._resources = resources
        self._request = request
        self._started = started
        self._workspace = Path(started.workspace)
        models, parent = request.models, request.parent
        self.state, self._tokens = State(), TokenCount()
        self._refusals = Refusals(self.state, parent.refusals if parent else None)
        usual = limits_of(request.settings, knows_windows=models.have_windows)
        self._limits = parent.budget.of(usual, goes_on=goes_on) if parent else usual
        self._checks = parent.editor_checks if parent else EditorChecks(request.listeners["on_live"])
        self._model = ActiveModel(models.open(started.model))
        resources.callback(lambda: self._model.current.close())
        # A file of somebody else's must not choose a server to contact. A sub-agent's request follows at once.
        if not request.is_foreign and parent is None:
            open_early(self._model.current)
        self._kinds = parent.kinds if parent else agent_kinds(request.locations, request.settings, self._workspace)
        self._kind = self._kinds.recorded(started.agent)
        self._delegates = Delegates(self._starter(), self.state, self._kinds)
        services = ToolServices(
            state=self.state,
            model=lambda: self._model.current,
            delegates=self._delegates,
            on_live=request.listeners["on_live"],
            has_user=request.listeners.get("has_user", False),
            is_child=bool(started.parent),
            parent=parent.confinement() if parent else None,
            kind=self._kind,
        )
        location = SessionLocation(request.locations, request.settings, self._workspace.resolve(), started.id)
        self._overrides = request.listeners.get("overrides", NO_OVERRIDES)
        self.toolset = open_toolset(resources, location, services, self._overrides)

    def _starter(self) -> Starter:
        budget = Budget(self._limits, self.state, self._tokens)
        models, confinement = self._request.models, lambda: self.toolset.confinement
        parent = ParentSession(self._started.id, models, budget, self._refusals, self._kinds, self._checks, confinement)
        return partial(_start_child, self._request, self._workspace, parent, self.state)

    def build(self, store: Store, cache: StateCache, notices: Sequence[str]) -> OpenedSession:
        """Create the session on its store; its notices begin with `notices`."""
        request, started, toolset = self._request, self._started, self.toolset
        rules, on_live = toolset.confinement.rules, request.listeners["on_live"]
        parts = self._parts(store, cache, rules)
        session = Session(parts)
        self._resources.callback(session.close)
        show = partial(show_sandbox, session, self.state, on_live)
        toolset.confinement.sandbox.when_proven(show)
        if toolset.confinement.container is not None and request.parent is None:
            toolset.confinement.container.when_changed(show)
        about_parts = notices_of(request.models, started.model, toolset, rules)
        return OpenedSession(
            id=started.id,
            session=session,
            profile=request.models.profile(started.model),
            notices=(*notices, *unreadable(store), *about_parts, *self._kind_notices()),
            delegates=self._delegates.joined_to(session.files),
            servers=toolset.servers,
            server_questions=toolset.server_questions,
            host_questions=toolset.confinement.hosts,
            sandbox=toolset.confinement.sandbox,
            container=toolset.confinement.container,
            tools=toolset.tools,
            _begin=partial(toolset.confinement.let_servers_ask, parts.actions.report, on_live),
            _store=store,
            _resources=self._resources.pop_all(),
        )

    def _kind_notices(self) -> Sequence[str]:
        """Return notices about the definitions of sub-agents; in a sub-agent's session only about its own."""
        if self._kind is not None:
            return [f"{self._kind.name}: {line}" for line in self._kind.problems]
        return () if self._started.parent else self._kinds.notices(self.toolset.names, self._request.settings.models)

    def _parts(self, store: Store, cache: StateCache, rules: RuleSet) -> SessionParts:
        started, listeners = self._started, self._request.listeners
        # a sub-agent works in its parent's workspace: the parent takes the snapshots, both keep safety copies there
        owner = started.parent or started.id
        return SessionParts(
            store,
            self._agent(),
            self.toolset.tools,
            SessionOptions(
                limits=self._limits,
                rules=rules,
                on_event=listeners["on_event"],
                on_live=listeners["on_live"],
                open_model=self._request.models.open_chosen,
                reload_models=self._request.models.reload,
                state_dir=self.toolset.state_dir,
                repository=SnapshotRepository(self._request.locations, self._workspace, owner),
                takes_snapshots=not started.parent,
                is_foreign=self._request.is_foreign,
                resources=self.toolset.servers,
                sandbox=self.toolset.confinement.sandbox,
                container=self.toolset.confinement.container,
                calls=self.toolset.confinement.calls,
                put_back=self.toolset.confinement.put_back,
                editor_checks=self._checks,
                hooks=self.toolset.hooks,
                telemetry=self.toolset.telemetry,
                host_of=self._request.models.host,
                state=self.state,
                tokens=self._tokens,
                refusals=self._refusals,
                cache=cache,
            ),
        )

    def _agent(self) -> Agent:
        instructions = self._overrides.instructions, self.toolset.instructions, kind_prompt(self._kind)
        return Agent(
            self._model,
            self.toolset.tools,
            self._workspace,
            tool_choice=cast(ToolChoice, self._request.settings.tool_choice),
            skills=self.toolset.skills,
            before_call=self._before_call(),
            instructions="\n\n".join(filter(None, instructions)),
            on_notice=notifier(self._request.listeners["on_live"]),
            on_request=self._request.listeners.get("on_request", self.toolset.note_request),
        )

    def _before_call(self) -> BeforeCall | None:
        """Return what waits for the container and updates the tools of servers and callers before each model call."""
        return self.toolset.before_call(None if self._started.parent else self._overrides.update_tools)


def _start_child(
    request: _Request,
    workspace: Path,
    parent: ParentSession,
    state: State,
    /,
    *,
    agent: str,
    max_steps: int,
    session_id: str,
    stop: Callable[[str], None],
    **listeners: Unpack[Listeners],
) -> OpenedSession:
    """Start a sub-agent's session, or open the one named by `session_id`, with the parent's current model and mode."""
    kind = parent.kinds.named(agent)
    if kind is not None and kind.program is not None:
        above = replace(parent, agent=kind.name)
        return _start_outside(request, workspace, above, (kind, state, stop), session_id, **listeners)
    model, mode = state.model, state.mode
    if kind is not None and kind.max_steps:
        max_steps = min(max_steps, kind.max_steps)
    if "overrides" in request.listeners:
        listeners["overrides"] = request.listeners["overrides"]
    if session_id:
        same = replace(request.settings, model=model, mode=mode, max_steps=max_steps, from_flags=("model", "mode"))
        return open_session(request.locations, same, session_id, parent=parent, **listeners)
    steps = parent.budget.steps(max_steps)
    model = model_of(kind, request.settings) or model
    chosen = replace(request.settings, model=model, mode=mode, max_steps=steps, rules=state.rules)
    child = replace(parent, agent=kind.name if kind else "")
    return start_session(request.locations, chosen, workspace, new_id(agent), parent=child, **listeners)


def _start_outside(
    request: _Request,
    workspace: Path,
    parent: ParentSession,
    about: tuple[AgentKind, State, Callable[[str], None]],
    session_id: str,
    /,
    **listeners: Unpack[Listeners],
) -> OpenedSession:
    """Start the session of a sub-agent that is another program; end one that exists, as its program has ended.

    `about` has its kind, the state of the session that starts it, and what stops it.
    """
    from workbench.session.outside_agents import RESTARTED, OutsideAgent

    kind, state, stop = about
    agent = OutsideAgent(kind, workspace, state, request.settings)
    listeners["overrides"] = agent.overrides
    if session_id:
        opened = open_session(request.locations, agent.settings, session_id, parent=parent, **listeners)
        opened.session.stop(RESTARTED)
        return opened
    agent.when_gone(stop)
    parent.budget.steps(1)  # raises BudgetExhausted
    return start_session(request.locations, agent.settings, workspace, new_id(kind.name), parent=parent, **listeners)
