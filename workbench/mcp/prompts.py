"""A prompt of a server as text for the person to look at: its messages, masked and cut to size; used by `offered`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.mcp.client import MCPClient
from workbench.mcp.content import content_of
from workbench.mcp.faults import CallTimedOut, ServerFailed
from workbench.secrets.masker import KNOWN
from workbench.text import cut_middle, well_formed
from workbench.tools.schema import TextContent

if TYPE_CHECKING:
    from mcp import types as t

LONGEST = 60_000
"""Characters of one prompt; of a longer one the middle is left out."""
_IMAGE = "[an image, which is left out]"


def prompt_text(clients: Sequence[MCPClient], server: str, name: str, arguments: Mapping[str, str]) -> str:
    """What the prompt says with these arguments; its server is started if it has to be. Raises WorkbenchError."""
    client = next((each for each in clients if each.server.name == server), None)
    if client is None:
        raise ServerFailed(f"there is no MCP server {server} that is on")
    future = client.get_prompt(name, dict(arguments))
    try:
        result = future.result(client.server.start_seconds + client.server.call_seconds)
    except TimeoutError as error:
        future.cancel()
        raise CallTimedOut(f"the MCP server {server} did not give its prompt in time") from error
    except WorkbenchError as error:
        raise type(error)(KNOWN.masked(str(error))) from error
    return cut_middle(KNOWN.masked(well_formed(_said(result))), LONGEST)


def _said(result: t.GetPromptResult) -> str:
    """One message as it is; of several each with who is to have said it."""
    texts = [(message.role, _text(message)) for message in result.messages]
    if len(texts) == 1:
        return texts[0][1]
    who = {"user": "The person", "assistant": "The agent"}
    return "\n\n".join(f"[{who.get(role, role)}:]\n{text}" for role, text in texts)


def _text(message: t.PromptMessage) -> str:
    blocks = content_of([message.content])
    return "\n".join(block.text if isinstance(block, TextContent) else _IMAGE for block in blocks)
