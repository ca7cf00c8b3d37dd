"""A resource of an MCP server, as events record it."""

from __future__ import annotations

from workbench.protocol.codec import Data


class ResourceText(Data):
    """A resource of an MCP server as it was read; if that failed, `error` says why. Images are data URLs."""

    name: str
    text: str = ""
    images: tuple[str, ...] = ()
    error: str = ""
