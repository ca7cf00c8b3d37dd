"""Opens the tools, MCP servers and skills of a session's agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from workbench.agent.agent_kinds import AgentKind
from workbench.agent.model_query import ModelCompletion
from workbench.agent.skills import Skill, skills_of
from workbench.config.locations import Locations, private_directory
from workbench.config.settings import Settings
from workbench.llm.model import Model
from workbench.processes.spawn import keep_out_of
from workbench.protocol.live import LiveEvent, Notice
from workbench.secrets.masker import MASKER
from workbench.session.actions.integrity import IntegrityGuard
from workbench.session.actions.run import record_model_call
from workbench.session.model_keys import SessionModels
from workbench.session.session_names import state_directory
from workbench.session.state import State
from workbench.session.sub_agents import Delegates
from workbench.tools.context import ToolContext
from workbench.tools.delegate import NAME as DELEGATE
from workbench.tools.name_filter import NameFilter
from workbench.tools.selection import Selection, select_tools
from workbench.tools.tool import ToolDefinition
from workbench.tools.trust import SERVERS

if TYPE_CHECKING:
    from workbench.mcp.config import ServerConfigs
    from workbench.mcp.pins import PinStore
    from workbench.mcp.toolsets import SessionServers
    from workbench.session.actions.mcp_questions import ServerQuestions


class SessionLocation(msgspec.Struct, frozen=True):
    """The session that tools are opened for: its settings, its workspace and its directories."""

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
    kind: AgentKind | None = None
    """The kind of the sub-agent, if it has one; it limits the tools."""


class Overrides(msgspec.Struct, frozen=True):
    """The parts that a program which embeds the agent passes to its session in place of settings."""

    models: SessionModels | None = None
    open_tools: Callable[[ToolContext, bool], Selection] | None = None
    """Opens the tools of the session; the second argument says whether it is a sub-agent's."""
    update_tools: Callable[[MutableMapping[str, ToolDefinition]], bool] | None = None
    """Changes the tools before a model call; returns whether it did."""
    instructions: str = ""
    """Added to the instructions for the model."""


NO_OVERRIDES = Overrides()


class Toolset(msgspec.Struct, frozen=True):
    """The tools of a session, and the MCP servers and skills they come from."""

    selection: Selection
    tools: MutableMapping[str, ToolDefinition]
    """All callable tools; those of MCP servers come and go between model calls."""
    servers: SessionServers | None
    server_questions: ServerQuestions | None
    """The questions from the MCP servers."""
    skills: Sequence[Skill]
    state_dir: Path
    """The directory in which tools keep files that outlive the process."""

    @property
    def notices(self) -> Sequence[str]:
        """Lines for the user, shown when the session starts."""
        return (*self.selection.notices, *(self.servers.notices if self.servers else ()))

    @property
    def names(self) -> set[str]:
        """The names of all tools, including disabled ones."""
        return {*self.selection.names, *self.tools}


def open_toolset(
    resources: ExitStack, location: SessionLocation, services: ToolServices, overrides: Overrides = NO_OVERRIDES
) -> Toolset:
    """Open tools, MCP servers and skills. Raises UsageError for invalid tool settings."""
    locations, settings, workspace = location.locations, location.settings, location.workspace
    complete = ModelCompletion(services.model, on_answer=record_model_call)
    keep_out_of(workspace)
    directory = private_directory(state_directory(locations, location.session_id))
    context = ToolContext(str(workspace), directory, complete, services.delegates, merges=True)
    table = {**settings.tools, DELEGATE: False} if services.is_child else settings.tools
    has_own_tools = overrides.open_tools is not None
    configured = None if has_own_tools and not settings.mcpServers else _servers(locations, settings, workspace)
    of_servers = configured[1].names(configured[0].servers) if configured else set()
    own = {name: value for name, value in table.items() if name not in of_servers}
    if overrides.open_tools is not None:
        selection = overrides.open_tools(context, services.is_child)
    else:
        selection = select_tools(replace(settings, tools=own), locations.settings_file, context)
    resources.callback(selection.close)
    for name, key in selection.secrets.items():
        MASKER.add(name, key)
    tools, servers, questions = dict(selection.tools), None, None
    if configured:
        # nothing of MCP is loaded if no server is configured
        from workbench.mcp.toolsets import SessionServers
        from workbench.session.actions.mcp_questions import ServerQuestions

        # a server may write files as soon as it runs, long before the first action
        IntegrityGuard(str(workspace)).compare()
        questions = ServerQuestions(complete, lambda: services.state.mode, has_user=services.has_user)
        notify = notifier(services.on_live)
        allows = _filter_of(table, services.kind)
        servers = SessionServers(*configured, tools, table, notify, asker_of=questions.asker, allows=allows)
        resources.callback(servers.close)
    if services.kind:
        for name in [name for name, tool in tools.items() if not services.kind.offers(tool)]:
            del tools[name]
    return Toolset(selection, tools, servers, questions, skills_of(workspace, [locations.skills]), directory)


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
