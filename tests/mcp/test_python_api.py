"""Tools of MCP servers used from a Python program, without a session."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.mcp.conftest import fake_server
from tests.sandbox import wait_for
from workbench.errors import UsageError
from workbench.mcp import MCPToolDefinition, MCPToolObservation, create_mcp_tools
from workbench.mcp.errors import ServerFailed


def children() -> set[int]:
    return {each.pid for each in psutil.Process().children(recursive=True)}


def test_configuration_becomes_tools_and_closing_the_last_ends_the_server(tmp_path):
    before = children()
    table = {name: fake_server(tmp_path, {"page": 1}) for name in ("one", "two")}
    tools = create_mcp_tools({"mcpServers": {**table, "off": {"command": "/no/such", "enabled": False}}}, timeout=60)
    try:
        assert all(isinstance(tool, MCPToolDefinition) for tool in tools)
        assert {"one_echo", "two_echo", "one_peek", "two_peek"} <= {tool.name for tool in tools}
        echo = next(tool for tool in tools if tool.name == "one_echo")
        seen = echo(echo.action_from_arguments({"text": "hello"}))
        assert isinstance(seen, MCPToolObservation)
        assert (seen.text, seen.server, seen.tool) == ("echo: hello", "one", "echo")
        assert len(children() - before) >= 2
    finally:
        for tool in tools:
            tool.close()
            tool.close()
    wait_for(lambda: not children() - before, "the servers to end")
    gone = echo(echo.action_from_arguments({"text": "hello"}))
    assert gone.is_error
    assert "closed" in gone.text


def test_unusable_server_is_reported_and_leaves_none_running(tmp_path):
    before = children()
    table = {"good": fake_server(tmp_path), "bad": {"command": "/no/such"}}
    with pytest.raises(ServerFailed, match="the MCP server bad cannot be used"):
        create_mcp_tools(table, timeout=60)
    wait_for(lambda: not children() - before, "the good one to end")
    with pytest.raises(UsageError, match="its type 'ws' is not supported"):
        create_mcp_tools({"odd": {"type": "ws", "url": "wss://example.org"}})
    with pytest.raises(UsageError, match="must be a table"):
        create_mcp_tools({"mcpServers": [1]})


def test_names_are_imported_on_first_use(tmp_path):
    code = "import sys, workbench.mcp; print('workbench.mcp.client' in sys.modules, 'mcp' in sys.modules)"
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=dict(os.environ), capture_output=True, text=True, check=True
    )
    assert done.stdout == "False False\n"
