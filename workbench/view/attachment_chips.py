"""Describes each attachment of a message in a few words, for its chip; used by the conversation and the prompt."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from workbench.files.images import HEAD, pixels_of
from workbench.text import size_of, visible
from workbench.view.state import Item, UserItem

if TYPE_CHECKING:
    from workbench.protocol.events import CustomCommand, ResourcesRead, UserMessage
    from workbench.protocol.resource_text import ResourceText


def chips_of(event: UserMessage) -> tuple[str, ...]:
    """Return one chip for each image of the message."""
    names = (*event.image_names, *("image" for _ in event.images[len(event.image_names) :]))
    return tuple(_chip_of(name, url) for name, url in zip(names, event.images, strict=False))


def command_chip(command: CustomCommand | None) -> str:
    """Return the chip of the custom command that a message comes from: its name, model and tools; empty if there is
    none.
    """
    if command is None:
        return ""
    tools = f"tools: {', '.join(command.tools) or 'none'}" if command.tools is not None else ""
    return visible(" · ".join(filter(None, (f"/{command.name}", command.model, tools))), lines=False)


def with_resources(items: Sequence[Item], event: ResourcesRead) -> UserItem | None:
    """Add a chip for each read resource to its message; return the message, or None if it is not among the items."""
    for item in reversed(items):
        if isinstance(item, UserItem) and item.seq == event.message:
            item.resources += tuple(resource_chip(each) for each in event.resources)
            return item
    return None


def resource_chip(resource: ResourceText) -> str:
    """Return the chip of a resource that a message mentions: its name and size, or why it was not read."""
    name = visible(resource.name, lines=False)
    if resource.error:
        return f"{name} · not read: {visible(resource.error, lines=False)}"
    size = len(resource.text.encode(errors="replace")) + sum(len(url) * 3 // 4 for url in resource.images)
    return f"{name} · {size_of(size)}"


def chip(name: str, size: int, head: bytes) -> str:
    """Return the chip of an image: its name, its size in pixels and its size in bytes."""
    pixels = pixels_of(head)
    wide = f" {pixels[0]}×{pixels[1]}" if pixels else ""
    short = PurePath(name).name if name.startswith("/") else name
    return f"{visible(short, lines=False)}{wide} · {size_of(size)}"


def _chip_of(name: str, url: str) -> str:
    data = url.partition(",")[2]
    try:
        head = base64.b64decode(data[: HEAD // 3 * 4])
    except (binascii.Error, ValueError):
        head = b""
    return chip(name, len(data) * 3 // 4, head)
