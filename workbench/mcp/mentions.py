"""The servers' resources and prompts that the user can mention, as `server:resource` and `server:prompt`.

They are read from the pin store; no server is started.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.lazy_pattern import lazy_pattern
from workbench.mcp.config import ServerConfig, find_servers
from workbench.mcp.pins import PinStore
from workbench.text import first_line
from workbench.tools.trust import refreshed

_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*:\S")
_MOST = 2_000


@dataclass(frozen=True)
class PromptArgument:
    """An argument of a prompt; `words` is its description."""

    name: str
    words: str = ""
    required: bool = False


@dataclass(frozen=True)
class ServerPrompt:
    """A prompt that a server offers; `words` is its description."""

    server: str
    name: str
    words: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True)
class MentionTargets:
    """The servers' resources (with a short description) and prompts, by the names that the user types."""

    servers: frozenset[str] = frozenset()
    resources: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, ServerPrompt] = field(default_factory=dict)

    def is_resource(self, written: str) -> bool:
        """Return whether `written` names a resource, listed or not: a server may accept any URI."""
        server, _, rest = written.partition(":")
        return written in self.resources or (server in self.servers and bool(_SCHEME.match(rest)))


def offers_of(where: Locations, settings: Settings, workspace: Path) -> MentionTargets:
    """Return the resources and prompts that the enabled servers of this workspace offer."""
    trusted = refreshed(where, settings.trusted)
    servers = find_servers(settings.mcpServers, where.settings_file, workspace, trusted).servers
    pins = PinStore(where)
    on = [server for server in servers if server.is_on]
    resources = [pair for server in on for pair in _resources(server, pins.entry(server).resources)]
    prompts = [pair for server in on for pair in _prompts(server, pins.entry(server).prompts)]
    return MentionTargets(frozenset(server.name for server in on), dict(resources), dict(prompts))


def _resources(server: ServerConfig, listed: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for each in listed[:_MOST]:
        words = [each.get("title") or each.get("name"), each.get("description")]
        lines = [first_line(str(part), 80) for part in words if part]
        if each.get("uri"):
            yield f"{server.name}:{each['uri']}", " · ".join(dict.fromkeys(lines))


def _prompts(server: ServerConfig, listed: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ServerPrompt]]:
    for each in listed[:_MOST]:
        name = str(each.get("name") or "")
        if name and not re.search(r"\s", name):
            words = first_line(str(each.get("description") or each.get("title") or ""), 200)
            arguments = [_argument(part) for part in each.get("arguments") or () if isinstance(part, Mapping)]
            yield f"{server.name}:{name}", ServerPrompt(server.name, name, words, tuple(arguments))


def _argument(part: Mapping[str, Any]) -> PromptArgument:
    return PromptArgument(
        str(part.get("name")), first_line(str(part.get("description") or ""), 200), part.get("required") is True
    )
