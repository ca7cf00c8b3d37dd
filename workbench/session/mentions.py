"""Reads the files, images and MCP resources that a message mentions, once, so that the log records what was sent."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from workbench.errors import WorkbenchError
from workbench.files.images import HEAD, MOST_BYTES, is_named_so, kind_of
from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.events import (
    Event,
    FileText,
    MessageWithdrawn,
    ModelResponded,
    ResourcesRead,
    UserMessage,
)
from workbench.protocol.resource_text import ResourceText
from workbench.text import well_formed

if TYPE_CHECKING:
    from workbench.llm.model import Cancel, Message

_ATTACHED = lazy_pattern(
    r"^\[The user(?:'s message)? mentions (.+?)(?:, a resource of an MCP server)?\. It contained this then:"
    r"(?: Its image follows\.)?\]\n.*?\n\[end of \1\]",
    re.MULTILINE | re.DOTALL,
)
MOST_IMAGES = 10
"""The most images in one message."""
_MOST_TOGETHER = 16_000_000


class UnusableImage(WorkbenchError):
    """An image cannot be sent; the message is one line for the user."""


def read_images(workspace: str, mentions: Iterable[str]) -> dict[str, str]:
    """Return the data URLs of the mentioned images, by path. Raises UnusableImage.

    A path outside the workspace is read too: the user named the file, and only an image is sent.
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
    """Return the text for the model on which files its images came from, in order; empty if there are none."""
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
"""The most characters attached from one file; all files of a message together may have four times as many.

A larger file is only named.
"""


def read_mentions(workspace: str, mentions: Iterable[str]) -> tuple[FileText, ...]:
    """Return the mentioned paths that exist in the workspace, with the text of a file or the names in a directory.

    The text is None if it is too long, or the file is not text. At most `MOST` paths are read.
    """
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
    """Return the event that records a message with the files and images it mentions. Raises UnusableImage."""
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
    """Return the text about these files that is appended to the user's message for the model."""
    return "".join(f"\n\n{part}" for part in _parts(files))


def attached_size(text: str) -> int:
    """Return how many characters of a user's message for the model are files and resources that it mentions."""
    return sum(len(match[0]) for match in _ATTACHED.finditer(text))


def _parts(files: Sequence[FileText]) -> Iterator[str]:
    for file in files:
        if file.text is None:
            yield f"[The user mentions {file.path}. It is not shown here; read it with your tools.]"
        else:
            end = "" if file.text.endswith("\n") else "\n"
            yield f"[The user mentions {file.path}. It contained this then:]\n{file.text}{end}[end of {file.path}]"


def _inside(workspace: str, path: str) -> Path | None:
    try:
        root = Path(workspace).resolve()
        file = (root / path).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    return file if file.is_relative_to(root) else None


def _text(file: Path) -> str | None:
    from workbench.files.text_file import EditorError, decoded

    try:
        if file.is_dir():
            return "".join(f"{each.name}{'/' if each.is_dir() else ''}\n" for each in sorted(file.iterdir())[:500])
        if not file.is_file() or file.stat().st_size > 4 * LONGEST:
            return None
        return decoded(file, file.read_bytes())[1].replace("\r\n", "\n")
    except (OSError, EditorError):
        return None


_MENTION = lazy_pattern(r"""(?:^|(?<=[\s(\[{<,;:='"]))@(?:"([^"\n]+)"|([^\s"]+))""", re.MULTILINE)
BEHIND: Final = ".,;:!?)]}>'"
"""Characters that may end a sentence, but rarely a path."""


def mentioned(text: str, directory: Path, is_resource: Callable[[str], bool] | None = None) -> tuple[str, ...]:
    """Return the names that a text mentions with `@`, in order and without duplicates.

    They are paths in the directory, images anywhere, and other names for which `is_resource` is true.
    """
    named = (path for match in _MENTION.finditer(text) for path in _existing(match, directory, is_resource))
    return tuple(dict.fromkeys(named))


def mention_names(text: str) -> Iterator[str]:
    """Yield the names that a text mentions, without punctuation that ends a sentence. They need not exist."""
    return (match[1] or match[2].rstrip(BEHIND) for match in _MENTION.finditer(text))


