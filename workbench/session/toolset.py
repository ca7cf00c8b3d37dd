"""Opens the tools, MCP servers and skills of a session's agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from workbench.agent.agent import BeforeCall
from workbench.agent.agent_kinds import AgentKind
from workbench.agent.model_query import ModelCompletion
from workbench.agent.skills import Skill, skills_of
from workbench.config.container_settings import ASK
from workbench.config.locations import Locations, private_directory
from workbench.config.settings import ContainerSettings, Settings, read_container, read_telemetry
from workbench.errors import UsageError
from workbench.llm.model import Model, ModelError, ModelRequest
from workbench.processes.launch import Launcher
from workbench.processes.spawn import keep_out_of
from workbench.protocol.events import Event
from workbench.protocol.live import LiveEvent, Notice
from workbench.rules.rule_set import RuleSet
from workbench.sandbox.session_sandbox import OFF, SessionSandbox, boundary_of
from workbench.sandbox.workspace_copy import WorkspaceCopy, copy_at
from workbench.secrets.masker import MASKER
from workbench.session.actions.integrity import IntegrityGuard
from workbench.session.actions.run import AskToPutBack, CallContext, RunningCalls, record_model_call
from workbench.session.model_keys import SessionModels
from workbench.session.session_names import state_directory
from workbench.session.state import State
from workbench.session.sub_agents import Delegates
from workbench.telemetry.installation import INSTALL, MISSING, is_installed
from workbench.tools.context import ToolContext
from workbench.tools.delegate import NAME as DELEGATE
from workbench.tools.execute_bash import OUTPUTS
from workbench.tools.hook_files import CLAUDE_HOOKS, HOOKS
from workbench.tools.name_filter import NameFilter
from workbench.tools.selection import Selection, select_tools
from workbench.tools.tool import ToolDefinition
from workbench.tools.trust import SERVERS, image_mark, is_trusted, may_build
from workbench.tools.web_read import NAME as WEB_READ

if TYPE_CHECKING:
    from workbench.mcp.config import ServerConfigs
    from workbench.mcp.pins import PinStore
    from workbench.mcp.toolsets import SessionServers
    from workbench.sandbox.container import Container
    from workbench.sandbox.devcontainer import MayUse
    from workbench.sandbox.proxy import NetworkProxy
    from workbench.sandbox.sandbox import Boundary
    from workbench.session.actions.host_questions import HostQuestions
    from workbench.session.actions.mcp_questions import ServerQuestions
    from workbench.session.hooks import SessionHooks
    from workbench.session.telemetry import SessionTelemetry
    from workbench.web.network import NetworkPolicy


class SessionLocation(msgspec.Struct, frozen=True):
    """The session for which tools are opened: its settings, its workspace and its directories."""

    locations: Locations
    settings: Settings
    workspace: Path
    session_id: str


class ToolServices(msgspec.Struct, frozen=True):
    """The parts of a session that its tools use."""

    state: State
    model: Callable[[], Model]
    """Returns the session's current model."""
    delegates: Delegates
    on_live: Callable[[LiveEvent], None]
    has_user: bool
    """Whether a user can answer questions from an MCP server."""
    is_child: bool
    """Whether this is a sub-agent's session, which cannot have sub-agents."""
    parent: Confinement | None = None
    """For a sub-agent: the confinement of the session that started it."""
    kind: AgentKind | None = None
    """The kind of the sub-agent, if it has one; it limits the tools."""


class Confinement(msgspec.Struct, frozen=True):
    """What decides on tool calls, and what confines the programs that they run."""

    rules: RuleSet
    calls: RunningCalls
    """The calls that are running."""
    sandbox: SessionSandbox
    hosts: HostQuestions | None = None
    """The questions about hosts; None if there is neither a sandbox nor a container that asks."""
    container: Container | None = None
    """The container in which commands run, which sub-agents share."""
    put_back: AskToPutBack | None = None
    """Asks whether to put back protected files that were moved aside."""
    container_path: str = ""
    """The path that the workspace had in the container image from which it was copied; empty if it was not."""
    notices: Sequence[str] = ()
    """Lines for the user on parts of the project's devcontainer.json that are not used."""

    def let_servers_ask(self, report: Callable[[Event], None], show: Callable[[LiveEvent], None]) -> None:
        """Let MCP servers ask about hosts from now on; the steps of their questions are passed to `report`."""
        if self.hosts is not None:
            self.hosts.begin(CallContext("", report, show))


