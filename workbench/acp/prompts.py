"""Converts a prompt of an editor to a message: its text with embedded files, and the files and
images that it mentions.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from acp.schema import (
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)
from msgspec import Struct, field

from workbench.config.locations import private_directory
from workbench.errors import UsageError
from workbench.files.images import HEAD, MOST_BYTES, kind_of
from workbench.files.state_files import replace_file
from workbench.protocol.events import FileText
from workbench.session.mentions import attached_text, is_within, mentioned
from workbench.text import size_of
from workbench.view.prompt.completion import mention_of

_EXTENSIONS: Final = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


class PromptMessage(Struct, frozen=True):
    """The text of a message, and the file paths and MCP resources that it mentions."""

    text: str
    mentions: tuple[str, ...] = ()


class MessageReader:
    """Converts the prompts of one session, which works in `directory`; images are saved in the directory `images`."""

    def __init__(self, directory: Path, images: Path, is_resource: Callable[[str], Callable[[str], bool]]) -> None:
        """`is_resource(text)` returns a function that says whether a mention in that text names an MCP resource."""
        self._directory = directory
        self._images = images
        self._is_resource = is_resource

    def message(self, blocks: Sequence[Any]) -> PromptMessage:
        """Return the message that consists of these content blocks.

        Raises UsageError if a block cannot be sent, or all are empty.
        """
        parts = _Parts()
        for block in blocks:
            self._add(block, parts)
        text = "".join(parts.text)
        if not (text.strip() or parts.images):
            raise UsageError("the prompt is empty")
        mentions = (*mentioned(text, self._directory, self._is_resource(text)), *parts.images)
        return PromptMessage(text + attached_text(parts.files), tuple(dict.fromkeys(mentions)))

    def expanded(self, text: str, message: PromptMessage) -> PromptMessage:
        """Return the message with `text`, the expansion of the custom command in it; the old mentions are kept."""
        mentions = (*mentioned(text, self._directory, self._is_resource(text)), *message.mentions)
        return PromptMessage(text, tuple(dict.fromkeys(mentions)))

    def _add(self, block: Any, parts: _Parts) -> None:
        if isinstance(block, TextContentBlock):
            parts.text.append(block.text)
        elif isinstance(block, ResourceContentBlock):
            parts.text.append(self._link(block))
        elif isinstance(block, ImageContentBlock):
            parts.images.append(self._image(block.data))
        elif isinstance(block, EmbeddedResourceContentBlock):
            self._embed(block.resource, parts)
        else:
            raise UsageError(f"{block.type} cannot be sent: the agent takes text, images and files")

    def _link(self, link: ResourceContentBlock) -> str:
        """Return the text for a link: a mention if it is a file in the workspace, otherwise its name and URI."""
        path = self._path(link.uri)
        return mention_of(path) if path else f"{link.name} ({link.uri})"

    def _embed(self, resource: TextResourceContents | BlobResourceContents, parts: _Parts) -> None:
        name = self._path(resource.uri) or resource.uri
        lines = urlsplit(resource.uri).fragment
        if isinstance(resource, TextResourceContents):
            parts.text.append(name)
            parts.files.append(FileText(path=f"{name}, {lines}" if lines else name, text=resource.text))
        elif (resource.mime_type or "").startswith("image/"):
            parts.images.append(self._image(resource.blob))
        else:
            raise UsageError(f"{name} cannot be sent: it is neither text nor an image")

    def _path(self, uri: str) -> str:
        """Return the path, relative to the workspace, if the URI names a file in it; otherwise an empty string."""
        split = urlsplit(uri)
        if split.scheme != "file":
            return ""
        path = unquote(split.path)
        if not is_within(self._directory, path):
            return ""
        return str(Path(path).resolve().relative_to(self._directory))

    def _image(self, data: str) -> str:
        """Save a base64 image and return its path; the engine reads the file like any image that a message mentions.

        Raises UsageError if it is invalid, too large, or of an unsupported format.
        """
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise UsageError("an image of the prompt is not valid base64") from error
        kind = kind_of(content[:HEAD])
        if kind is None:
            raise UsageError("an image of the prompt is none of PNG, JPEG, GIF and WebP")
        if len(content) > MOST_BYTES:
            raise UsageError(
                f"an image of the prompt has {size_of(len(content))}; at most {size_of(MOST_BYTES)} are sent"
            )
        name = f"{hashlib.sha256(content).hexdigest()[:16]}.{_EXTENSIONS[kind]}"
        path = private_directory(self._images) / name
        replace_file(path, content)
        return str(path)


class _Parts(Struct):
    """The parts of a prompt that have been read so far."""

    text: list[str] = field(default_factory=list)
    files: list[FileText] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
