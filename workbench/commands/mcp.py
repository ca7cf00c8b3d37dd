"""`ohw mcp`: the servers of the Model Context Protocol; all of it is in `workbench.mcp.page`."""

from __future__ import annotations

from argparse import Namespace

from workbench.commands.given import say, settings_of, workspace_of
from workbench.mcp.page import run


def mcp(arguments: Namespace) -> int:
    """List servers, or try, add, remove, approve, sign in at one."""
    where, settings = settings_of(arguments)
    return run(where, settings, workspace_of(arguments), arguments, say)