UpdateTools: TypeAlias = Callable[[MutableMapping[str, ToolDefinition]], bool]
"""Changes the tools before a model call; returns whether it did."""


class Overrides(msgspec.Struct, frozen=True):
    """Parts that a program which embeds the agent passes to its session; they replace what the settings say."""

    models: SessionModels | None = None
    open_tools: Callable[[ToolContext, bool], Selection] | None = None
    """Opens the tools of the session; the second argument says whether it is a sub-agent's."""
    update_tools: UpdateTools | None = None
    instructions: str = ""
    """Text that is added to the instructions for the model."""
    labels: Mapping[str, str | int] = {}
    """Attributes of all spans of the session, by which they can be selected."""


NO_OVERRIDES = Overrides()


class Toolset(msgspec.Struct, frozen=True):
    """The tools of a session, with the MCP servers and skills that they come from."""

    selection: Selection
    tools: MutableMapping[str, ToolDefinition]
    """All callable tools; those of MCP servers come and go between model calls."""
    servers: SessionServers | None
    server_questions: ServerQuestions | None
    """The questions from the MCP servers."""
    skills: Sequence[Skill]
    confinement: Confinement
    state_dir: Path
    """The directory in which tools keep files that outlive the process."""
    hooks: SessionHooks | None = None
    """The hooks of the session; None if there are none."""
    hook_notices: Sequence[str] = ()
    telemetry: SessionTelemetry | None = None
    """Sends spans of the session; None if the settings do not ask for that."""
    telemetry_notices: Sequence[str] = ()

    def note_request(self, request: ModelRequest) -> None:
        """Note a request to the session's model for its span, if the settings ask for its content."""
        if self.telemetry is not None and self.telemetry.has_content:
            self.telemetry.note_request(request)

    @property
    def notices(self) -> Sequence[str]:
        """Lines for the user, shown when the session starts."""
        of_servers = self.servers.notices if self.servers else ()
        others = *self.confinement.notices, *self.hook_notices, *self.telemetry_notices
        return (*self.selection.notices, *of_servers, *others)

    def before_call(self, update: UpdateTools | None) -> BeforeCall | None:
        """Return a function that waits for the container, and updates the tools of MCP servers and with `update`."""
        servers, container, tools = self.servers, self.confinement.container, self.tools
        if update is None and container is None:
            return servers.before_call if servers else None

        def before_call(is_canceled: Callable[[], bool], show: Callable[[str], None]) -> bool:
            failure = container.await_start(is_canceled, show) if container is not None else ""
            if failure:
                from workbench.sandbox.container import CANNOT_START

                raise ModelError(CANNOT_START.format(reason=failure))
            is_changed = servers.before_call(is_canceled, show) if servers else False
            return (update(tools) if update is not None else False) or is_changed

        return before_call

    @property
    def instructions(self) -> str:
        """The note to the model on the path of the workspace in its image; empty if it was not copied from one."""
        path = self.confinement.container_path
        return _IN_IMAGE.format(path=path) if path else ""

    @property
    def names(self) -> set[str]:
        """The names of all tools, including disabled ones."""
        return {*self.selection.names, *self.tools}


_IN_IMAGE = (
    "The workspace is a copy of {path} of the container's image. In the container it has both paths, with the same "
    "files, so that what is installed there works. Commands may use either path; tools other than execute_bash need "
    "the workspace's own path."
)