def _existing(match: re.Match[str], directory: Path, is_resource: Callable[[str], bool] | None) -> Iterator[str]:
    """Yield the mentioned path, without trailing punctuation if it exists only without it, or a resource's name."""
    for written in (match[1],) if match[1] else (match[2], match[2].rstrip(BEHIND)):
        if written and (is_within(directory, written) or _is_image(directory, written)):
            yield written.rstrip("/") or written
            return
    short = match[1] or match[2].rstrip(BEHIND)
    if is_resource is not None and is_resource(short):
        yield short


def _is_image(directory: Path, written: str) -> bool:
    """Return whether the path is a file, anywhere, with the name of an image; only an image would be sent."""
    try:
        return is_named_so(written) and (directory / written).is_file()
    except (OSError, ValueError):
        return False


def is_within(directory: Path, written: str) -> bool:
    """Return whether the path exists in the directory after links are resolved."""
    try:
        file = (directory / written).resolve(strict=True)
        return file.is_relative_to(directory.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


_PICTURE = lazy_pattern(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")


def pictures_of(observation: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the images in a tool's result, as parts of a message."""
    blocks = observation.get("content")
    pictures = [
        f"data:{block.get('mime_type', 'image/png')};base64,{block.get('data', '')}"
        for block in (blocks if isinstance(blocks, list | tuple) else ())
        if isinstance(block, dict) and block.get("type") == "image"
    ]
    return image_parts(pictures)


def with_pictures(text: str, urls: Iterable[str]) -> Message:
    """Return a user message with the images after its text."""
    pictures = image_parts(urls)
    return {"role": "user", "content": [{"type": "text", "text": text}, *pictures] if pictures else text}


def image_parts(urls: Iterable[str]) -> list[dict[str, Any]]:
    """Return message parts for the images in formats that providers accept; any other image would fail the request."""
    return [{"type": "image_url", "image_url": {"url": url}} for url in urls if _PICTURE.fullmatch(url)]


MOST_RESOURCES = 10
"""The most resources in one message."""
_NO_EYES = "the model takes no images"


class Read(Protocol):
    """A resource that was read, or the reason why it could not be read."""

    @property
    def name(self) -> str:
        """The name as the user wrote it."""

    @property
    def text(self) -> str:
        """The text of the resource."""

    @property
    def images(self) -> tuple[str, ...]:
        """The images of the resource as data URLs."""

    @property
    def error(self) -> str:
        """Why the resource could not be read; empty if it was."""


class ResourceSource(Protocol):
    """A source of resources that messages mention."""

    def is_resource(self, name: str) -> bool:
        """Return whether a resource has this name."""

    def read(self, name: str, is_cancelled: Callable[[], bool]) -> Read:
        """Return the current content of a resource."""


class PendingResources(msgspec.Struct):
    """By the number of a message: the resources it mentions, if no model call has included it yet."""

    mentions: dict[int, tuple[str, ...]] = msgspec.field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Consume the next event; never raises, whatever the order of events is."""
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
    """Read the pending resources one after another; return no events if `cancel` is set in the meantime.

    `sees` says whether the model takes images.
    """
    events = []
    for seq, names in pending.items():
        resources = []
        for name in filter(source.is_resource, names):
            show(f"reading {name}")
            resources.append(_resource_text(source.read(name, lambda: cancel.is_set), sees))
        if resources:
            events.append(ResourcesRead(message=seq, resources=tuple(resources)))
    return [] if cancel.is_set else events


def _resource_text(read: Read, sees: bool) -> ResourceText:
    images = read.images if sees else ()
    error = read.error or (_NO_EYES if read.images and not sees and not read.text else "")
    return ResourceText(name=read.name, text=read.text, images=images, error=error)


def resources_message(event: ResourcesRead) -> Message:
    """Return the message to the model with the resources that were read."""
    return with_pictures(
        well_formed(describe_resources(event.resources)), [url for each in event.resources for url in each.images]
    )


def describe_resources(resources: Iterable[ResourceText]) -> str:
    """Return the text for the model with these resources."""
    return "\n\n".join(_describe_resource(each) for each in resources)


def _describe_resource(each: ResourceText) -> str:
    what = f"[The user's message mentions {each.name}, a resource of an MCP server."
    if each.error:
        return f"{what} It could not be read: {each.error}]"
    image = " Its image follows." if each.images else ""
    return f"{what} It contained this then:{image}]\n{each.text}\n[end of {each.name}]"
