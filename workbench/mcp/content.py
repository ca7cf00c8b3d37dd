"""What a server gives back, as blocks of text and images; every other kind is described. Used by `executor`."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from workbench.text import cut_middle, well_formed
from workbench.tools.schema import Content, ImageContent, TextContent

_MOST_TEXT = 400_000
_MOST_IMAGE, _MOST_IMAGES = 8_000_000, 8
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def content_of(blocks: Sequence[Any], structured: Any = None) -> list[Content]:
    """The blocks of an answer; structured content is added where no text says the same."""
    made = [_block(block) for block in blocks]
    if structured is not None and not _says(made, structured):
        made.append(TextContent(text=json.dumps(structured, ensure_ascii=False, indent=1)))
    return _cut(_few_images(made))


def _few_images(made: Sequence[Content]) -> list[Content]:
    """The first images, and a line for those that are too many."""
    images = [block for block in made if isinstance(block, ImageContent)]
    if len(images) <= _MOST_IMAGES:
        return list(made)
    left_out = {id(block) for block in images[_MOST_IMAGES:]}
    told = TextContent(text=f"[{len(left_out)} more images are left out: {_MOST_IMAGES} are given to you at once]")
    return [*(block for block in made if id(block) not in left_out), told]


def _cut(made: Sequence[Content]) -> list[Content]:
    room = _MOST_TEXT
    kept: list[Content] = []
    for block in made:
        if isinstance(block, TextContent):
            text = cut_middle(block.text, room) if room > 0 else "[… left out: too much text …]"
            room -= len(text)
            kept.append(TextContent(text=well_formed(text)))
        else:
            kept.append(block)
    return kept


def _says(made: Sequence[Content], structured: Any) -> bool:
    """Whether the texts hold the structured content already, as the protocol asks servers to have it."""
    texts = [block.text for block in made if isinstance(block, TextContent)]
    for text in texts:
        if text.lstrip()[:1] in ("{", "["):
            try:
                if json.loads(text) == structured:
                    return True
            except ValueError:
                continue
    result = structured.get("result", ...) if isinstance(structured, dict) and len(structured) == 1 else ...
    return bool(texts) and result is not ... and (str(result) in texts or result == texts)


def _block(block: Any) -> Content:
    kind = block.type
    if kind == "text":
        return TextContent(text=block.text)
    if kind == "image":
        return _image(block.data, block.mime_type, "an image")
    if kind == "audio":
        return TextContent(text=f"[a sound, {block.mime_type}, {_size(block.data)}: it cannot be given to you]")
    if kind == "resource_link":
        about = f": {block.description}" if block.description else ""
        return TextContent(text=f"[a link to the resource {block.name}, {block.uri}{about}]")
    return resource_content(block.resource)


def contents_of(contents: Sequence[Any]) -> list[Content]:
    """What a resource holds, each part with its address where there are several."""
    if len(contents) == 1 and getattr(contents[0], "text", None) is not None:
        return [TextContent(text=contents[0].text)]
    return [resource_content(each) for each in contents]


def resource_content(resource: Any) -> Content:
    """The contents of a resource: its text, its image, or what it is."""
    text = getattr(resource, "text", None)
    if text is not None:
        return TextContent(text=f"[the resource {resource.uri}]\n{text}")
    mime = resource.mime_type or "unknown type"
    if mime in _IMAGES:
        return _image(resource.blob, mime, f"the resource {resource.uri}")
    return TextContent(text=f"[the resource {resource.uri}, {mime}, {_size(resource.blob)}: no text]")


def _image(data: str, mime: str, what: str) -> Content:
    try:
        base64.b64decode(data, validate=True)
    except ValueError:
        return TextContent(text=f"[{what}, {mime}: its data is damaged]")
    if mime not in _IMAGES or len(data) > _MOST_IMAGE:
        return TextContent(text=f"[{what}, {mime}, {_size(data)}: it cannot be given to you]")
    return ImageContent(data=data, mime_type=mime)


def _size(data: str) -> str:
    return f"{len(data) * 3 // 4:,} bytes"