def open_toolset(
    resources: ExitStack, location: SessionLocation, services: ToolServices, overrides: Overrides = NO_OVERRIDES
) -> Toolset:
    """Open tools, MCP servers and skills. Raises UsageError for invalid tool settings."""
    locations, settings, workspace = location.locations, location.settings, location.workspace
    complete = ModelCompletion(services.model, on_answer=record_model_call)
    keep_out_of(workspace)
    directory = private_directory(state_directory(locations, location.session_id))
    confinement = _confinement(resources, location, services, directory / OUTPUTS)
    launchers = confinement.sandbox.launcher, confinement.container
    context = ToolContext(str(workspace), directory, complete, services.delegates, True, *launchers)
    table = {**settings.tools, DELEGATE: False} if services.is_child else settings.tools
    configured = None if overrides.open_tools and not settings.mcpServers else _servers(locations, settings, workspace)
    of_servers = configured[1].names(configured[0].servers) if configured else set()
    own = {name: value for name, value in table.items() if name not in of_servers}
    if overrides.open_tools is not None:
        selection = overrides.open_tools(context, services.is_child)
    else:
        selection = select_tools(replace(settings, tools=own), locations.settings_file, context)
    resources.callback(selection.close)
    _mask(selection)
    tools, servers, questions = dict(selection.tools), None, None
    if configured:
        # nothing of MCP is loaded if no server is configured
        from workbench.session.actions.mcp_questions import ServerQuestions

        # a server may write files as soon as it runs, long before the first action
        IntegrityGuard(str(workspace)).compare()
        questions = ServerQuestions(complete, lambda: services.state.mode, has_user=services.has_user)
        servers = _open_servers(configured, tools, table, services, questions, launcher=launchers[0])
        resources.callback(servers.close)
    if services.kind:
        for name in [name for name, tool in tools.items() if not services.kind.offers(tool)]:
            del tools[name]
    skills = skills_of(workspace, [locations.skills])
    hooks, telemetry = (
        _hooks(location, services, launchers[0]),
        _telemetry(resources, location, services, overrides.labels),
    )
    return Toolset(selection, tools, servers, questions, skills, confinement, directory, *hooks, *telemetry)


def _telemetry(
    resources: ExitStack, location: SessionLocation, services: ToolServices, labels: Mapping[str, str | int]
) -> tuple[SessionTelemetry | None, Sequence[str]]:
    """Return what sends spans of a session, and a notice if its packages are missing; the spans of a sub-agent are made
    from its parent's log.
    """
    if services.is_child or not read_telemetry(location.settings.telemetry).enabled:
        return None, ()
    from workbench.session.telemetry import SessionTelemetry

    if not is_installed():
        return None, (f"no spans are sent: {MISSING}; {INSTALL}",)
    telemetry = SessionTelemetry(
        location.settings,
        location.session_id,
        services.delegates.kind_of,
        has_user=services.has_user,
        labels=labels,
    )
    if telemetry.has_content:
        services.delegates.on_calls(telemetry)
    resources.callback(telemetry.close)
    return telemetry, ()


def _hooks(
    location: SessionLocation, services: ToolServices, launcher: Launcher | None
) -> tuple[SessionHooks | None, Sequence[str]]:
    """Return the hooks of a session and notices about those that do not run; nothing is loaded if there are none."""
    settings, workspace = location.settings, location.workspace
    if not settings.hooks and not any((workspace / name).exists() for name in (HOOKS, *CLAUDE_HOOKS)):
        return None, ()
    from workbench.hooks.files import find_hooks, notices_of
    from workbench.hooks.runner import HookRunner
    from workbench.session.hooks import SessionHooks

    listed = find_hooks(settings.hooks, location.locations.settings_file, workspace, settings.trusted)
    active = [each.hook for each in listed if each.hook is not None]
    hooks = SessionHooks(active, HookRunner(workspace, launcher), is_child=services.is_child) if active else None
    return hooks, () if services.is_child else notices_of(listed)


def _mask(selection: Selection) -> None:
    for name, key in selection.secrets.items():
        MASKER.add(name, key)


def _open_servers(
    configured: tuple[ServerConfigs, PinStore],
    tools: MutableMapping[str, ToolDefinition],
    table: Mapping[str, Any],
    services: ToolServices,
    questions: ServerQuestions,
    *,
    launcher: Launcher | None,
) -> SessionServers:
    """Open the MCP servers of a session, which add their tools to `tools`."""
    from workbench.mcp.toolsets import SessionServers

    notify, allows = notifier(services.on_live), _filter_of(table, services.kind)
    asker_of = questions.asker
    return SessionServers(*configured, tools, table, notify, asker_of=asker_of, allows=allows, launcher=launcher)


