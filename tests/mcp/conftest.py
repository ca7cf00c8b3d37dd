import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from workbench.config.locations import Locations
from workbench.mcp.client import MCPClient
from workbench.mcp.config import ServerConfig, read_server
from workbench.mcp.executor import MCPToolExecutor
from workbench.mcp.pins import PinStore
from workbench.mcp.tool import MCPToolDefinition, MCPToolObservation

FAKE = Path(__file__).parent.parent / "fakes" / "mcp_server.py"


def fake_server(directory: Path, options: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The settings of the small server that can misbehave."""
    words = json.dumps({"folder": str(directory), **(options or {})})
    return {"command": sys.executable, "args": [str(FAKE), words], "startTimeout": 60, "firstWait": 60, **more}


@dataclass
class Place:
    """A user's directories and a working directory; what is opened here is closed at the end."""

    root: Path
    clients: list[MCPClient] = field(default_factory=list)

    @property
    def locations(self) -> Locations:
        return Locations(*(self.root / name for name in ("config", "data", "state", "runtime")))

    @property
    def pins(self) -> PinStore:
        return PinStore(self.locations)

    @property
    def directory(self) -> Path:
        made = self.root / "project"
        made.mkdir(exist_ok=True)
        return made

    def server(self, options: dict[str, Any] | None = None, name: str = "fake", **more: Any) -> ServerConfig:
        return read_server(name, fake_server(self.directory, options, **more), "here", str(self.directory))

    def client(self, server: ServerConfig) -> MCPClient:
        client = MCPClient.opened(server, self.pins)
        self.clients.append(client)
        return client

    def tool(self, name: str = "echo", server: ServerConfig | None = None) -> MCPToolDefinition:
        """Return a tool of a connected server that the user has approved."""
        client = self.client(server or self.server())
        client.connect().result(60)
        definition = client.pins.entry(client.server).tools[name]
        executor = MCPToolExecutor(client, definition, is_approved=True)
        return MCPToolDefinition(name, definition, client.server.name, executor, is_approved=True)


def approve_all(where: Locations, table: dict[str, Any], directory: Path) -> None:
    """Approve everything these servers offer, as a user who has looked at it."""
    for name, settings in table.items():
        server = read_server(name, settings, "here", str(directory))
        pins = PinStore(where)
        client = MCPClient.opened(server, pins)
        try:
            client.connect().result(60)
            pins.approve(server, pins.entry(server))
        finally:
            client.close()


def ask(tool: MCPToolDefinition, text: str) -> MCPToolObservation:
    observation = tool(tool.action_from_arguments({"text": text}))
    assert isinstance(observation, MCPToolObservation)
    return observation


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    for client in made.clients:
        client.close()
