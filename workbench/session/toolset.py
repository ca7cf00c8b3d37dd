"""What the agent of a session works with beside its model: tools, MCP servers, skills; used by `opening`."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.agent.completion import ModelCompletion
from workbench.agent.skills import Skill, skills_of
from workbench.config.locations import Locations, private_directory
from workbench.config.settings import Settings
from workbench.processes.start import keep_out_of
from workbench.protocol.live import LiveEvent, Notice
from workbench.secrets.masker import KNOWN
from workbench.session.actions.integrity_guard import IntegrityGuard
from workbench.session.names import state_folder
from workbench.session.subagents.delegates import Delegates
from workbench.tools.context import ToolContext
from workbench.tools.delegate import NAME as DELEGATE
from workbench.tools.selection import Selection, select_tools
from workbench.tools.tool import ToolDefinition
from workbench.tools.trust import SERVERS

if TYPE_CHECKING:
    from workbench.mcp.catalog import Catalog
    from workbench.mcp.config import ServerConfigs
    from workbench.mcp.toolsets import OfferedServers
    from workbench.session.actions.server_questions import ServerAsks


@dataclass(frozen=True)
class Place:
    """Whose session it is, and where."""

    locations: Locations
    settings: Settings
    workspace: Path
    session_id: str


@dataclass(frozen=True)
class Equipment:
    """What the agent of a session works with, beside its model."""

    selection: Selection
    tools: MutableMapping[str, ToolDefinition]
    """All that may be called; those of MCP servers come and go between calls of the model."""
    servers: OfferedServers | None
    server_asks: ServerAsks | None
    """What those servers ask."""
    complete: ModelCompletion
    """Brings those tools that need one to the session's model."""
    delegates: Delegates
    """The sub-agents that its tools start."""
    skills: Sequence[Skill]
    state_dir: Path
    """Where tools keep what survives a restart."""

    @property
    def notices(self) -> Sequence[str]:
        """What the person should know from the start."""
        return (*self.selection.notices, *(self.servers.notices if self.servers else ()))

    @property
    def names(self) -> set[str]:
        """The names of all tools there are, also of those that are off."""
        return {*self.selection.names, *self.tools}


def equip(resources: ExitStack, place: Place, on_live: Callable[[LiveEvent], None], is_child: bool) -> Equipment:
    """Tools and skills; raises UsageError for tools that cannot be as the settings want them."""
    complete, delegates = ModelCompletion(), Delegates()
    locations, settings, workspace = place.locations, place.settings, place.workspace
    keep_out_of(workspace)
    folder = private_directory(state_folder(locations, place.session_id))
    context = ToolContext(str(workspace), folder, complete, delegates, merges=True)
    table = {**settings.tools, DELEGATE: False} if is_child else settings.tools  # a sub-agent has none of its own
    found = _servers(locations, settings, workspace)
    of_servers = found[1].names(found[0].found) if found else set()
    own = {name: value for name, value in table.items() if name not in of_servers}
    selection = select_tools(replace(settings, tools=own), locations.settings_file, context)
    resources.callback(selection.close)
    for name, key in selection.secrets.items():
        KNOWN.add(name, key)
    tools, servers, asks = dict(selection.tools), None, None
    if found:
        from workbench.mcp.toolsets import OfferedServers

        # a server may write from its first moment on, long before the first action
        IntegrityGuard(str(workspace)).compare()
        servers = OfferedServers(*found, tools, table, lambda text: on_live(Notice(text=text)))
        resources.callback(servers.close)
        asks = _asks(servers, complete)
    return Equipment(
        selection, tools, servers, asks, complete, delegates, skills_of(workspace, [locations.skills]), folder
    )


def _asks(servers: OfferedServers, complete: ModelCompletion) -> ServerAsks:
    from workbench.session.actions.server_questions import ServerAsks

    asks = ServerAsks(complete)
    servers.asker_of = asks.asker
    return asks


def _servers(locations: Locations, settings: Settings, workspace: Path) -> tuple[ServerConfigs, Catalog] | None:
    """Nothing of MCP is loaded where no server is named."""
    if not settings.mcpServers and not (workspace / SERVERS).is_file():
        return None
    from workbench.mcp.catalog import Catalog
    from workbench.mcp.config import find_servers

    found = find_servers(settings.mcpServers, locations.settings_file, workspace, settings.trusted)
    return found, Catalog(locations)
