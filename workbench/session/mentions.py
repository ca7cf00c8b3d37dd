"""What a message mentions (files, images, resources of MCP servers), read once so that the log holds what was sent."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from workbench.errors import WorkbenchError
from workbench.files.images import HEAD, MOST_BYTES, is_named_so, kind_of
from workbench.llm.model import Cancel, Message
from workbench.protocol.events import (
    Event,
    FileText,
    MessageWithdrawn,
    ModelResponded,
    ResourcesRead,
    ResourceText,
    UserMessage,
)
from workbench.text import well_formed

MOST_IMAGES = 10
"""Images of one message."""
_MOST_TOGETHER = 16_000_000


class UnusableImage(WorkbenchError):
    """An image cannot be sent; one line for the person."""


def read_images(workspace: str, mentions: Iterable[str]) -> dict[str, str]:
    """Data URLs of the mentioned urls that are images, by path; raises UnusableImage.

    A path beside the workspace is read too: the person named the file, and only what is an image leaves it.
    """
    urls: dict[str, str] = {}
    total = 0
    for path in dict.fromkeys(mentions):
        raw = _read(workspace, path) if is_named_so(path) else None
        kind = kind_of(raw[:HEAD]) if raw is not None else None
        if raw is None or kind is None:
            continue
        total += len(raw)
        if len(urls) == MOST_IMAGES or total > _MOST_TOGETHER:
            raise UnusableImage(
                f"a message takes at most {MOST_IMAGES} images and {_MOST_TOGETHER // 10**6} MB of them"
            )
        urls[path] = f"data:{kind};base64,{base64.b64encode(raw).decode()}"
    return urls


def image_names_text(names: Iterable[str]) -> str:
    """What the model is told of the files its images came from, in their order."""
    listed = ", ".join(names)
    return f"\n\n[Images with this message, in order: {listed}]" if listed else ""


def _read(workspace: str, path: str) -> bytes | None:
    file = Path(workspace) / path
    try:
        if not file.is_file():
            return None
        size = file.stat().st_size
        if size > MOST_BYTES:
            most = MOST_BYTES / 1e6
            raise UnusableImage(f"{path} has {size / 1e6:.1f} MB; an image of at most {most} MB can be sent")
        return file.read_bytes()
    except (OSError, ValueError) as error:
        raise UnusableImage(f"{path} cannot be read: {error}") from error


MOST = 20
LONGEST = 60_000
"""Characters of one file, and of all together four times that; a larger one is only named."""


def read_mentions(workspace: str, mentions: Iterable[str]) -> tuple[FileText, ...]:
    """What each of them below the workspace holds: a file its text, a folder its names, `None` for the rest."""
    remaining = 4 * LONGEST
    files = []
    for path in list(dict.fromkeys(mentions))[:MOST]:
        file = _inside(workspace, path)
        if file is None:
            continue
        text = _text(file)
        text = text if text is None or len(text) <= min(remaining, LONGEST) else None
        remaining -= len(text or "")
        files.append(FileText(path=path, text=text))
    return tuple(files)


def message(workspace: str, text: str, mentions: Sequence[str]) -> UserMessage:
    """What is to be recorded of a message; raises UnusableImage."""
    images = read_images(workspace, mentions)
    attached = read_mentions(workspace, [path for path in mentions if path not in images])
    return UserMessage(
        text=text,
        mentions=tuple(mentions),
        attached=attached,
        images=tuple(images.values()),
        image_names=tuple(images),
    )


def attached_text(files: Sequence[FileText]) -> str:
    """What the model is told of them, behind the person's words."""
    return "".join(f"\n\n{part}" for part in _parts(files))


def _parts(files: Sequence[FileText]) -> Iterator[str]:
    for file in files:
        if file.text is None:
            yield f"[The person mentions {file.path}. It is not shown here; read it with your tools.]"
        else:
            end = "" if file.text.endswith("\n") else "\n"
            yield f"[The person mentions {file.path}. It held this then:]\n{file.text}{end}[end of {file.path}]"


def _inside(workspace: str, path: str) -> Path | None:
    try:
        root = Path(workspace).resolve()
        file = (root / path).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    return file if file.is_relative_to(root) else None


def _text(file: Path) -> str | None:
    try:
        if file.is_dir():
            return "".join(f"{each.name}{'/' if each.is_dir() else ''}\n" for each in sorted(file.iterdir())[:500])
        if not file.is_file() or file.stat().st_size > 4 * LONGEST:
            return None
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text