def _confinement(resources: ExitStack, location: SessionLocation, services: ToolServices, outputs: Path) -> Confinement:
    """Open the sandbox and the container of a session, with proxies that ask about hosts, as the settings say.

    Commands in the container may read what is in the directory `outputs`.
    """
    settings, rules, calls = location.settings, rules_of(location, services.kind), RunningCalls()
    copy, parent = copy_at(location.locations, location.workspace), services.parent
    container = _with_image_of(copy, read_container(settings.container))
    is_own = container.is_used and parent is None
    hosts = policy = put_back = None
    if settings.sandbox != OFF or (container.is_used and container.network == ASK):
        from workbench.session.actions.host_questions import HostQuestions
        from workbench.session.actions.put_back_questions import PutBackQuestions
        from workbench.web.network import NetworkPolicy

        above = parent.hosts if parent is not None else None
        hosts = HostQuestions(calls, rules, services.state, has_user=services.has_user, parent=above)
        put_back = PutBackQuestions(hosts, services.state).ask
        reading = settings.tools.get(WEB_READ)
        private = reading.get("private", False) if isinstance(reading, Mapping) else False
        policy = NetworkPolicy(private)
    in_image, granting = copy.path if copy is not None else "", hosts.granting if hosts is not None else tuple
    boundary = boundary_of(settings, location.locations, location.workspace, in_image, granting)
    sandbox = SessionSandbox(settings.sandbox, boundary, _proxy(hosts, policy) if settings.sandbox != OFF else None)
    resources.callback(sandbox.close)
    if hosts is not None:
        resources.callback(hosts.close)

    def agreed(files: Mapping[Path, bytes]) -> bool:
        return may_build(location.locations, location.workspace, settings.trusted, image_mark(files))

    running: Container | None = None
    notices: Sequence[str] = ()
    if is_own:
        running, notices = _container(container, boundary, outputs, policy, may_use=agreed)
        resources.callback(running.close)
    running = parent.container if parent is not None else running
    if running is not None and running.network is not None and hosts is not None:
        resources.callback(running.network.ask_from(hosts))
    return Confinement(rules, calls, sandbox, hosts, running, put_back, boundary.container_path, notices)


def _with_image_of(copy: WorkspaceCopy | None, container: ContainerSettings) -> ContainerSettings:
    """Return the settings with the image that the workspace was copied from, unless they name one."""
    return replace(container, image=copy.image) if copy is not None and not container.image else container


def _proxy(hosts: HostQuestions | None, policy: NetworkPolicy | None) -> NetworkProxy | None:
    from workbench.sandbox.proxy import NetworkProxy

    return NetworkProxy(hosts.decide, policy) if hosts is not None and policy is not None else None


def _container(
    settings: ContainerSettings, boundary: Boundary, outputs: Path, policy: NetworkPolicy | None, *, may_use: MayUse
) -> tuple[Container, tuple[str, ...]]:
    """Start the container in which the session's commands run; return it and notices about the project's
    devcontainer.json.

    Raises UsageError if no program here runs containers.
    """
    from workbench.sandbox.container import Container
    from workbench.sandbox.devcontainer import read_devcontainer

    policy = policy if settings.network == ASK else None
    try:
        project = read_devcontainer(settings, boundary, may_use)
    except (OSError, UsageError) as error:
        problem = str(getattr(error, "strerror", "") or error)
        return Container(settings, boundary, outputs, policy, may_use, problem=problem), ()
    if project is None:
        return Container(settings, boundary, outputs, policy, may_use), ()
    return Container(project.settings, boundary, outputs, policy, may_use, build=project.build), project.notices


def rules_of(location: SessionLocation, kind: AgentKind | None) -> RuleSet:
    """Return the rules that apply in a workspace, or there to a sub-agent of this kind if one is given."""
    return RuleSet(
        location.locations.rules_file,
        location.workspace,
        trusted=is_trusted(location.workspace, location.settings.trusted),
        confirm_unknown=location.settings.confirm_unknown,
        reader=kind.name if kind else "",
        only_reads_with=kind.only_reads_with if kind else lambda tool: False,
    )


def _filter_of(table: Mapping[str, Any], kind: AgentKind | None) -> Callable[[ToolDefinition], bool]:
    names = NameFilter.of(table)
    return lambda tool: names.allows(tool) and (kind is None or kind.offers(tool))


def notifier(on_live: Callable[[LiveEvent], None]) -> Callable[[str], None]:
    """Return a function that shows a line to the user."""
    return lambda text: on_live(Notice(text=text))


def _servers(locations: Locations, settings: Settings, workspace: Path) -> tuple[ServerConfigs, PinStore] | None:
    if not settings.mcpServers and not (workspace / SERVERS).is_file():
        return None
    from workbench.mcp.config import find_servers
    from workbench.mcp.pins import PinStore

    servers = find_servers(settings.mcpServers, locations.settings_file, workspace, settings.trusted)
    return servers, PinStore(locations)
