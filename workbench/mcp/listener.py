"""Keeps what a server says of itself: its lists in the catalog, its words in a log file; used by `client`."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.config.locations import Locations, private_directory
from workbench.errors import WorkbenchError
from workbench.mcp.catalog import Catalog
from workbench.mcp.config import ServerConfig
from workbench.mcp.definitions import MOST_TOOLS, Definition
from workbench.mcp.requests import Requests
from workbench.secrets.masker import KNOWN
from workbench.text import first_line

if TYPE_CHECKING:
    from mcp import Client

_LARGEST_LOG = 1_000_000
_MOST_PAGES = 50
_MOST_LISTED = 2_000


class Listener:
    """Hears a connection of one server."""

    def __init__(self, server: ServerConfig, catalog: Catalog, requests: Requests) -> None:
        self._server = server
        self._requests = requests
        self._catalog = catalog

    @property
    def locations(self) -> Locations:
        """The person's folders."""
        return self._catalog.locations

    async def connected(self, client: Client) -> None:
        """Learn what it offers, and compare it with what was agreed to."""
        await self._learn(client)

    async def changed(self, client: Client) -> None:
        """The same when it says that something has changed; what it does not tell in time stays as it was."""
        seconds = self._server.call_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._learn(client)
        except TimeoutError:
            self.told(f"· it says that something has changed, and did not tell what within {seconds:g} s")

    async def _learn(self, client: Client) -> None:
        offers = client.server_capabilities
        tools = await _tools(client) if offers.tools else []
        prompts = await _all(client.list_prompts, "prompts") if offers.prompts else []
        resources = await _all(client.list_resources, "resources") if offers.resources else []
        await asyncio.to_thread(self._catalog.listed, self._server, tools, prompts, resources)

    def told(self, line: str) -> None:
        """A line for its log."""
        write_log(self._catalog.log(self._server), line)

    def starting(self, files: Mapping[str, str]) -> None:
        """Compare what it would be started from with what was agreed to; raises StartChanged."""
        self._catalog.starting(self._server, files)

    async def asked(self, kind: str, params: Any) -> Any:
        """The server asks by itself: whoever made the call it works on answers. Raises WorkbenchError."""
        return await self._requests.answer(kind, params)


async def _all(listed: Callable[..., Awaitable[Any]], what: str) -> list[dict[str, Any]]:
    """What all pages of a list hold."""
    found: list[dict[str, Any]] = []
    cursor = None
    for _ in range(_MOST_PAGES):
        page = await listed(cursor=cursor)
        found += [_plain(each) for each in getattr(page, what)]
        cursor = page.next_cursor
        if not cursor or len(found) > _MOST_LISTED:
            break
    return found[:_MOST_LISTED]


async def _tools(client: Client) -> list[Definition]:
    found: list[Definition] = []
    cursor = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += [_definition(tool) for tool in page.tools]
        cursor = page.next_cursor
        if not cursor or len(found) > MOST_TOOLS:
            break
    return found


def _definition(tool: Any) -> Definition:
    told = _plain(tool)
    kept: Definition = {
        name: told[name] for name in ("name", "description", "inputSchema", "annotations") if name in told
    }
    title = told.get("title")
    if title and "title" not in kept.get("annotations", {}):
        kept["annotations"] = {**kept.get("annotations", {}), "title": title}
    return kept


def _plain(told: Any) -> dict[str, Any]:
    made: dict[str, Any] = told.model_dump(mode="json", by_alias=True, exclude_none=True)
    return made


def write_log(path: Path, line: str) -> None:
    """Add a line, secrets masked; a log that grew too long begins anew with its second half."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    text = f"{stamp} {KNOWN.masked(first_line(line, 600))}\n"
    try:
        private_directory(path.parent)
        if path.exists() and path.stat().st_size > _LARGEST_LOG:
            path.write_bytes(path.read_bytes()[-_LARGEST_LOG // 2 :])
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(file, "a", encoding="utf-8") as log:
            log.write(text)
    except (OSError, WorkbenchError):
        return  # a log that cannot be written holds up nothing
