"""The resources that messages mention: which are still to be read, reading them, and what the model is told of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from workbench.llm.model import Cancel, Message
from workbench.protocol.events import (
    Event,
    MessageWithdrawn,
    ModelResponded,
    ResourcesRead,
    ResourceText,
    UserMessage,
)
from workbench.session.turn.pictures import with_pictures
from workbench.text import well_formed

MOST = 10
"""Resources of one message."""
_NO_EYES = "the model takes no images"


class Read(Protocol):
    """What was read."""

    @property
    def name(self) -> str:
        """As the person wrote it."""

    @property
    def text(self) -> str:
        """Its text."""

    @property
    def images(self) -> tuple[str, ...]:
        """Its images as data URLs."""

    @property
    def error(self) -> str:
        """Why there is nothing."""


class Source(Protocol):
    """Where resources come from."""

    def is_resource(self, name: str) -> bool:
        """Whether that names one."""

    def read(self, name: str, is_cancelled: Callable[[], bool]) -> Read:
        """What it holds now."""


class Wanted:
    """The mentions of messages that no call of the model has held, by the number of the message."""

    def __init__(self) -> None:
        self.mentions: dict[int, tuple[str, ...]] = {}

    def apply(self, event: Event) -> None:
        """Take in the next event; total: no order of events raises."""
        match event:
            case UserMessage():
                held = {*(file.path for file in event.attached), *event.image_names}
                names = tuple(dict.fromkeys(name for name in event.mentions if ":" in name and name not in held))
                self.mentions |= {event.seq: names[:MOST]} if names else {}
            case ResourcesRead(message=seq) | MessageWithdrawn(message=seq):
                self.mentions.pop(seq, None)
            case ModelResponded(seen=seen):
                self.mentions = {seq: names for seq, names in self.mentions.items() if seen is not None and seq > seen}


def read_all(
    wanted: dict[int, tuple[str, ...]], source: Source, cancel: Cancel, say: Callable[[str], None], *, sees: bool
) -> list[ResourcesRead]:
    """Read them one after the other; nothing of what was read counts once it is cancelled."""
    found = []
    for seq, names in wanted.items():
        texts = []
        for name in filter(source.is_resource, names):
            say(f"reading {name}")
            texts.append(_text(source.read(name, lambda: cancel.is_set), sees))
        if texts:
            found.append(ResourcesRead(message=seq, resources=tuple(texts)))
    return [] if cancel.is_set else found


def _text(read: Read, sees: bool) -> ResourceText:
    images = read.images if sees else ()
    error = read.error or (_NO_EYES if read.images and not sees and not read.text else "")
    return ResourceText(name=read.name, text=read.text, images=images, error=error)


def resources_message(event: ResourcesRead) -> Message:
    """What the model gets."""
    return with_pictures(well_formed(told(event.resources)), [url for each in event.resources for url in each.images])


def told(resources: Iterable[ResourceText]) -> str:
    """What the model is told of them."""
    return "\n\n".join(_told(each) for each in resources)


def _told(each: ResourceText) -> str:
    what = f"[The person's message mentions {each.name}, a resource of an MCP server."
    if each.error:
        return f"{what} It could not be read: {each.error}]"
    image = " Its image follows." if each.images else ""
    return f"{what} It held this then:{image}]\n{each.text}\n[end of {each.name}]"