_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{<,;:='"]))@(?:"([^"\n]+)"|([^\s"]+))""", re.MULTILINE)
BEHIND: Final = ".,;:!?)]}>'"
"""Signs that end a sentence, and no path as a rule."""


def mentioned(text: str, directory: Path, is_resource: Callable[[str], bool] | None = None) -> tuple[str, ...]:
    """What a message names with `@`, in order, each once: match and folders below the folder, images anywhere.

    `is_resource` knows what servers offer beside those.
    """
    named = (path for match in _MENTION.finditer(text) for path in _existing(match, directory, is_resource))
    return tuple(dict.fromkeys(named))


def mention_names(text: str) -> Iterator[str]:
    """What a text mentions, without the signs that end a sentence; nothing is looked up."""
    return (match[1] or match[2].rstrip(BEHIND) for match in _MENTION.finditer(text))


def _existing(match: re.Match[str], directory: Path, is_resource: Callable[[str], bool] | None) -> Iterator[str]:
    """The path, without the stop that ends a sentence where only so it exists."""
    for written in (match[1],) if match[1] else (match[2], match[2].rstrip(BEHIND)):
        if written and (is_below(directory, written) or _is_image(directory, written)):
            yield written.rstrip("/") or written
            return
    short = match[1] or match[2].rstrip(BEHIND)
    if is_resource is not None and is_resource(short):
        yield short


def _is_image(directory: Path, written: str) -> bool:
    """Whether it is an image, which may be anywhere: nothing else of it goes with a message than the image."""
    try:
        return is_named_so(written) and (directory / written).is_file()
    except (OSError, ValueError):
        return False


def is_below(directory: Path, written: str) -> bool:
    """Whether there is such a file or folder below the folder, links followed."""
    try:
        file = (directory / written).resolve(strict=True)
        return file.is_relative_to(directory.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")


def pictures_of(observation: dict[str, Any]) -> list[dict[str, Any]]:
    """The pictures of a tool's result."""
    blocks = observation.get("content")
    pictures = [
        f"data:{block.get('mime_type', 'image/png')};base64,{block.get('data', '')}"
        for block in (blocks if isinstance(blocks, list | tuple) else ())
        if isinstance(block, dict) and block.get("type") == "image"
    ]
    return shown(pictures)


def with_pictures(text: str, urls: Iterable[str]) -> Message:
    """A message of the person's with the pictures behind its text."""
    pictures = shown(urls)
    return {"role": "user", "content": [{"type": "text", "text": text}, *pictures] if pictures else text}


def shown(urls: Iterable[str]) -> list[dict[str, Any]]:
    """The pictures a provider takes; a request with any other would be refused as a whole."""
    return [{"type": "image_url", "image_url": {"url": url}} for url in urls if _PICTURE.fullmatch(url)]


MOST_RESOURCES = 10
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


class ResourceSource(Protocol):
    """Where resources come from."""

    def is_resource(self, name: str) -> bool:
        """Whether that names one."""

    def read(self, name: str, is_cancelled: Callable[[], bool]) -> Read:
        """What it holds now."""


class PendingResources:
    """The mentions of messages that no call of the model has held, by the number of the message."""

    def __init__(self) -> None:
        self.mentions: dict[int, tuple[str, ...]] = {}

    def apply(self, event: Event) -> None:
        """Take in the next event; total: no order of events raises."""
        match event:
            case UserMessage():
                held = {*(file.path for file in event.attached), *event.image_names}
                names = tuple(dict.fromkeys(name for name in event.mentions if ":" in name and name not in held))
                self.mentions |= {event.seq: names[:MOST_RESOURCES]} if names else {}
            case ResourcesRead(message=seq) | MessageWithdrawn(message=seq):
                self.mentions.pop(seq, None)
            case ModelResponded(seen=seen):
                self.mentions = {seq: names for seq, names in self.mentions.items() if seen is not None and seq > seen}


def read_all(
    pending: dict[int, tuple[str, ...]],
    source: ResourceSource,
    cancel: Cancel,
    show: Callable[[str], None],
    *,
    sees: bool,
) -> list[ResourcesRead]:
    """Read them one after the other; nothing of what was read counts once it is cancelled."""
    events = []
    for seq, names in pending.items():
        read_texts = []
        for name in filter(source.is_resource, names):
            show(f"reading {name}")
            read_texts.append(_resource_text(source.read(name, lambda: cancel.is_set), sees))
        if read_texts:
            events.append(ResourcesRead(message=seq, resources=tuple(read_texts)))
    return [] if cancel.is_set else events


def _resource_text(read: Read, sees: bool) -> ResourceText:
    images = read.images if sees else ()
    error = read.error or (_NO_EYES if read.images and not sees and not read.text else "")
    return ResourceText(name=read.name, text=read.text, images=images, error=error)


def resources_message(event: ResourcesRead) -> Message:
    """What the model gets."""
    return with_pictures(
        well_formed(describe_resources(event.resources)), [url for each in event.resources for url in each.images]
    )


def describe_resources(resources: Iterable[ResourceText]) -> str:
    """What the model is told of them."""
    return "\n\n".join(_describe_resource(each) for each in resources)


def _describe_resource(each: ResourceText) -> str:
    what = f"[The person's message mentions {each.name}, a resource of an MCP server."
    if each.error:
        return f"{what} It could not be read: {each.error}]"
    image = " Its image follows." if each.images else ""
    return f"{what} It held this then:{image}]\n{each.text}\n[end of {each.name}]"
