"""Servers of the Model Context Protocol: their settings, connections, pinned definitions and tools; used by `session`.

For other Python programs, `create_mcp_tools` returns tools that are ready to run. Each name is imported on first use;
the protocol's SDK is imported by the first connection, in the thread that opens it.

>>> import sys
>>> from workbench.mcp import create_mcp_tools
>>> server = '''
... from mcp.server.mcpserver import MCPServer
... server = MCPServer("greeter")
... @server.tool()
... def greet(name: str) -> str:
...     return f"Hello, {name}!"
... server.run()
... '''
>>> config = {"mcpServers": {"greeter": {"command": sys.executable, "args": ["-c", server], "timeout": 60000}}}
>>> (greet,) = create_mcp_tools(config, timeout=60)
>>> with greet:
...     greet({"name": "Ada"}).text
'Hello, Ada!'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.mcp.client import MCPClient as MCPClient
    from workbench.mcp.executor import MCPToolExecutor as MCPToolExecutor
    from workbench.mcp.tool import MCPToolAction as MCPToolAction
    from workbench.mcp.tool import MCPToolDefinition as MCPToolDefinition
    from workbench.mcp.tool import MCPToolObservation as MCPToolObservation
    from workbench.mcp.toolsets import create_mcp_tools as create_mcp_tools

_MODULES = {
    "MCPClient": "client",
    "MCPToolAction": "tool",
    "MCPToolDefinition": "tool",
    "MCPToolExecutor": "executor",
    "MCPToolObservation": "tool",
    "create_mcp_tools": "toolsets",
}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    """Return a public name, importing its module on first use. Raises AttributeError for an unknown name."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
