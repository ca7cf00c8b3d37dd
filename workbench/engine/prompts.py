"""Fetches prompts of MCP servers for a front end, beside everything else; used by `handlers`."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.protocol.commands import GetPrompt, Refused
from workbench.protocol.live import PromptReady

if TYPE_CHECKING:
    from workbench.engine.screens import Screen
    from workbench.mcp.toolsets import OfferedServers

logger = logging.getLogger(__name__)


def fetch_prompt(servers: OfferedServers | None, command: GetPrompt, screen: Screen) -> None:
    """Start a thread that fetches the prompt and sends it to the screen. Raises WorkbenchError without servers."""
    if servers is None:
        raise WorkbenchError("there are no MCP servers in this session")
    found, loop = servers, asyncio.get_running_loop()

    def get() -> None:
        answer: PromptReady | Refused
        try:
            text = found.prompt(command.server, command.name, command.arguments)
            answer = PromptReady(server=command.server, text=text)
        except WorkbenchError as error:
            answer = Refused(reason=str(error))
        except Exception as error:
            logger.exception("a prompt of a server failed")
            answer = Refused(reason=f"the prompt failed: {type(error).__name__}: {error}")
        with suppress(RuntimeError):  # the engine has ended
            loop.call_soon_threadsafe(screen.say, answer)

    threading.Thread(target=get, daemon=True, name="mcp-prompt").start()
