"""Overhead of the bridge to an MCP server over the SDK, and the cost of ten known servers before the first call."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.bench.measure import Measure
from workbench.config.locations import Locations
from workbench.mcp.client import MCPClient
from workbench.mcp.config import ServerConfig, ServerConfigs, read_server
from workbench.mcp.executor import MCPToolExecutor
from workbench.mcp.pins import PinStore
from workbench.mcp.tool import MCPToolDefinition
from workbench.mcp.toolsets import SessionServers

_FAKE = Path(__file__).parent.parent / "fakes" / "mcp_server.py"
_CALLS = 300
_BRIDGE = 2.0
_TEN = 30.0


def measures() -> list[Measure]:
    """Return all measures of this file, in milliseconds."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        pins = PinStore(Locations(*(place / name for name in ("config", "data", "state", "runtime"))))
        return [_bridge(place, pins), _ten(place, pins)]


def _server(place: Path, name: str) -> ServerConfig:
    settings = {"command": sys.executable, "args": [str(_FAKE), json.dumps({"folder": str(place)})], "startTimeout": 60}
    return read_server(name, settings, "here", str(place))


def _bridge(place: Path, pins: PinStore) -> Measure:
    """Measure a call through the executor, minus what the SDK takes for the same call on the same connection."""
    client = MCPClient.opened(_server(place, "one"), pins)
    try:
        client.connect().result(60)
        definition = pins.entry(client.server).tools["echo"]
        tool = MCPToolDefinition("echo", definition, "one", MCPToolExecutor(client, definition))
        took, own = [], client._submit(_own).result(60)
        for _ in range(_CALLS):
            start = time.perf_counter()
            tool(tool.action_from_arguments({"text": "x"}))
            took.append((time.perf_counter() - start) * 1e3)
    finally:
        client.close()
    value = statistics.median(took) - own
    return Measure("mcp: a call through the bridge, over the SDK's own", value, "ms", own, _BRIDGE, value <= _BRIDGE)


async def _own(sdk: Any) -> float:
    took = []
    for _ in range(_CALLS):
        start = time.perf_counter()
        await sdk.call_tool("echo", {"text": "x"})
        took.append((time.perf_counter() - start) * 1e3)
    return statistics.median(took)


def _ten(place: Path, pins: PinStore) -> Measure:
    """Measure the time to the first request with ten known servers of ten tools each; no server is started."""
    servers = [_server(place / name, name) for name in (f"server{number}" for number in range(10))]
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    for server in servers:
        pins.listed(server, [{"name": f"{server.name}_{at}", "inputSchema": schema} for at in range(10)])
    took = []
    for _ in range(11):
        start = time.perf_counter()
        offered = SessionServers(ServerConfigs(tuple(servers)), PinStore(_where(pins)), {}, {}, lambda text: None)
        offered.before_call(lambda: False, lambda text: None)
        took.append((time.perf_counter() - start) * 1e3)
        offered.close()
    value = statistics.median(took)
    return Measure("mcp: ten known servers, before the first request", value, "ms", None, _TEN, value <= _TEN)


def _where(pins: PinStore) -> Locations:
    root = pins.directory.parent.parent
    return Locations(root / "config", root / "data", root / "state", root / "runtime")
