"""Records a server's reports: its lists in the pin store, and its log lines in a file."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.config.locations import Locations, private_directory
from workbench.errors import WorkbenchError
from workbench.mcp.config import ServerConfig
from workbench.mcp.definitions import MOST_TOOLS, Definition
from workbench.mcp.pins import PinStore
from workbench.mcp.requests import Requests
from workbench.secrets.masker import MASKER
from workbench.text import first_line

if TYPE_CHECKING:
    from mcp import Client

_LARGEST_LOG = 1_000_000
_MOST_PAGES = 50
_MOST_LISTED = 2_000


class Listener:
    """Receives the events of one server's connection."""

    def __init__(self, server: ServerConfig, pins: PinStore, requests: Requests) -> None:
        self._server = server
        self._requests = requests
        self._pins = pins

    @property
    def locations(self) -> Locations:
        """The user's directories."""
        return self._pins.locations

    async def connected(self, client: Client) -> None:
        """Read the server's lists and record them in the pin store, which compares the tools with the pinned ones."""
        await self._learn(client)

    async def changed(self, client: Client) -> None:
        """Read the lists again after the server reported a change; if they do not arrive in time, nothing changes."""
        seconds = self._server.call_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._learn(client)
        except TimeoutError:
            self.log_line(f"· it reported a change, but did not send its lists within {seconds:g} s")

    async def _learn(self, client: Client) -> None:
        offers = client.server_capabilities
        tools = await _tools(client) if offers.tools else []
        prompts = await _all(client.list_prompts, "prompts") if offers.prompts else []
        resources = await _all(client.list_resources, "resources") if offers.resources else []
        await asyncio.to_thread(self._pins.listed, self._server, tools, prompts, resources)

    def log_line(self, line: str) -> None:
        """Write a line to the server's log."""
        write_log(self._pins.log(self._server), line)

    def starting(self, files: Mapping[str, str]) -> None:
        """Check the hashes of the files that start the server. Raises StartChanged if they are not approved."""
        self._pins.starting(self._server, files)

    async def asked(self, kind: str, params: Any) -> Any:
        """Return the answer to a request that the server sent during a call. Raises WorkbenchError if it is refused."""
        return await self._requests.answer(kind, params)


async def _all(listed: Callable[..., Awaitable[Any]], what: str) -> list[dict[str, Any]]:
    """Return the entries of all pages of a list, up to a limit."""
    entries: list[dict[str, Any]] = []
    cursor = None
    for _ in range(_MOST_PAGES):
        page = await listed(cursor=cursor)
        entries += [_plain(each) for each in getattr(page, what)]
        cursor = page.next_cursor
        if not cursor or len(entries) > _MOST_LISTED:
            break
    return entries[:_MOST_LISTED]


async def _tools(client: Client) -> list[Definition]:
    tools: list[Definition] = []
    cursor = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += [_definition(tool) for tool in page.tools]
        cursor = page.next_cursor
        if not cursor or len(tools) > MOST_TOOLS:
            break
    return tools


def _definition(tool: Any) -> Definition:
    data = _plain(tool)
    definition: Definition = {
        name: data[name] for name in ("name", "description", "inputSchema", "annotations") if name in data
    }
    title = data.get("title")
    if title and "title" not in definition.get("annotations", {}):
        definition["annotations"] = {**definition.get("annotations", {}), "title": title}
    return definition


def _plain(model: Any) -> dict[str, Any]:
    data: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return data


def write_log(path: Path, line: str) -> None:
    """Append a line to a log, with secrets masked; of a log that is too long, only the last part is kept."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    text = f"{stamp} {MASKER.masked(first_line(line, 600))}\n"
    try:
        private_directory(path.parent)
        if path.exists() and path.stat().st_size > _LARGEST_LOG:
            path.write_bytes(path.read_bytes()[-_LARGEST_LOG // 2 :])
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(file, "a", encoding="utf-8") as log:
            log.write(text)
    except (OSError, WorkbenchError):
        # A log that cannot be written must not stop the connection.
        return
