"""Reads a resource for a message of the person's: its text and images, masked and cut to size; used by `offered`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from workbench.errors import WorkbenchError
from workbench.mcp.client import MCPClient
from workbench.mcp.content import contents_of
from workbench.secrets.masker import KNOWN
from workbench.text import cut_middle, first_line, well_formed
from workbench.tools.schema import ImageContent, TextContent

if TYPE_CHECKING:
    from mcp import types as t

T = TypeVar("T")
LONGEST = 60_000
"""Characters of one resource; of a longer one the middle is left out."""
_MOST_IMAGES = 4
_TURN = 0.05


@dataclass(frozen=True)
class Resource:
    """What a resource held when it was read; `error` says why it holds nothing. Images are data URLs."""

    name: str
    text: str = ""
    images: tuple[str, ...] = ()
    error: str = ""


def read_resource(clients: Sequence[MCPClient], name: str, is_cancelled: Callable[[], bool]) -> Resource:
    """The resource of that name, `server:address` or `server:name`; its server is started if it has to be."""
    server, _, rest = name.partition(":")
    client = next((each for each in clients if each.server.name == server), None)
    if client is None:
        return Resource(name, error=f"there is no MCP server {server} that is on")
    try:
        _waited(client.connect(), is_cancelled)  # its list tells which address a name stands for
        result = _waited(client.read_resource(_address(client, rest)), is_cancelled)
    except WorkbenchError as error:
        return Resource(name, error=KNOWN.masked(first_line(str(error), 300)))
    return _made(name, result) if result is not None else Resource(name, error="it was interrupted")


def _address(client: MCPClient, written: str) -> str:
    """The address of a resource that is written by its name."""
    listed = client.catalog.entry(client.server).resources
    addresses = {str(each.get("uri")) for each in listed}
    by_name = {str(each.get("name")): str(each.get("uri")) for each in listed}
    return written if written in addresses else by_name.get(written, written)


def _waited(future: Future[T], is_cancelled: Callable[[], bool]) -> T | None:
    while not future.done() and not is_cancelled():
        wait([future], _TURN)
    if not future.done():
        future.cancel()
        return None
    return future.result()


def _made(name: str, result: t.ReadResourceResult) -> Resource:
    blocks = contents_of(result.contents)
    texts = [block.text for block in blocks if isinstance(block, TextContent)]
    pictures = [f"data:{block.mime_type};base64,{block.data}" for block in blocks if isinstance(block, ImageContent)]
    text = cut_middle(KNOWN.masked(well_formed("\n".join(texts))), LONGEST)
    if not text.strip() and not pictures:
        return Resource(name, error="it is empty")
    return Resource(name, text, tuple(pictures[:_MOST_IMAGES]))
